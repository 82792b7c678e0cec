// A run that a function task kicks off is a child of the task's run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crew, Task, type RepriseError } from 'reprise'
import { atEveryAppend, entriesOf, newStore, orDeath, refusal, stateOf } from '../../engine/support.ts'
import { book } from './book.ts'
import { startedCall } from '../../../src/journal/call-entries.ts'

const children = ['one', 'two', 'three', 'four'].map((name) => `b/chapters#1/1.0/${name}#1`)

describe('a kickoff within a function task', () => {
  test('is a child run in the store of its parent, named after the call and its own id', async () => {
    const { crew, store, warnings } = book()
    const result = await crew.kickoff({ id: 'b' })
    assert.equal(result.status, 'completed')
    assert.deepEqual(result.task('chapters').output, [
      'polished draft of one',
      'polished draft of two',
      'polished draft of three',
      'polished draft of four',
    ])
    for (const run of children) assert.equal((await stateOf(store, run)).status, 'completed')
    const { rows } = await store.list({ roots: true }, { limit: 10 })
    assert.deepEqual(
      rows.map(({ run }) => run),
      ['b'],
    )
    assert.deepEqual(warnings, [])
  })

  test('counts its whole usage for its parent and its task', async () => {
    const { crew, model } = book()
    const result = await crew.kickoff({ id: 'b' })
    assert.equal(model.calls.length, 13)
    assert.equal(result.usage.spent.calls, 13)
    assert.equal(result.usage.spent.input, 1300)
    assert.equal(result.task('chapters').usage.calls, 12)
    const view = await crew.run('b').view()
    assert.equal(view.usage.calls, 13)
    const [row] = await crew.runs().page(1)
    assert.equal(row?.usage.calls, 13)
  })

  test('is in the plan of its task, with its earlier cost', async () => {
    const prices = { 'scripted/script': { input: 1000, output: 1000 } }
    const { crew } = book({ more: { prices } })
    assert.deepEqual((await crew.plan()).estimate.unknown, ['chapters', 'note'])
    await crew.kickoff({ id: 'b' })
    const plan = await crew.plan({ from: 'chapters' })
    assert.equal(plan.tasks[0]?.estimate?.usage.calls, 12)
    assert.equal(plan.tasks[0]?.estimate?.cost?.toFixed(2), '1.32')
    assert.match(String(plan), /^ +execute +chapters .*; about 1,320 tokens, \$1\.32 \(median of 1\)$/m)
  })

  test('is found by its id after a crash at any append, and repeats nothing', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, store, model, filed } = book()
      const dead = dying(store)
      await orDeath(crew.with({ store: dead }).kickoff({ id: 'b' }))
      const result = await crew.kickoff({ id: 'b' })
      assert.equal(result.status, 'completed', String(result))
      assert.deepEqual(filed.toSorted(), ['four', 'one', 'three', 'two'])
      assert.ok(model.calls.length <= 13 + 4, `${model.calls.length} calls`)
    })
  })

  test('is found without an id by its crew and inputs, in any order of kickoffs', async () => {
    let reversed = false
    const list = ['one', 'two', 'three', 'three']
    const store = newStore()
    const { crew, asked, chapter } = book({
      store,
      chapters: ['one', 'two', 'three'],
      run: async ({ chapter: write }) => {
        const order = reversed ? list.toReversed() : list
        const results = await Promise.all(order.map((name) => write.kickoff({ inputs: { chapter: name } })))
        if (!reversed) throw new Error('later')
        return results.map(String).toSorted()
      },
    })
    await refusal(() => crew.kickoff({ id: 'b' }))
    reversed = true
    const result = await crew.kickoff({ id: 'b' })
    assert.deepEqual(result.task('chapters').output, [
      'polished draft of one',
      'polished draft of three',
      'polished draft of three',
      'polished draft of two',
    ])
    assert.equal(asked('Task: Polish'), 4)
    assert.ok(chapter)
    // all usage is counted once, whatever attempt it was in
    assert.equal(result.usage.spent.calls, asked('Task:'))
  })

  test('never returns a result for other inputs: with the same id they are executed again', async () => {
    let topic = 'one'
    const { crew, warnings, asked } = book({
      chapters: [],
      run: async ({ chapter, context }) => {
        const result = await chapter.kickoff({ id: `${context.runId}-it`, inputs: { chapter: topic } })
        if (topic === 'one') throw new Error('later')
        return String(result)
      },
    })
    await refusal(() => crew.kickoff({ id: 'b' }))
    topic = 'two'
    const result = await crew.kickoff({ id: 'b' })
    assert.equal(result.task('chapters').output, 'polished draft of two')
    assert.match(warnings.join('\n'), /run b\/chapters#1\/1\.0\/it#1 was kicked off with other inputs/)
    assert.equal(result.usage.spent.calls, asked('Task:'))
  })

  test('that fails rejects as any kickoff does, and a resume continues inside it', async () => {
    let broken = true
    const scene = book({
      script: [
        { when: (text) => broken && text.includes('Task: Polish') && text.includes('draft of two'), error: 'no' },
      ],
      run: async ({ chapter, context }) => {
        const results = await chapter.kickoffForEach([{ chapter: 'one' }, { chapter: 'two' }], { id: context.runId })
        const failed = results.filter(({ status }) => status === 'failed')
        if (failed.length > 0) throw new Error(`${failed.length} failed: ${String(failed[0])}`)
        return results.map(String)
      },
    })
    const error = await refusal(() => scene.crew.kickoff({ id: 'b' }))
    assert.match(error.message, /1 failed: .*polish/s)
    broken = false
    const result = await scene.crew.resume('b')
    assert.deepEqual(result.task('chapters').output, ['polished draft of one', 'polished draft of two'])
    assert.equal(scene.asked('Task: Draft one'), 2)
    assert.equal(scene.asked('Task: Draft two'), 2)
  })

  test('has the same failure for a function that catches it live as after a resume', async () => {
    const { crew } = book({
      script: [{ when: 'Task: Polish', error: 'no' }],
      run: ({ chapter }) => chapter.kickoff({ inputs: { chapter: 'one' } }).then(String, () => 'none'),
    })
    const result = await crew.kickoff({ id: 'b' })
    assert.equal(result.task('chapters').output, 'none')
    // what the failed one took counts too
    assert.equal(result.usage.spent.calls, 3)
    assert.equal((await crew.run('b').view()).usage.calls, 3)
  })

  test('of a deleted run, and of a function that a person has executed again, starts over', async () => {
    const { crew, asked, store } = book()
    await crew.kickoff({ id: 'b', through: 'chapters' })
    assert.equal(asked('Task: Polish'), 4)
    await crew.run('b').invalidate('chapters')
    await crew.resume('b')
    assert.equal(asked('Task: Polish'), 8)
    await crew.run('b').delete()
    assert.deepEqual((await store.list({}, { limit: 10 })).rows, [])
    await crew.kickoff({ id: 'b' })
    assert.equal(asked('Task: Polish'), 12)
  })

  test('repeats no once call in a replay of its task', async () => {
    const { crew, filed, asked } = book()
    await crew.kickoff({ id: 'b' })
    assert.equal(filed.length, 4)
    const again = await crew.replay('chapters', { id: 'c' })
    assert.equal(again.status, 'completed', String(again))
    assert.equal(asked('Task: Polish'), 8)
    assert.equal(filed.length, 4)
  })

  test('repeats no once call in a run derived from an unfinished one', async () => {
    const { crew, filed } = book({ humanInput: true })
    await crew.kickoff({ id: 'b' })
    assert.equal(filed.length, 4)
    const again = await crew.fork({
      id: 'c',
      runId: 'b',
      from: 'chapters',
      onQuestion: () => ({ decision: 'approve' }),
    })
    assert.equal(again.status, 'completed', String(again))
    assert.equal(filed.length, 4)
  })

  test('works within a nested crew, and the crew that it starts may have nested crews', async () => {
    const { crew, store } = book()
    const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'book', crew })], store })
    const kicks = new Task({
      name: 'kicks',
      effect: 'idempotent',
      run: () => outer.kickoff({ id: 'inner' }).then(String),
    })
    const top = new Crew({ name: 'top', tasks: [kicks], store })
    const result = await top.kickoff({ id: 't' })
    assert.equal(String(result), 'the note')
    assert.equal((await stateOf(store, 't/kicks#1/1.0/inner#1/book#1/chapters#1/1.0/one#1')).status, 'completed')
    assert.equal(result.usage.spent.calls, 13)
  })

  test('under an id in progress is refused, and has the result of the first afterwards', async () => {
    const { crew, asked } = book({
      run: async ({ chapter }) => {
        const kick = () => chapter.kickoff({ id: 'same', inputs: { chapter: 'one' } })
        const [first, second] = await Promise.allSettled([kick(), kick()])
        const third = await kick()
        return [String(third), first.status, second.status === 'rejected' ? (second.reason as RepriseError).code : '']
      },
    })
    const result = await crew.kickoff({ id: 'b' })
    assert.deepEqual(result.task('chapters').output, ['polished draft of one', 'fulfilled', 'RUN_HELD'])
    assert.equal(asked('Task: Polish'), 1)
  })

  test('that is abandoned with the time of its function stops, and continues in the next attempt', async () => {
    let slow = true
    const { crew, asked, store } = book({
      script: [{ when: (text) => slow && text.includes('Task: Polish'), error: { status: 503, retryAfter: 20 } }],
      maxSeconds: 0.2,
      run: ({ chapter }) => chapter.kickoff({ id: 'it', inputs: { chapter: 'one' } }).then(String),
    })
    assert.equal((await refusal(() => crew.kickoff({ id: 'b' }))).code, 'TIME_EXHAUSTED')
    assert.equal((await stateOf(store, 'b/chapters#1/1.0/it#1')).suspended?.reason, 'stopped')
    slow = false
    assert.equal((await crew.resume('b')).task('chapters').output, 'polished draft of one')
    assert.equal(asked('Task: Draft'), 2)
  })

  test('leaves the journal with one attempt for each child', async () => {
    const { crew, store } = book()
    await crew.kickoff({ id: 'b' })
    const entries = await entriesOf(store, 'b')
    const paths = (type: string): (string | undefined)[] =>
      entries.filter((entry) => entry.type === type).map(({ path }) => path)
    const attempts = ['chapters#1', ...children.map((run) => run.slice(2)), 'note#1']
    assert.deepEqual(new Set(paths('task.started')), new Set(attempts))
    assert.equal(paths('task.started').length, attempts.length)
    assert.equal(entries.filter((entry) => startedCall(entry)?.path === 'chapters#1/1.0').length, 1)
  })
})
