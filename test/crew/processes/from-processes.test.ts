// Runs derived from others, each in another process. The earlier runs stay as they are, byte for byte.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isFull } from '../../support/full.ts'
import { kindsHere } from '../../support/store-place.ts'
import type { Order, Report } from './process-crew.ts'
import { openStage, type Stage } from './processes.ts'

const inputs = { topic: 'water', reader: 'Ada' }

/** One process; afterwards every run that was there reads as before. */
async function step(stage: Stage, order: Order): Promise<Report> {
  const before = await stage.bytes()
  const report = await stage.live(order)
  const after = await stage.bytes()
  assert.ok(report.code !== undefined || after.size === before.size + 1, 'a run was added')
  for (const [run, bytes] of before) assert.equal(after.get(run), bytes, `run ${run} is as it was`)
  return report
}

async function failedRun(stage: Stage): Promise<void> {
  const failed = await stage.live({ act: 'kickoff', options: { id: 'first', inputs }, fail: 'weigh' })
  assert.deepEqual([failed.code, failed.task], ['MODEL_FAILED', 'weigh'])
}

// what differs over PostgreSQL is in the contract, but for the whole
const kinds = await kindsHere('sqlite', 'file', ...(isFull ? (['postgres', 'redis'] as const) : []))
for (const { kind, skip } of kinds) {
  describe(`in processes of their own on ${kind},`, { skip }, () => {
    test('a failed run is replayed from its failed task, from a task never reached, and again from the result', async () => {
      await using stage = await openStage(kind)
      await failedRun(stage)

      const fromFailed = await step(stage, { act: 'replay', task: 'weigh', options: { runId: 'first' } })
      assert.deepEqual(fromFailed.asked, ['weigh', 'note'])
      assert.deepEqual(fromFailed.tasks, {
        gather: 'inherited: alpha gather',
        file: 'inherited: alpha file',
        weigh: 'executed: alpha weigh',
        note: 'executed: alpha note',
      })

      const words = { weigh: 'weighed later' }
      const neverReached = await step(stage, { act: 'replay', task: 'note', options: { runId: 'first' }, words })
      assert.deepEqual(neverReached.asked, ['weigh', 'note'], 'what is missing before it is executed first')

      const [run = ''] = [neverReached.runId]
      const again = await step(stage, {
        act: 'replay',
        task: 'note',
        options: { runId: run },
        words: { note: 'another' },
      })
      assert.deepEqual(again.asked, ['note'])
      assert.equal(again.tasks?.['weigh'], 'inherited: alpha weighed later')
      assert.equal(again.raw, 'alpha another')
      assert.equal(await stage.parentOf(again.runId), run)
    })

    test('a failed run is forked as it is, from a task never reached, and again from the result', async () => {
      await using stage = await openStage(kind)
      await failedRun(stage)

      const whole = await step(stage, { act: 'fork', options: { runId: 'first' } })
      assert.deepEqual(whole.asked, ['weigh', 'note'])

      const outputs = { weigh: 'weighed by hand' }
      const given = await step(stage, { act: 'fork', options: { runId: 'first', from: 'note', outputs } })
      assert.deepEqual(given.asked, ['note'])
      assert.equal(given.tasks?.['weigh'], 'edited: weighed by hand')

      const again = await step(stage, { act: 'fork', options: { runId: given.runId, inputs: { reader: 'Bob' } } })
      assert.deepEqual(again.asked, ['note'])
      assert.equal(again.tasks?.['weigh'], 'inherited: weighed by hand')
    })

    test("three replays in a row each start from the last one's run", async () => {
      await using stage = await openStage(kind)
      let last = (await stage.live({ act: 'kickoff', options: { inputs } })).runId
      for (const word of ['one', 'two', 'three']) {
        const task = word === 'two' ? 'note' : 'weigh'
        const replayed = await step(stage, { act: 'replay', task, words: { weigh: word, note: `on ${word}` } })
        assert.equal(await stage.parentOf(replayed.runId), last)
        assert.equal(replayed.tasks?.['weigh'], task === 'note' ? 'inherited: alpha one' : `executed: alpha ${word}`)
        assert.equal(replayed.raw, `alpha on ${word}`)
        last = replayed.runId
      }
    })

    test('a once call is made once through three generations of replays and forks', async () => {
      await using stage = await openStage(kind)
      await stage.live({ act: 'kickoff', options: { inputs } })
      for (const act of ['replay', 'fork', 'replay'] as const) {
        const options = act === 'fork' ? { from: 'file' } : {}
        const made = await step(stage, { act, task: 'file', options })
        assert.deepEqual(made.asked, ['file', 'file', 'weigh', 'note'])
        assert.equal(made.status, 'completed')
      }
      assert.deepEqual(await stage.filed(), ['alpha C-1'])
    })

    test('a killed fork is continued by another process, which pays for no finished step', async () => {
      await using stage = await openStage(kind)
      await stage.live({ act: 'kickoff', options: { id: 'first', inputs } })
      const { first } = Object.fromEntries(await stage.bytes())
      const options = { id: 'forked', runId: 'first', from: 'gather', inputs: { topic: 'fire' } }
      const killed = stage.start({ act: 'fork', options, words: { gather: 'fire' }, hold: 'weigh' })
      await killed.held
      await killed.kill()
      const resumed = await stage.live({ act: 'resume' })
      assert.deepEqual(resumed.asked, ['weigh', 'note'], 'the call in flight, and what had not been begun')
      assert.deepEqual(resumed.tasks, {
        gather: 'executed: alpha fire',
        file: 'executed: alpha file',
        weigh: 'executed: alpha weigh',
        note: 'executed: alpha note',
      })
      assert.equal(resumed.runId, 'forked')
      assert.deepEqual(await stage.filed(), ['alpha C-1'])
      assert.equal((await stage.bytes()).get('first'), first)
    })

    test('a fork killed inside a repeated once call asks before it makes the call a third time', async () => {
      await using stage = await openStage(kind)
      await stage.live({ act: 'kickoff', options: { inputs } })
      const options = { id: 'forked', from: 'file', effects: 'again' }
      const killed = stage.start({ act: 'fork', options, hold: 'tool' })
      await killed.held
      await killed.kill()
      const resumed = await stage.live({ act: 'resume', run: 'forked' })
      assert.deepEqual([resumed.status, resumed.questions, resumed.asked], ['suspended', ['doubt'], []])
      await stage.live({ act: 'answer', run: 'forked', answer: { decision: 'happened', result: 'filed C-1' } })
      const done = await stage.live({ act: 'resume', run: 'forked' })
      assert.deepEqual([done.status, done.asked], ['completed', ['file', 'weigh', 'note']])
      assert.equal((await stage.filed()).length, 2)
    })

    for (const [title, words, asked] of [
      ['keeps what depends on it when the output comes out equal', {}, ['gather']],
      ['executes what depends on it when it does not', { gather: 'more' }, ['gather', 'file', 'file', 'weigh', 'note']],
    ] as const) {
      test(`a refresh killed at a changed task ${title}, as the resuming process finds`, async () => {
        await using stage = await openStage(kind)
        await stage.live({ act: 'kickoff', options: { inputs } })
        const texts = { gather: ', politely' }
        const killed = stage.start({ act: 'refresh', options: { id: 'fresh' }, texts, hold: 'gather' })
        await killed.held
        await killed.kill()
        const resumed = await stage.live({ act: 'resume', run: 'fresh', texts, words })
        assert.deepEqual([resumed.status, resumed.asked], ['completed', asked])
        assert.match(resumed.tasks?.['note'] ?? '', asked.length === 1 ? /^inherited/ : /^executed/)
        assert.deepEqual(resumed.stale, [])
        assert.deepEqual(await stage.filed(), ['alpha C-1'])
      })
    }

    test('two processes that make the same fork make one run: the second is refused until the first is gone', async () => {
      await using stage = await openStage(kind)
      await stage.live({ act: 'kickoff', options: { id: 'first', inputs } })
      const order: Order = { act: 'fork', options: { id: 'same', runId: 'first', from: 'weigh' } }
      const one = stage.start({ ...order, hold: 'note' })
      await one.held
      const two = await stage.live(order)
      assert.deepEqual([two.code, two.asked], ['RUN_HELD', []])
      await one.kill()
      assert.deepEqual((await stage.live(order)).asked, ['note'])
      assert.deepEqual((await stage.live(order)).asked, [], 'it is done')
      assert.deepEqual([...(await stage.bytes()).keys()].toSorted(), ['first', 'same'])
    })

    test('a run that another process executes is forked from its current record, and continues undisturbed', async () => {
      await using stage = await openStage(kind)
      const running = stage.start({ act: 'kickoff', options: { id: 'first', inputs }, hold: 'weigh' })
      await running.held
      // its model is asked a moment before that is on disk
      while (!(await stage.bytes()).get('first')?.includes('"weigh#1"')) await nextTurn()
      const forked = await step(stage, { act: 'fork', options: { runId: 'first' }, words: { weigh: 'forked' } })
      assert.deepEqual(forked.asked, ['weigh', 'note'])
      running.goOn()
      const ended = await running.ended
      assert.equal(ended.tasks?.['weigh'], 'executed: alpha weigh')
      assert.deepEqual(await stage.filed(), ['alpha C-1'])
    })

    test('a run inside a once call is forked with a question', async () => {
      await using stage = await openStage(kind)
      const running = stage.start({ act: 'kickoff', options: { id: 'first', inputs }, hold: 'tool' })
      await running.held
      const forked = await step(stage, { act: 'fork', options: { runId: 'first' } })
      assert.deepEqual([forked.status, forked.questions], ['suspended', ['call']])
      running.goOn()
      assert.equal((await running.ended).status, 'completed')
      assert.deepEqual(await stage.filed(), ['alpha C-1'])
    })
  })
}
