// The words of a failure: the journal records what happened, without place and advice; the place is added once, where
// it is printed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, RepriseError, Task } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { stateOf } from '../../engine/support.ts'

/** Three crews, each a task of the previous one. A task of the innermost fails. */
function threeDeep(work: Task) {
  const lines: string[] = []
  const logger = { info: (line: string) => void lines.push(line), warn: () => {} }
  const store = memoryStore()
  const inmost = new Crew({ name: 'inmost', tasks: [work], logger })
  const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'deep', crew: inmost })], logger })
  const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'research', crew: inner })], store, logger })
  return { crew, store, lines }
}

async function failureOf(work: Promise<unknown>): Promise<RepriseError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(RepriseError.isInstance(error), 'nothing failed')
  return error
}

const down = new Error('the net is down')
const fetchTask = new Task({
  name: 'bad',
  effect: 'read',
  run: () => {
    throw down
  },
})
const model = scriptedModel([{ when: 'Write', error: 'no power' }])
const modelTask = new Task({
  name: 'bad',
  description: 'Write',
  agent: new Agent({ role: 'W', goal: 'g', model, maxRetries: 0 }),
})

describe('a failure three crews deep', () => {
  for (const { what, task, reason } of [
    { what: 'of a function', task: fetchTask, reason: 'the net is down' },
    { what: 'of a model', task: modelTask, reason: 'model scripted/script failed: no power' },
  ])
    test(`that ${what} names the tasks once, from the outermost inwards, and one way to continue`, async () => {
      const { crew, store, lines } = threeDeep(task)
      const error = await failureOf(crew.kickoff({ id: 'r' }))
      assert.equal(error.reason, reason)
      assert.equal(error.facts, `task research/deep/bad failed: ${reason}`)
      assert.equal(error.message, `${error.facts}; continue with crew.run('r').resume()`)
      assert.deepEqual(error.next, { type: 'resume', runId: 'r' })
      assert.deepEqual(
        { runId: error.runId, task: error.task, tasks: error.tasks },
        { runId: 'r', task: 'research', tasks: ['research', 'deep', 'bad'] },
      )
      // each journal says what happened in its own tasks
      for (const [run, name, message] of [
        ['r', 'research', `its task deep/bad failed: ${reason}`],
        ['r/research#1', 'deep', `its task bad failed: ${reason}`],
        ['r/research#1/deep#1', 'bad', reason],
      ] as const) {
        const { error: recorded } = await stateOf(store, run)
        assert.deepEqual({ task: recorded?.task, message: recorded?.message }, { task: name, message })
      }
      assert.deepEqual(
        lines.filter((line) => /\] failed/.test(line)),
        [
          `[r/research#1/deep#1] failed in task bad: ${reason}`,
          `[r/research#1] failed in task deep: its task bad failed: ${reason}`,
          `[r] failed in task research: its task deep/bad failed: ${reason}`,
        ],
      )
      assert.ok(!lines.some((line) => /failed: .*task (\S+) failed: .*task \1 failed/.test(line)), lines.join('\n'))
    })

  test('keeps the thrown error as its cause', async () => {
    const error = await failureOf(threeDeep(fetchTask).crew.kickoff())
    assert.equal(error.cause, down)
  })
})

describe('the recorded error of a task', () => {
  test('is printed once where its journal is shown', async () => {
    const lines: string[] = []
    const logger = { info: (line: string) => void lines.push(line), warn: () => {} }
    const crew = new Crew({ name: 'c', tasks: [fetchTask], store: memoryStore(), logger })
    await failureOf(crew.kickoff({ id: 'r' }))
    assert.ok(lines.includes('[r] task bad failed: the net is down'), lines.join('\n'))
  })

  test('that comes from another run of Reprise has the facts without the advice', async () => {
    const store = memoryStore()
    const inner = new Crew({ name: 'inner', tasks: [fetchTask], store })
    const call = new Task({ name: 'call', effect: 'read', run: () => inner.kickoff({ id: 'i' }).then(String) })
    const outer = new Crew({ name: 'outer', tasks: [call], store })
    const error = await failureOf(outer.kickoff({ id: 'o' }))
    const facts = 'task call failed: task bad failed: the net is down'
    assert.equal(error.message, `${facts}; continue with crew.run('o').resume()`)
    assert.equal((await stateOf(store, 'o')).error?.message, 'task bad failed: the net is down')
  })
})

describe('a suspended result', () => {
  test('gives the reason without advice, and the next actions as data; its text names the calls', async () => {
    const reply = scriptedModel([{ when: 'Write', reply: 'a note' }])
    const agent = new Agent({ role: 'W', goal: 'g', model: reply })
    const first = new Task({ name: 'first', description: 'Write', agent, humanInput: true, async: true, context: [] })
    const second = new Task({ name: 'second', description: 'Write', agent, humanInput: true, async: true, context: [] })
    const crew = new Crew({ name: 'c', tasks: [first, second], store: memoryStore() })
    const asking = await crew.kickoff({ id: 'r' })
    assert.ok(asking.status === 'suspended')
    const decisions = ['approve', 'revise', 'replace', 'fail']
    assert.deepEqual(asking.next, { type: 'answer', runId: 'r', question: 'q1', decisions })
    assert.match(asking.facts, /^Run r waits for an answer to q1: .* and q2: .*$/)
    const answer = (id: string) =>
      `answer with crew.run('r').answer('${id}', { decision: 'approve' | 'revise' | 'replace' | 'fail' })`
    assert.equal(
      String(asking),
      `${asking.facts} (${answer('q1')}, then ${answer('q2')}, then continue with crew.run('r').resume())`,
    )
  })

  test('of a stopped run can be resumed', async () => {
    const two = [1, 2].map((number) => new Task({ name: `t${number}`, effect: 'read', run: () => 'ok' }))
    const crew = new Crew({ name: 'c', tasks: two, store: memoryStore() })
    const stopped = await crew.kickoff({ id: 'r', through: 't1' })
    assert.ok(stopped.status === 'suspended')
    assert.deepEqual(
      { facts: stopped.facts, next: stopped.next },
      { facts: 'Run r stopped after task t1, as requested', next: { type: 'resume', runId: 'r' } },
    )
    assert.equal(String(stopped), `${stopped.facts}; continue with crew.run('r').resume()`)
    const completed = await crew.resume('r')
    assert.ok(!('next' in completed) && !('facts' in completed))
  })
})

test('a warning with a remedy names the method, and reaches the logger as one text', async () => {
  const told: unknown[] = []
  const logger = { info: () => {}, warn: (...words: unknown[]) => void told.push(words) }
  const store = memoryStore()
  const crewOf = (version: string) => {
    const tasks = [1, 2].map(
      (n) => new Task({ name: `t${n}`, effect: 'read', version: `${n}${version}`, run: () => 'ok' }),
    )
    return new Crew({ name: 'c', tasks, store, logger })
  }
  await crewOf('a').kickoff({ id: 'r', through: 't1' })
  await crewOf('b').resume('r')
  const next = "execute what is stale or missing in a new run with crew.run('r').refresh()"
  assert.deepEqual(told, [[`run r: task t1 is stale: version changed; ${next}`]])
})
