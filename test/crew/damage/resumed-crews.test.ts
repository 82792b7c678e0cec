// Resumes in situations where other frameworks restore a crew that differs from the interrupted one. A first life dies
// after an append; the second has only the store and the code, like a new process.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type CrewOptions, type TaskOptions } from 'reprise'
import { openStore } from '../../../src/stores/open-store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { dyingStore } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

async function openFolder(): Promise<AsyncDisposable & { readonly store: Store }> {
  const folder = await temporaryFolder()
  const store = await openStore(`sqlite:${join(folder.path, 'runs.db')}`)
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** A crew made again for each life, and the requests to its model in all lives. */
function crewWith(
  tasks: (agent: Agent) => readonly Task[],
  options: Partial<CrewOptions> = {},
  script: readonly ScriptEntry[] = [],
) {
  const asked: string[] = []
  const make = (store: Store): Crew => {
    const model = scriptedModel([
      ...script,
      {
        when: 'Task:',
        reply(text) {
          const [, name = ''] = /Task: (\w+)/.exec(text) ?? []
          asked.push(name)
          return `by ${name}, given ${[...text.matchAll(/by (\w+),/g)].map(([, other]) => other).join(' ') || 'nothing'}`
        },
      },
    ])
    const logger = { info() {}, warn() {} }
    return new Crew({ name: 'c', tasks: tasks(new Agent({ role: 'A', goal: 'g', model })), store, logger, ...options })
  }
  return { make, asked }
}

function taskOf(agent: Agent, name: string, options: Partial<TaskOptions> = {}): Task {
  return new Task({ name, description: name, agent, ...options })
}

/** A first life that dies after the completion of so many tasks. */
async function dieBehind(completions: number, store: Store, make: (store: Store) => Crew, inputs = {}): Promise<void> {
  let done = 0
  const dying = dyingStore(store, (types) => {
    done += types.filter((type) => type === 'task.completed').length
    return done >= completions
  })
  await assert.rejects(make(dying).kickoff({ id: 'r', inputs }), /the process is dead/)
}

describe('a resumed run', () => {
  // 17
  test('has its conditions, contexts and async tasks as declared, and repeats no finished task', async () => {
    await using folder = await openFolder()
    const { make, asked } = crewWith((agent) => {
      const beside = taskOf(agent, 'beside', { async: true, context: [] })
      const first = taskOf(agent, 'first', { context: [] })
      const rare = taskOf(agent, 'rare', { when: ({ outputs }) => outputs['first'] === 'never said' })
      const often = taskOf(agent, 'often', { context: [first], when: ({ outputs }) => outputs['first'] !== undefined })
      return [beside, first, rare, often, taskOf(agent, 'last', { context: [beside] })]
    })
    await dieBehind(2, folder.store, make)
    assert.deepEqual(asked.toSorted(), ['beside', 'first'])
    const result = await make(folder.store).resume('r')
    assert.deepEqual(asked.slice(2), ['often', 'last'])
    assert.equal(result.task('rare').status, 'skipped')
    assert.equal(result.task('often').raw, 'by often, given first')
    assert.equal(result.task('last').raw, 'by last, given beside')
  })

  // 18
  test('has its guardrails, callbacks and conditions, and calls each only for what it was not called for yet', async () => {
    await using folder = await openFolder()
    const heard: string[] = []
    const { make } = crewWith(
      (agent) => [
        taskOf(agent, 'first'),
        taskOf(agent, 'second', {
          when: () => heard.push('when second') > 0,
          guardrails: ({ raw }) => (heard.push(`judged ${raw}`), raw === 'better' || 'it can be better'),
          callback: ({ raw }) => heard.push(`callback ${raw}`),
        }),
      ],
      {
        onStep: ({ path }) => void heard.push(`step ${path}`),
        onTask: ({ name }) => void heard.push(`task ${name}`),
        afterKickoff: ({ raw }) => void heard.push(`after ${raw}`),
      },
      [
        { when: 'it can be better', reply: 'better' },
        { when: 'Task: second', reply: 'good' },
      ],
    )
    await dieBehind(1, folder.store, make)
    assert.deepEqual(heard.splice(0), ['step first#1/1'])
    await make(folder.store).resume('r')
    assert.deepEqual(heard, [
      'task first',
      'when second',
      'step second#1/1',
      'judged good',
      'step second#2/1',
      'judged better',
      'callback better',
      'task second',
      'after better',
    ])
  })

  // 19
  test('keeps the inputs from beforeKickoff, and does not call it again', async () => {
    await using folder = await openFolder()
    const made: unknown[] = []
    const { make, asked } = crewWith(
      (agent) => [taskOf(agent, 'first'), taskOf(agent, 'second', { description: 'second on {topic} for {day}' })],
      { beforeKickoff: (given) => ({ ...given, day: `day ${made.push(given)}` }) },
      [{ when: 'second on water for day 1', reply: 'as made' }],
    )
    await dieBehind(1, folder.store, make, { topic: 'water' })
    const crew = make(folder.store)
    assert.equal(String(await crew.resume('r')), 'as made')
    assert.deepEqual(made, [{ topic: 'water' }])
    assert.deepEqual((await crew.run('r').view()).inputs, { topic: 'water', day: 'day 1' })
    assert.deepEqual(asked, ['first'])
  })

  // 20
  test('belongs to its crew, and another crew in the same store can neither resume it nor be taken for its crew', async () => {
    await using folder = await openFolder()
    const { store } = folder
    const a = crewWith((agent) => [taskOf(agent, 'one'), taskOf(agent, 'two')], { name: 'a' })
    const b = crewWith((agent) => [taskOf(agent, 'one'), taskOf(agent, 'three')], { name: 'b' })
    await dieBehind(1, store, a.make)
    // the latest run in the store is another crew's, and complete
    const other = await b.make(store).kickoff({ id: 'other' })
    await assert.rejects(b.make(store).resume('r'), { code: 'RUN_NOT_FOUND', message: /belongs to crew a, not to b/ })
    await assert.rejects(b.make(store).kickoff({ id: 'r' }), { code: 'RUN_NOT_FOUND', message: /belongs to crew a/ })
    await assert.rejects(b.make(store).resume(), { code: 'RUN_NOT_FOUND', message: /crew b has no unfinished run/ })
    const resumed = await a.make(store).resume()
    assert.deepEqual([resumed.runId, resumed.status], ['r', 'completed'])
    assert.deepEqual(a.asked, ['one', 'two'])
    assert.equal(resumed.task('two').raw, 'by two, given one')
    assert.equal((await b.make(store).run('other').view()).task('three').raw, String(other))
  })

  // 23
  test('has every open question under its own id, and continues from whichever answer comes', async () => {
    await using folder = await openFolder()
    const { store } = folder
    const { make, asked } = crewWith(
      (agent) => {
        const shown = { context: [], humanInput: true }
        const right = taskOf(agent, 'right', shown)
        return [taskOf(agent, 'left', shown), right, taskOf(agent, 'after', { context: [right] })]
      },
      { process: 'parallel' },
    )
    // without a person at the console the process may end
    assert.equal((await make(store).kickoff({ id: 'r' })).status, 'suspended')
    const idOf = async (path: string): Promise<string> =>
      (await make(store).run('r').view()).questions.find((question) => question.path === path)?.id ?? ''
    const [left, right] = [await idOf('left#1'), await idOf('right#1')]
    assert.notEqual(left, right)
    await make(store).run('r').answer(right, { decision: 'replace', output: 'by person,' })
    const half = await make(store).resume('r')
    assert.equal(half.status, 'suspended')
    assert.deepEqual([half.task('after').raw, half.questions.map(({ id }) => id)], ['by after, given person', [left]])
    await make(store).run('r').answer(left, { decision: 'approve' })
    const whole = await make(store).resume('r')
    assert.equal(whole.status, 'completed')
    assert.equal(whole.task('left').raw, 'by left, given nothing')
    assert.deepEqual(asked.toSorted(), ['after', 'left', 'right'])
  })
})
