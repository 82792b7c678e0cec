// Runs that a function task kicked off and that wait, are cancelled or stopped, or use up a budget.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type Guardrail } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { newStore, refusal, stateOf } from '../../engine/support.ts'
import { book } from './book.ts'
import type { AskedQuestion } from '../../../src/journal/state/open-questions.ts'

const approve = { decision: 'approve' } as const
const ids = (questions: readonly { readonly id: string }[]): string[] => questions.map(({ id }) => id).toSorted()

describe('a run that a function kicked off and that waits for a person', () => {
  test('makes the outer run wait, which shows its questions and passes the answers on', async () => {
    const { crew, asked, called, store } = book({ humanInput: true, chapters: ['one', 'two'] })
    const waiting = await crew.kickoff({ id: 'b' })
    assert.equal(waiting.status, 'suspended')
    // both ask: a waiting run does not block the other
    assert.deepEqual(ids(waiting.questions), ['chapters/one/q1', 'chapters/two/q1'])
    assert.deepEqual(ids((await crew.run('b').view()).questions), ids(waiting.questions))
    assert.deepEqual(
      (await crew.runs().page(5)).map(({ openQuestions }) => openQuestions),
      [2],
    )
    const [, asking] = waiting.questions[0]?.asking ?? []
    assert.equal(asking?.runId, 'b/chapters#1/1.0/one#1')
    await crew.run('b').answer('chapters/one/q1', approve)
    assert.equal((await crew.run('b').view()).questions.length, 1)
    const half = await crew.resume('b')
    assert.deepEqual(ids(half.questions), ['chapters/two/q1'])
    await crew.run('b').answer('chapters/two/q1', approve)
    const result = await crew.resume('b')
    assert.deepEqual(result.task('chapters').output, ['polished draft of one', 'polished draft of two'])
    assert.equal(called(), 3)
    assert.equal(asked('Task: Draft'), 4)
    assert.equal(asked('Task: Polish'), 2)
    assert.equal((await stateOf(store, 'b')).attempts.get('chapters#2'), undefined)
  })

  test('gives its slot to the next item, however few may run at once', async () => {
    const { crew } = book({
      humanInput: true,
      chapters: ['one', 'two', 'three'],
      run: ({ chapter }) =>
        chapter.kickoffForEach(
          ['one', 'two', 'three'].map((name) => ({ chapter: name })),
          { id: 'x', concurrency: 1 },
        ),
    })
    assert.equal((await crew.kickoff({ id: 'b' })).questions.length, 3)
  })

  test('asks inline through onQuestion of the outer run, under the same ids', async () => {
    const { crew, called } = book({ humanInput: true, chapters: ['one', 'two'] })
    const seen: AskedQuestion[] = []
    const onQuestion = (question: AskedQuestion): typeof approve => {
      seen.push(question)
      return approve
    }
    assert.equal((await crew.kickoff({ id: 'b', onQuestion })).status, 'completed')
    assert.deepEqual(ids(seen), ['chapters/one/q1', 'chapters/two/q1'])
    assert.equal(called(), 1)
  })

  test('is continued by a worker when it is answered, and the function is called again', async () => {
    const { crew } = book({ humanInput: true, chapters: ['one'] })
    const run = await crew.enqueue({ id: 'b' })
    assert.equal((await crew.advance('b')).status, 'waiting')
    await run.answer('chapters/one/q1', approve)
    assert.deepEqual(await crew.advance('b'), { status: 'completed' })
  })

  test('makes a once function ask a person before it is called again, with a warning at once', async () => {
    const { crew, warnings } = book({ humanInput: true, chapters: ['one'], effect: 'once' })
    await crew.kickoff({ id: 'b' })
    assert.match(
      warnings.join('\n'),
      /function chapters waits for run b\/chapters#1\/1\.0\/one#1; because its effect is once/,
    )
    await crew.run('b').answer('chapters/one/q1', approve)
    const asking = await crew.resume('b')
    assert.deepEqual(
      asking.questions.map(({ id, kind }) => [id, kind]),
      [['q1', 'doubt']],
    )
    await crew.run('b').answer('q1', { decision: 'run' })
    assert.equal((await crew.resume('b')).status, 'completed')
  })
})

