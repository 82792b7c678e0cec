// The counts and the index of questions that the fold keeps equal a full count and a full search.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { journalVersion, type NewEntry, type Owner, type Question } from '../../src/journal/entries.ts'
import { applyEntry, emptyState } from '../../src/journal/state/fold.ts'
import { taskNameAt } from '../../src/journal/state/at-path.ts'
import { withdrawQuestions } from '../../src/journal/state/questions.ts'
import type { RunState } from '../../src/journal/state/state.ts'
import { attemptsSinceDone, isDone } from '../../src/journal/state/tally.ts'

const at = '2026-01-01T00:00:00.000Z'
const owner: Owner = { host: 'h', boot: 'b', pid: 1, start: 's', instance: 'i' }
const declared = (names: readonly string[]) => names.map((name) => ({ name, id: name, description: name }))
const created: NewEntry = {
  type: 'run.created',
  run: 'r',
  incarnation: 'i',
  crew: 'c',
  version: '1',
  inputs: {},
  tasks: declared(['a', 'b', 'c']),
  owner,
}

// `ghost` is a task that no crew declares, because the line that did was removed by hand
const task = fc.constantFrom('a', 'b', 'c', 'ghost')
const attempt = fc.tuple(task, fc.constantFrom('1', '2')).map((parts) => parts.join('#'))
const place = fc.oneof(
  attempt,
  attempt.map((path) => `${path}/1.0`),
)
const raw = 'x'
const structured = false
const output = { raw, structured, usage: { calls: 0, input: 0, output: 0 }, startedAt: at, completedAt: at }
const from = { run: 'p', incarnation: 'p', seq: 1 }
const error = { code: 'TASK_FAILED', message: 'no' }
const within: fc.Arbitrary<NewEntry> = fc.oneof(
  fc.record({ path: attempt, child: fc.boolean() }).map(({ path, child }): NewEntry => {
    const kind = child ? { child: true as const } : { code: true as const }
    return { type: 'task.started', path, fingerprint: {}, ...kind }
  }),
  attempt.map((path): NewEntry => ({ type: 'task.completed', path, structured, raw })),
  attempt.map((path): NewEntry => ({ type: 'task.failed', path, error })),
  task.map((path): NewEntry => ({ type: 'task.skipped', path, reason: 'r' })),
  task.map((path): NewEntry => ({ type: 'task.edited', path, raw, structured })),
  task.map((path): NewEntry => ({ type: 'task.invalidated', path })),
  task.map((path): NewEntry => ({ type: 'task.inherited', path, from, output, reasons: [] })),
  place.map((path): NewEntry => ({
    type: 'tool.called',
    path,
    tool: 't',
    effect: 'once',
    key: 'k',
    idempotencyKey: 'i',
  })),
  fc.record({ path: place, id: fc.constantFrom('q1', 'q2', 'q3'), limit: fc.boolean() }).map(({ path, id, limit }) => {
    const what = limit ? { kind: 'limit', limit: {}, spent: output.usage } : { kind: 'result', output: '', round: 1 }
    return { type: 'question.asked', path, question: { id, path, text: '', ...what } as Question } satisfies NewEntry
  }),
  fc
    .constantFrom('q1', 'q2', 'q3')
    .map((question): NewEntry => ({ type: 'question.answered', question, answer: { decision: 'approve' } })),
)
const resumed: fc.Arbitrary<NewEntry> = fc
  .record({ tasks: fc.subarray(['a', 'b', 'c', 'd']), budget: fc.boolean(), edited: fc.boolean() })
  .map(({ tasks, budget, edited }) => ({
    type: 'run.resumed',
    owner,
    tasks: declared(tasks),
    ...(budget ? { budget: { tokens: 1 } } : {}),
    ...(edited ? { edited: { missing: [], changed: [], tasks: tasks.slice(0, 1) } } : {}),
  }))

function stateAfter(entries: readonly NewEntry[], check: (state: RunState) => void = () => {}): RunState {
  const state = emptyState('r')
  for (const [index, entry] of entries.entries()) {
    applyEntry(state, { v: journalVersion, seq: index + 1, at, token: 1, prev: '', ...entry })
    check(state)
  }
  return state
}

test('after every entry, the tally of a run equals a count of its tasks and questions', () => {
  const journal = fc.array(fc.oneof({ weight: 9, arbitrary: within }, { weight: 1, arbitrary: resumed }), {
    maxLength: 40,
  })
  const check = (state: RunState): void => {
    const tasks = [...state.tasks.values()]
    const there = tasks.filter(({ removed }) => !removed)
    const { removed, done, crews } = state.tally
    assert.deepEqual(
      { removed, done, crews: [...crews].toSorted() },
      {
        removed: tasks.length - there.length,
        done: there.filter(isDone).length,
        crews: tasks.flatMap((one) => (attemptsSinceDone(state, one).length > 0 ? one.name : [])).toSorted(),
      },
    )
    const open = [...state.questions.values()].filter(({ answer, withdrawn }) => !answer && !withdrawn)
    assert.deepEqual(new Set(state.unanswered), new Set(open))
  }
  fc.assert(fc.property(journal, (entries) => void stateAfter([created, ...entries], check)))
})

test('a task is done if tally.doneChanges has its name an odd number of times', () => {
  fc.assert(
    fc.property(fc.array(within, { maxLength: 40 }), (entries) => {
      const { tasks, tally } = stateAfter([created, ...entries])
      for (const one of tasks.values())
        assert.equal(tally.doneChanges.filter((name) => name === one.name).length % 2 === 1, isDone(one), one.name)
    }),
  )
})

test('withdrawing the questions of a task finds them as a search through all open questions does', () => {
  const renamed = fc.tuple(task, fc.constantFrom('a', 'b', 'e')).map(([path, to]): NewEntry => ({
    type: 'task.renamed',
    path,
    to,
  }))
  const entry = fc.oneof(
    { weight: 9, arbitrary: within },
    { weight: 1, arbitrary: resumed },
    { weight: 1, arbitrary: renamed },
  )
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40 }), (entries) => {
      const state = stateAfter([created, ...entries])
      for (const one of state.tasks.values()) {
        const kept = [...state.unanswered].filter(({ question: { path } }) => taskNameAt(state, path) !== one.name)
        withdrawQuestions(state, one)
        assert.deepEqual([...state.unanswered], kept)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('settling a step of a flow looks at none of the open questions of other steps', () => {
  const lookups = (open: number): number => {
    const asked = Array.from({ length: open }, (_, n): NewEntry[] => {
      const path = `ask[${n}]#1`
      const question: Question = { id: `q${n}`, path, kind: 'value', text: '', schema: {} }
      return [
        { type: 'task.started', path, fingerprint: {}, after: 0, wait: 'question' },
        { type: 'question.asked', path, question },
      ]
    })
    const state = stateAfter([{ ...created, tasks: [], flow: true }, ...asked.flat()])
    let count = 0
    const { attempts, questions } = state
    const get = attempts.get.bind(attempts)
    attempts.get = (path) => (count++, get(path))
    questions.values = () => assert.fail('all questions were walked')
    const path = 'ask[3]#1'
    const last = { v: journalVersion, at, token: 1, prev: '' }
    const completed: NewEntry = { type: 'task.completed', path, raw, structured }
    applyEntry(state, { ...last, seq: state.seq + 1, ...completed })
    assert.equal(state.unanswered.size, open - 1)
    return count
  }
  assert.equal(lookups(1_000), lookups(10))
})
