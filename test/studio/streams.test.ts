// Server-sent events of the studio: of one run, without loss, and hints for lists.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { gate, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { claims, eventsOf, served, type Received } from './support.ts'

const types = (events: readonly Received[]): string[] => events.map(({ type }) => type)
const ids = (events: readonly Received[]): number[] =>
  events.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]))

describe('the events of a run', () => {
  test('have the numbers of entries as ids, model text while this studio executes the run, and an end', async () => {
    const [asked, go] = [gate(), gate()]
    const crew = speakingCrew(speakingModel(() => (asked.open(), ['Once ', go.wait, 'upon'])))
    await using studio = await served({ crews: [crew] })
    await studio.post('POST /crews/{crew}/runs', '/crews/speaking/runs', { how: 'here', id: 'r' })
    await asked.wait
    const events = await eventsOf(await studio.send('/runs/r/events'), ({ type }) => {
      if (type === 'caught-up') go.open()
      return type === 'end'
    })
    assert.deepEqual(ids(events), [1, 2, 3, 4, 5])
    assert.deepEqual(events.at(-1)?.data, { status: 'completed' })
    assert.ok(types(events).includes('caught-up'))
  })

  test('begin with the streamed text so far for a late listener', async () => {
    const go = gate()
    const crew = speakingCrew(
      speakingModel((call) => (call === 1 ? [go.wait, 'One.'] : ['Two ', 'three.'])),
      {
        tasks: ['one', 'two'],
      },
    )
    await using studio = await served({ crews: [crew] })
    await studio.post('POST /crews/{crew}/runs', '/crews/speaking/runs', { how: 'here', id: 'r' })
    const response = await studio.send('/runs/r/events')
    go.open()
    const events = await eventsOf(response)
    const said = events.filter(({ type }) => type === 'text.delta').map(({ data }) => (data as { text: string }).text)
    assert.ok(said.join('').endsWith('Two three.'), said.join(''))
    assert.equal(types(events).at(-1), 'end')
  })

  test('continue where a connection was dropped, for a second browser as for the first, in any process', async () => {
    const store = memoryStore()
    const [reached, go] = [gate(), gate()]
    const task = (name: string, run: () => Promise<string>) => new Task({ name, effect: 'read', run })
    const tasks = [
      task('one', async () => '1'),
      task('two', async () => {
        reached.open()
        await go.wait
        return '2'
      }),
      task('three', async () => '3'),
    ]
    const crew: Crew = new Crew({ name: 'steps', store, tasks })
    const working = crew.kickoff({ id: 'r' })
    await reached.wait
    // another studio, without the code
    await using studio = await served({ store })
    const first = await eventsOf(await studio.send('/runs/r/events'), ({ type }) => type === 'caught-up')
    const last = Math.max(...ids(first))
    const other = studio.send('/runs/r/events')
    go.open()
    await working
    const rest = await eventsOf(await studio.send('/runs/r/events', { headers: { 'last-event-id': String(last) } }))
    const { entries } = await studio.get('GET /runs/{run}/entries', '/runs/r/entries')
    const all = entries.map(({ seq }) => seq)
    assert.deepEqual([...ids(first), ...ids(rest)], all)
    assert.deepEqual(ids(await eventsOf(await other)), all)
    assert.equal(types(rest).at(-1), 'end')
    const over = await studio.send(`/runs/r/events?after=${all.length}`)
    assert.equal(over.status, 204)
  })

  test('end where the run waits, and continue when it does', async () => {
    const store = memoryStore()
    const crew = claims(store)
    await crew.kickoff({ id: 'r', inputs: { notes: 'P-1' } })
    await using studio = await served({ store })
    const before = await eventsOf(await studio.send('/runs/r/events'))
    assert.deepEqual(before.at(-1), { id: undefined, type: 'end', data: { status: 'suspended' } })
    await crew.run('r').answer('q1', { decision: 'approve' })
    await crew.resume('r')
    const after = await eventsOf(await studio.send(`/runs/r/events?after=${Math.max(...ids(before))}`))
    assert.equal(ids(after)[0], Math.max(...ids(before)) + 1)
    assert.deepEqual(after.at(-1)?.data, { status: 'completed' })
  })

  test('are refused for a missing run', async () => {
    await using studio = await served({ store: memoryStore() })
    assert.equal((await studio.send('/runs/none/events')).status, 404)
  })
})

describe('hints', () => {
  test('come once at the beginning, and one for many changes', async () => {
    const store = memoryStore()
    const crew = claims(store)
    await using studio = await served({ store })
    let heard = 0
    const events = await eventsOf(await studio.send('/changes'), () => {
      heard++
      if (heard === 1) void Promise.all(['a', 'b', 'c'].map((id) => crew.enqueue({ id, inputs: { notes: 'x' } })))
      return heard === 2
    })
    assert.deepEqual(events, [
      { id: undefined, type: 'change', data: {} },
      { id: undefined, type: 'change', data: {} },
    ])
    assert.equal((await studio.get('GET /runs', '/runs')).runs.length, 3)
  })

  test('end with the studio, and listeners that leave are forgotten', async () => {
    const store = memoryStore()
    const watching = new Set<AbortSignal>()
    const watched = {
      ...store,
      watch(run: string | undefined, signal: AbortSignal, only?: 'messages') {
        watching.add(signal)
        signal.addEventListener('abort', () => watching.delete(signal))
        return store.watch(run, signal, only)
      },
    }
    const studio = await served({ store: watched })
    const leaving = new AbortController()
    const response = await studio.send('/changes', { signal: leaving.signal })
    await eventsOf(response, () => true).catch(() => {})
    leaving.abort()
    const staying = await studio.send('/changes')
    while (watching.size > 1) await new Promise((resolve) => setImmediate(resolve))
    const ending = eventsOf(staying).catch(() => 'cut')
    await studio[Symbol.asyncDispose]()
    await ending
    assert.equal(watching.size, 0)
  })
})