describe('a run that a function kicked off', () => {
  test('is cancelled with the outer run, while it is executed and while it waits', async () => {
    const begun = Promise.withResolvers<void>()
    const { crew, store, model } = book({
      script: [
        { when: (text) => text.includes('draft of four') && (begun.resolve(), false), reply: '' },
        // asked again in 20 seconds
        { when: 'Task: Polish', error: { status: 503, retryAfter: 20 } },
      ],
    })
    const result = refusal(() => crew.kickoff({ id: 'b' }))
    await begun.promise
    await crew.run('b').cancel()
    assert.equal((await result).code, 'RUN_CANCELLED')
    for (const name of ['one', 'two', 'three', 'four'])
      assert.equal((await stateOf(store, `b/chapters#1/1.0/${name}#1`)).status, 'cancelled')
    const calls = model.calls.length
    const waiting = book({ humanInput: true, chapters: ['one'] })
    await waiting.crew.kickoff({ id: 'b' })
    await waiting.crew.run('b').cancel()
    assert.equal((await stateOf(waiting.store, 'b/chapters#1/1.0/one#1')).status, 'cancelled')
    assert.equal(model.calls.length, calls)
  })

  test('is stopped with the outer run by its signal, and continues with it', async () => {
    const stop = new AbortController()
    const { crew, asked } = book({
      script: [{ when: (text) => text.includes('Task: Polish') && (stop.abort(), false), reply: '' }],
      chapters: ['one', 'two'],
    })
    assert.equal((await crew.kickoff({ id: 'b', signal: stop.signal })).status, 'suspended')
    assert.equal((await crew.resume('b')).status, 'completed')
    assert.equal(asked('Task: Draft one'), 2)
  })

  test('uses the budget of the outer run, which asks for more', async () => {
    const { crew, model } = book({ more: { budget: { tokens: 500 } } })
    const waiting = await crew.kickoff({ id: 'b' })
    assert.deepEqual(
      waiting.questions.map(({ id, kind }) => [id, kind]),
      [['q1', 'limit']],
    )
    // each of four at once may have one call in progress
    assert.ok(model.calls.length <= 9, `${model.calls.length} calls`)
    await crew.run('b').answer('q1', { decision: 'raise', to: { tokens: 10_000 } })
    const result = await crew.resume('b')
    assert.equal(result.status, 'completed')
    assert.equal(model.calls.length, 13)
  })

  test('ends with the task if a person fails it instead of raising the budget, whatever the function catches', async () => {
    const { crew } = book({
      more: { budget: { tokens: 200 } },
      run: ({ chapter }) => chapter.kickoff({ inputs: { chapter: 'one' } }).then(String, () => 'none'),
    })
    const error = await refusal(() =>
      crew.kickoff({ id: 'b', onQuestion: () => ({ decision: 'fail', reason: 'too dear' }) }),
    )
    assert.match(error.message, /too dear/)
    assert.equal((await crew.run('b').view()).status, 'failed')
  })

  test('is advanced slice by slice, each of at least one step', async () => {
    const { crew, model } = book({ chapters: ['one', 'two'] })
    await crew.enqueue({ id: 'b' })
    let slices = 0
    for (;;) {
      const outcome = await crew.advance('b', { until: 0 })
      slices += 1
      if (outcome.status !== 'more') {
        assert.deepEqual(outcome, { status: 'completed' })
        break
      }
    }
    assert.ok(slices > 3)
    assert.equal(model.calls.length, 7)
  })

  test('that the function does not await ends before its task does, or is cancelled where it waits', async () => {
    const left = book({
      run: ({ chapter }) => {
        void chapter.kickoff({ id: 'left', inputs: { chapter: 'one' } })
        return 'gone'
      },
    })
    const result = await left.crew.kickoff({ id: 'b' })
    assert.equal(result.task('chapters').output, 'gone')
    assert.equal((await stateOf(left.store, 'b/chapters#1/1.0/left#1')).status, 'completed')
    assert.equal(result.usage.spent.calls, 4)
    const asks = book({
      humanInput: true,
      run: ({ chapter }) => {
        void chapter.kickoff({ id: 'left', inputs: { chapter: 'one' } })
        return 'gone'
      },
    })
    assert.equal((await asks.crew.kickoff({ id: 'b' })).status, 'completed')
    assert.equal((await stateOf(asks.store, 'b/chapters#1/1.0/left#1')).status, 'cancelled')
    assert.match(asks.warnings.join('\n'), /run b\/chapters#1\/1\.0\/left#1 was cancelled: function chapters returned/)
    assert.equal((await asks.crew.run('b').view()).usage.calls, 3)
  })
})

describe('a kickoff that cannot be a child run', () => {
  const scene = (more: Parameters<typeof book>[0] = {}) => book({ chapters: ['one'], ...more })
  const kick = ({ chapter }: { readonly chapter: Crew }) =>
    chapter.kickoff({ id: 'mine', inputs: { chapter: 'one' } }).then(String)

  test('because its crew has another store is a run of its own, named by one warning, with an unknown cost', async () => {
    const other = memoryStore()
    const { crew, store, warnings } = scene({ chapterStore: other, run: kick })
    const result = await crew.kickoff({ id: 'b' })
    assert.equal(result.usage.spent.calls, 1)
    assert.equal((await stateOf(other, 'mine')).status, 'completed')
    assert.equal(await store.row('mine'), undefined)
    const about = warnings.filter((warning) => warning.includes('is not a child run of'))
    assert.equal(about.length, 1, warnings.join('\n'))
    assert.match(
      about[0] ?? '',
      /^run mine, started by function chapters, is not a child run of run b, since its crew has/,
    )
    const plan = await crew.plan({ from: 'chapters' })
    assert.equal(plan.tasks[0]?.estimate, undefined)
    assert.deepEqual(plan.estimate.unknown, ['chapters'])
    assert.match(String(plan), /chapters .*unknown, it started runs that are not counted/)
  })

  test('because a run of its id existed before continues that one', async () => {
    const store = newStore()
    const { crew, chapter, asked, warnings } = scene({ store, chapterStore: store, run: kick })
    await chapter.kickoff({ id: 'mine', inputs: { chapter: 'one' } })
    assert.equal((await crew.kickoff({ id: 'b' })).task('chapters').output, 'polished draft of one')
    assert.equal(asked('Task: Polish'), 1)
    assert.match(warnings.join('\n'), /run mine, .* since a run with this id already exists/)
  })

  test('because it is another verb causes a warning too, with an unknown cost', async () => {
    const store = newStore()
    const { crew, chapter, warnings } = scene({
      store,
      run: () => other.replay('polish', { runId: 'first' }).then(String),
    })
    await using other = chapter.with({ store })
    await other.kickoff({ id: 'first', inputs: { chapter: 'one' } })
    await crew.kickoff({ id: 'b' })
    assert.match(
      warnings.join('\n'),
      /run [^,]*, started by function chapters, is not a child run of run b, since only/,
    )
    assert.deepEqual((await crew.plan({ from: 'chapters' })).estimate.unknown, ['chapters'])
  })

  test('because it is queued causes one warning, with an unknown cost', async () => {
    const store = newStore()
    const queue = async ({ chapter }: { readonly chapter: Crew }) => {
      for (const id of ['first', 'second']) await chapter.enqueue({ id, inputs: { chapter: 'one' } })
      return 'queued'
    }
    const { crew, warnings } = scene({ store, chapterStore: store, run: queue })
    await crew.kickoff({ id: 'b' })
    assert.match(
      warnings.join('\n'),
      /^run first, started by function chapters, [^\n]* since a worker executes it[^\n]*$/,
    )
    assert.match(String(await crew.plan({ from: 'chapters' })), /chapters .*unknown, it started runs/)
  })

  test('is not one with the same store under another spelling', async () => {
    const store = newStore()
    const { crew, warnings } = scene({ store, chapterStore: store, run: kick })
    await crew.kickoff({ id: 'b' })
    assert.equal((await stateOf(store, 'b/chapters#1/1.0/mine#1')).status, 'completed')
    assert.deepEqual(warnings, [])
  })
})

test('a tool and a guardrail that kick off a crew cause one warning each, and the cost of their task is unknown', async () => {
  const { chapter, store, warnings, model } = book({ chapters: [] })
  const inner = chapter.with({ store })
  const logger = { info() {}, warn: (message: string) => void warnings.push(message) }
  const dig = tool({
    name: 'dig',
    description: 'Dig',
    effect: 'read',
    input: z.object({}),
    run: () => inner.kickoffForEach([{ chapter: 'one' }, { chapter: 'two' }]).then(String),
  })
  const own = scriptedModel([
    { when: 'Task: Note', calls: [{ tool: 'dig', input: {} }] },
    { when: 'Task: Note', reply: 'a note' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model: own, tools: [dig] })
  const reviewed: Guardrail = async function reviewed({ runId }) {
    await inner.kickoff({ id: `${runId}-review`, inputs: { chapter: 'three' } })
    return true as const
  }
  const note = new Task({ name: 'note', description: 'Note', agent, guardrails: reviewed })
  const crew = new Crew({ name: 'notes', tasks: [note], store, logger })
  await crew.kickoff({ id: 'n' })
  assert.equal(model.calls.length, 6)
  assert.deepEqual(
    warnings.map((warning) => /started by ([^,]*),/.exec(warning)?.[1]),
    ['tool dig of task note', 'guardrail reviewed of task note'],
  )
  assert.match(
    warnings[1] ?? '',
    /^run n-review, .* since only a kickoff inside the function of a task starts a child run/,
  )
  assert.match(String(await crew.plan({ from: 'note' })), /Expected: unknown: note started runs that are not counted/)
})
