// Conversations in the API of the studio.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { talker } from '../chat/support.ts'
import { posted, problemOf, served } from './support.ts'

describe('a conversation in the studio', () => {
  test('is one transcript for all of its runs, in pages from the newest turn', async () => {
    const { chat } = talker({ store: memoryStore(), turnsPerRun: 3 })
    const conversation = chat.conversation('c')
    for (let turn = 1; turn <= 8; turn++) await conversation.send(`say ${turn}`, { id: `m${turn}`, by: 'ada' })
    await using studio = await served({ crews: [chat] })
    for (const run of ['c', 'c~2', 'c~3']) {
      const path = `/runs/${encodeURIComponent(run)}/transcript`
      const last = await studio.get('GET /runs/{run}/transcript', `${path}?limit=3`)
      assert.deepEqual([last.id, last.newest, last.before], ['c', 'c~3', 6])
      assert.deepEqual(
        last.turns.map(({ run: of, turn, text, by, status }) => [of, turn, text, by, status]),
        [
          ['c~2', 6, 'say 6', 'ada', 'answered'],
          ['c~3', 7, 'say 7', 'ada', 'answered'],
          ['c~3', 8, 'say 8', 'ada', 'answered'],
        ],
      )
      const earlier = await studio.get('GET /runs/{run}/transcript', `${path}?before=6`)
      assert.deepEqual(
        earlier.turns.map(({ turn }) => turn),
        [1, 2, 3, 4, 5],
      )
      assert.equal(earlier.before, undefined)
    }
  })

  test('answers a text that is sent to its first run, and refuses what it would never take', async () => {
    const { chat } = talker({ store: memoryStore(), turnsPerRun: 1 })
    await chat.conversation('c').send('Hello')
    await using studio = await served({ crews: [chat] })
    const sent = await studio.send('/runs/c/events', posted({ name: 'message', value: 'And now?', by: 'ada' }))
    assert.deepEqual(await sent.json(), { runId: 'c~2' })
    const [, answered] = await chat.conversation('c')['~turns']()
    const reply = await chat.conversation('c').send('And now?', { id: answered?.id ?? '' })
    assert.equal(reply.status, 'answered')
    for (const body of [{ name: 'message', value: 7 }, { name: 'hello' }, { name: 'stop', value: 'now' }]) {
      const problem = await problemOf(await studio.send('/runs/c/events', posted(body)))
      assert.match(JSON.stringify(problem), /INPUT_INVALID.*conversation c takes no event/)
    }
    const events = (await chat.run('c~2').view()).events
    assert.deepEqual(events, [])
  })
})
