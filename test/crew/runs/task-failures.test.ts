// Runs that continue after a failed task.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type CrewOptions, type RunResult } from 'reprise'
import { z } from 'zod'
import { dieAt } from '../../crash/mortal.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, refusal, stateOf } from '../../engine/support.ts'

const quiet = { info() {}, warn() {} }
const onTaskFailure = 'continue'

interface Step {
  readonly context?: readonly string[]
  readonly async?: boolean
  readonly when?: (context: { readonly outputs: object; readonly missing: readonly string[] }) => boolean
}

/** Function tasks. The steps in `broken` throw. */
function crewOf(steps: { readonly [name: string]: Step }, options: Partial<CrewOptions> = {}) {
  const broken = new Set<string>()
  const calls: string[] = []
  const tasks = new Map<string, Task>()
  for (const [name, { context, ...step }] of Object.entries(steps)) {
    const task: Task = new Task({
      name,
      version: '1',
      effect: 'read',
      ...step,
      ...(context ? { context: context.map((other) => tasks.get(other) as Task) } : {}),
      run({ outputs, missing }) {
        calls.push(name)
        if (broken.has(name)) throw new Error(`no ${name}`)
        const given = Object.keys(outputs)
        return `${name}(${given.join(' ')}${missing.length > 0 ? ` without ${missing.join(' ')}` : ''})`
      },
    })
    tasks.set(name, task)
  }
  const crew = new Crew({
    name: 'items',
    tasks: [...tasks.values()],
    store: newStore(),
    logger: quiet,
    onTaskFailure,
    ...options,
  })
  return { crew, broken, calls }
}

const told = ({ failures }: Pick<RunResult, 'failures'>) =>
  failures.map(({ task, error, skipped }) => ({ task, message: error.message, skipped }))
const rawsOf = ({ tasks }: RunResult) => Object.fromEntries(tasks.map(({ name, raw }) => [name, raw]))

/** `b` fails; `c` needs it, `d` takes what there is, `e` needs `c`. */
const chain = { a: {}, b: { context: ['a'] }, c: { context: ['a', 'b'] }, d: {}, e: { context: ['c'] }, f: {} }

describe('a crew that continues when a task fails', () => {
  for (const process of ['sequential', 'parallel'] as const) {
    test(`skips what needs the task, tells the others what is missing, and completes, with a ${process} process`, async () => {
      const { crew, broken } = crewOf(chain, { process })
      broken.add('b')
      const result = await crew.kickoff({ id: 'r' })
      assert.equal(result.status, 'completed')
      assert.deepEqual(told(result), [{ task: 'b', message: 'no b', skipped: ['c', 'e'] }])
      assert.deepEqual(rawsOf(result), {
        a: 'a()',
        b: '',
        c: '',
        d: 'd(a without b c)',
        e: '',
        f: 'f(a d without b c e)',
      })
      assert.equal(result.raw, 'f(a d without b c e)')
      assert.deepEqual(
        result.tasks.map(({ status }) => status),
        ['executed', 'failed', 'skipped', 'executed', 'skipped', 'executed'],
      )
    })
  }

  test('reports it in its list and its view, with equal numbers', async () => {
    const { crew, broken } = crewOf(chain)
    broken.add('b')
    await crew.kickoff({ id: 'r' })
    const [summary] = await Array.fromAsync(crew.runs())
    const view = await crew.run('r').view()
    assert.equal(summary?.status, 'completed')
    for (const shown of [summary, view])
      assert.deepEqual([shown?.done, shown?.failed, shown?.total, shown?.why], [5, 1, 6, undefined])
    assert.deepEqual(told(view), [{ task: 'b', message: 'no b', skipped: ['c', 'e'] }])
    assert.deepEqual(view.stale, [])
  })

  test('tells a model which outputs are missing, and not about those that were never expected', async () => {
    const model = scriptedModel([
      { when: 'Task: Find', error: 'no such page' },
      { when: 'Task: Sum', reply: 'the sum' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const find = new Task({ name: 'find', description: 'Find', agent })
    const plan = new Task({ name: 'plan', version: '1', effect: 'read', run: () => 'the plan', context: [] })
    const sum = new Task({ name: 'sum', description: 'Sum', agent })
    const tasks = [find, plan, sum]
    const crew = new Crew({ name: 'told', tasks, store: memoryStore(), logger: quiet, onTaskFailure })
    const result = await crew.kickoff()
    assert.deepEqual(told(result)[0]?.task, 'find')
    assert.equal(result.failures[0]?.error.code, 'MODEL_FAILED')
    const asked = model.calls.at(-1)?.lastMessage ?? ''
    assert.match(asked, /no result of: find\./)
    assert.match(asked, /the plan/)
  })

  test('does the same when a condition throws, and evaluates no condition of a task that it skips', async () => {
    const seen: object[] = []
    const { crew, broken } = crewOf({
      a: {},
      b: {
        when() {
          throw new Error('no idea')
        },
      },
      c: {
        context: ['b'],
        when() {
          throw new Error('never asked')
        },
      },
      d: {
        when: ({ outputs, missing }) => {
          seen.push({ outputs, missing })
          return missing.length === 0
        },
      },
    })
    broken.add('a')
    const result = await crew.kickoff({ id: 'r' })
    assert.deepEqual(
      told(result).map(({ task, skipped }) => ({ task, skipped })),
      [
        { task: 'a', skipped: [] },
        { task: 'b', skipped: ['c'] },
      ],
    )
    assert.match(result.failures[1]?.error.message ?? '', /condition.*threw: no idea/)
    assert.deepEqual(seen, [{ outputs: {}, missing: ['a', 'b', 'c'] }])
    assert.equal(result.task('d').status, 'skipped')
    assert.deepEqual((await crew.run('r').view()).stale, [])
    assert.equal(result.raw, '')
  })

  test('stops after the task of through even if it failed, and continues without it', async () => {
    const { crew, broken, calls } = crewOf({ a: {}, b: {}, c: {} })
    broken.add('b')
    const stopped = await crew.kickoff({ id: 'r', through: 'b' })
    assert.equal(stopped.status, 'suspended')
    assert.equal(stopped.failures.length, 1)
    const plan = await crew.plan({ runId: 'r', of: 'resume' })
    assert.deepEqual(
      plan.tasks.map(({ action }) => action),
      ['inherit', 'inherit', 'execute'],
    )
    assert.match(plan.tasks[1]?.reasons.join() ?? '', /continues without it.*no b/)
    broken.clear()
    const result = await crew.resume('r')
    assert.equal(result.status, 'completed')
    assert.deepEqual(calls, ['a', 'b', 'c'])
    assert.equal(result.raw, 'c(a without b)')
  })

  test('executes a failed task and what was skipped again when a person invalidates it', async () => {
    const { crew, broken, calls } = crewOf(chain)
    broken.add('b')
    await crew.kickoff({ id: 'r', through: 'e' })
    broken.clear()
    await crew.run('r').invalidate('b')
    const result = await crew.resume('r')
    assert.deepEqual(result.failures, [])
    assert.deepEqual(calls, ['a', 'b', 'd', 'b', 'c', 'e', 'f'])
    assert.equal(result.raw, 'f(a b c d e)')
  })

  test('executes what was skipped when a person gives the output of the failed task', async () => {
    const { crew, broken, calls } = crewOf(chain)
    broken.add('b')
    await crew.kickoff({ id: 'r', through: 'e' })
    await crew.run('r').edit('b', 'mine')
    const result = await crew.resume('r')
    assert.deepEqual(result.failures, [])
    assert.deepEqual(calls, ['a', 'b', 'd', 'c', 'e', 'f'])
    assert.deepEqual([result.task('b').raw, result.task('c').raw], ['mine', 'c(a b)'])
    const { tally } = await stateOf((await crew['~open'].engine()).store, 'r')
    assert.deepEqual([tally.done, tally.failures], [6, 0])
  })

  test('is not retried by workers, and fails for errors other than those of a task', async () => {
    const { crew, broken } = crewOf(chain, {
      retries: { times: 3 },
      onTask() {
        throw new Error('no desk')
      },
    })
    broken.add('b')
    assert.equal((await refusal(() => crew.kickoff({ id: 'r' }))).code, 'CALLBACK_FAILED')
    const open = crewOf(chain, { retries: { times: 3 } })
    open.broken.add('b')
    await open.crew.enqueue({ id: 'q' })
    await open.crew.resumeAll()
    assert.equal((await open.crew.run('q').view()).status, 'completed')
  })

  test('fails when a person says so', async () => {
    const model = scriptedModel([{ when: 'Task:', reply: 'the draft' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const draft = new Task({ name: 'draft', description: 'Draft', agent, humanInput: true })
    const crew = new Crew({ name: 'asked', tasks: [draft], store: memoryStore(), logger: quiet, onTaskFailure })
    const failed = await refusal(() =>
      crew.kickoff({ id: 'r', onQuestion: () => ({ decision: 'fail', reason: 'a bad idea' }) }),
    )
    assert.match(failed.message, /a bad idea/)
    assert.equal((await crew.run('r').view()).status, 'failed')
  })

  test('does not complete while the outcome of a once call is unknown', async () => {
    const post = tool({
      name: 'post',
      description: 'Post',
      effect: 'once',
      input: z.object({}),
      run: () => 'posted',
    })
    const model = scriptedModel([
      { when: 'Task:', calls: [{ tool: 'post', input: {} }] },
      { when: 'Task:', reply: 'done' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const store = newStore()
    const tasks = [new Task({ name: 'pay', description: 'Pay', agent, tools: [post] })]
    const crew = new Crew({ name: 'paid', tasks, store, logger: quiet, onTaskFailure })
    const types: string[] = []
    await dieAt(store, { at: 'after:4' }, (mortal) => crew.with({ store: mortal }).kickoff({ id: 'r' }))
    for (const { type } of await entriesOf(store, 'r')) types.push(type)
    assert.equal(types.at(-1), 'tool.called')
    const result = await crew.resume('r')
    assert.equal(result.status, 'suspended')
    assert.deepEqual(
      result.questions.map(({ kind }) => kind),
      ['doubt'],
    )
  })

  test('fails when a once call times out and its outcome is unknown', async () => {
    const pay = new Task({
      name: 'pay',
      effect: 'once',
      maxSeconds: 0.01,
      run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const crew = new Crew({ name: 'paid', tasks: [pay], store: memoryStore(), logger: quiet, onTaskFailure })
    assert.equal((await refusal(() => crew.kickoff({ id: 'r' }))).code, 'TIME_EXHAUSTED')
    const inner = new Task({ name: 'inner', crew: crew.with({}) })
    const outer = new Crew({ name: 'outer', tasks: [inner], store: memoryStore(), logger: quiet, onTaskFailure })
    assert.equal((await refusal(() => outer.kickoff({ id: 'r' }))).code, 'TIME_EXHAUSTED')
  })

  test('continues without a task whose answer, turns or time are used up', async () => {
    const look = tool({ name: 'look', description: 'Look', effect: 'read', input: z.object({}), run: () => 'seen' })
    const model = scriptedModel([
      { when: 'Task: Endless', calls: [{ tool: 'look', input: {} }], repeat: true },
      { when: 'Task: Refused', reply: 'no' },
      { when: 'Task: Good', reply: 'good' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model, maxIterations: 2 })
    const endless = new Task({ name: 'endless', description: 'Endless', agent, tools: [look] })
    const refused = new Task({ name: 'refused', description: 'Refused', agent, guardrails: [() => 'bad'], retries: 1 })
    const slow = new Task({
      name: 'slow',
      effect: 'read',
      maxSeconds: 0.01,
      run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const good = new Task({ name: 'good', description: 'Good', agent })
    const tasks = [endless, refused, slow, good]
    const crew = new Crew({ name: 'worn', tasks, store: memoryStore(), logger: quiet, onTaskFailure })
    const result = await crew.kickoff()
    assert.deepEqual(
      result.failures.map(({ error }) => error.code),
      ['ITERATIONS_EXHAUSTED', 'OUTPUT_REFUSED', 'TIME_EXHAUSTED'],
    )
    assert.equal(result.raw, 'good')
  })

  test('returns the last existing output as its result, and none if every task failed', async () => {
    const { crew, broken } = crewOf({ a: {}, b: {} })
    broken.add('b')
    assert.equal((await crew.kickoff({ id: 'r' })).raw, 'a()')
    assert.equal((await crew.run('r').view()).raw, 'a()')
    broken.add('a')
    const none = await crew.kickoff({ id: 's' })
    assert.deepEqual([none.status, none.raw, none.output, none.failures.length], ['completed', '', undefined, 2])
  })

  test('lets a manager delegate the other tasks', async () => {
    const model = scriptedModel([
      { when: 'Task: One', error: 'no power' },
      { when: 'Task: Two', reply: 'two is done' },
    ])
    const agents = [new Agent({ role: 'Clerk', goal: 'g', model })]
    const tasks = ['One', 'Two'].map((text) => new Task({ name: text, description: text, context: [] }))
    const crew = new Crew({
      name: 'managed',
      tasks,
      agents,
      process: 'hierarchical',
      manager: model,
      store: memoryStore(),
      logger: quiet,
      onTaskFailure,
    })
    const result = await crew.kickoff()
    assert.deepEqual(
      result.failures.map(({ task }) => task),
      ['One'],
    )
    assert.equal(result.raw, 'two is done')
  })

  test('logs each failure as a warning', async () => {
    const warned: string[] = []
    const { crew, broken } = crewOf(chain, { logger: { info() {}, warn: (words) => warned.push(words) } })
    broken.add('b')
    await crew.kickoff({ id: 'r' })
    assert.deepEqual(warned, ['run r: task b failed: no b; the run continues without it'])
  })

  test('keeps a failure under the new name of its task, even if it stops at failures by now', async () => {
    const { crew, broken } = crewOf({ a: {}, b: {}, c: { context: ['b'] }, d: {} })
    broken.add('b')
    const { store } = await crew['~open'].engine()
    await crew.kickoff({ id: 'r', through: 'c' })
    const renamed = crewOf({ a: {}, bb: {}, c: {}, d: {} }, { store, onTaskFailure: 'stop' })
    const result = await renamed.crew.resume('r', { renamed: { b: 'bb' } })
    assert.deepEqual(told(result), [{ task: 'bb', message: 'no b', skipped: ['c'] }])
    assert.deepEqual(renamed.calls, ['d'])
    assert.equal(result.raw, 'd(a without bb c)')
  })

  test('omits the failed tasks of the earlier run in the trials of a backtest', async () => {
    const { crew, broken, calls } = crewOf(chain)
    broken.add('b')
    await crew.kickoff({ id: 'r' })
    calls.length = 0
    const { cases } = await crew.backtest('f')
    assert.deepEqual(calls, ['f'])
    assert.equal(cases[0]?.new?.raw, 'f(a d without b c e)')
  })

  test('accepts only the values of its option', () => {
    assert.throws(
      () => crewOf(chain, { onTaskFailure: 'ignore' as never }),
      /onTaskFailure of crew "items" is "ignore"; give 'stop' or 'continue'/,
    )
  })
})

describe('a nested crew', () => {
  const outer = (inner: Crew, policy: 'stop' | 'continue', store: Store): Crew => {
    const sub = new Task({ name: 'sub', crew: inner })
    const needs = new Task({ name: 'needs', version: '1', effect: 'read', run: () => 'needs', context: [sub] })
    const last = new Task({
      name: 'last',
      version: '1',
      effect: 'read',
      run: ({ missing }) => `last ${missing.join()}`,
    })
    return new Crew({ name: 'outer', tasks: [sub, needs, last], store, logger: quiet, onTaskFailure: policy })
  }

  test('that fails is a failed task of an outer crew that continues', async () => {
    const store = newStore()
    const { crew: inner, broken } = crewOf({ a: {}, b: {} }, { onTaskFailure: 'stop' })
    broken.add('a')
    const result = await outer(inner, 'continue', store).kickoff({ id: 'r' })
    assert.deepEqual(told(result), [{ task: 'sub', message: 'its task a failed: no a', skipped: ['needs'] }])
    assert.equal(result.raw, 'last sub,needs')
    assert.equal((await stateOf(store, 'r/sub#1')).status, 'failed')
  })

  test('that continues without a task tells the outer crew, whatever that one does', async () => {
    const store = newStore()
    const { crew: inner, broken } = crewOf(chain)
    broken.add('b')
    const crew = outer(inner, 'stop', store)
    const result = await crew.kickoff({ id: 'r' })
    assert.deepEqual(told(result), [{ task: 'sub/b', message: 'no b', skipped: ['sub/c', 'sub/e'] }])
    assert.equal(result.task('sub').raw, 'f(a d without b c e)')
    assert.equal(result.raw, 'last ')
    const [summary] = await Array.fromAsync(crew.runs())
    assert.deepEqual([summary?.done, summary?.failed, summary?.total], [3, 1, 3])
    await assert.rejects(crew.fork({ retry: 'failed' }), {
      code: 'OPTION_INVALID',
      message: /only sub\/b failed, within a nested crew whose output is kept; .* crew\.run\('r'\)\.replay\('sub'\)/,
    })
  })
})

describe('the output of a nested crew that continued without a task', () => {
  const stage = async () => {
    const { crew: inner, broken } = crewOf(chain)
    const sub = new Task({ name: 'sub', crew: inner })
    const last = new Task({ name: 'last', version: '1', effect: 'read', run: () => 'last' })
    const crew = new Crew({ name: 'outer', tasks: [sub, last], store: newStore(), logger: quiet })
    broken.add('b')
    await crew.kickoff({ id: 'r' })
    return { crew, broken }
  }

  test('takes its failures along to a run that inherits it', async () => {
    const { crew } = await stage()
    const replayed = await crew.replay('last', { id: 's' })
    const missing = [{ task: 'sub/b', message: 'no b', skipped: ['sub/c', 'sub/e'] }]
    assert.deepEqual(told(replayed), missing)
    const [summary] = await Array.fromAsync(crew.runs())
    assert.equal(summary?.failed, 1)
    assert.deepEqual(told(await crew.refresh({ runId: 's' })), missing)
    await crew.run('r').delete()
    await assert.rejects(crew.fork({ runId: 's', retry: 'failed' }), { message: /only sub\/b failed/ })
    assert.deepEqual((await crew.fork({ runId: 's', outputs: { sub: 'mine' } })).failures, [])
  })

  test('is not reused by another kickoff', async () => {
    const { crew, broken } = await stage()
    broken.clear()
    const statusOf = async (id: string): Promise<string | undefined> => {
      await crew.kickoff({ id, reuse: true })
      return (await crew.run(id).view()).tasks[0]?.status
    }
    assert.equal(await statusOf('s'), 'executed')
    assert.equal(await statusOf('t'), 'inherited', 'a complete one is')
  })
})

describe('a nested crew that fails', () => {
  test('is a failure of the outer crew wherever that is killed', async () => {
    const live = (at: string, store: Store) =>
      dieAt(store, { at }, (mortal) => {
        const { crew: inner, broken } = crewOf({ a: {}, b: {} }, { onTaskFailure: 'stop' })
        broken.add('b')
        const sub = new Task({ name: 'sub', crew: inner })
        const needs = new Task({ name: 'needs', version: '1', effect: 'read', run: () => 'needs', context: [sub] })
        const last = new Task({ name: 'last', version: '1', effect: 'read', run: () => 'last', context: [] })
        const tasks = [sub, needs, last]
        return new Crew({ name: 'outer', tasks, store: mortal, logger: quiet, onTaskFailure }).kickoff({ id: 'r' })
      })
    const { recorded } = await live('', newStore())
    assert.ok(recorded > 10)
    for (const moment of ['before', 'after'])
      for (let number = 1; number <= recorded; number++) {
        const at = `${moment}:${number}`
        const store = newStore()
        await live(at, store)
        const { lived: result } = await live('', store)
        assert.ok(result, at)
        assert.deepEqual(told(result), [{ task: 'sub', message: 'its task b failed: no b', skipped: ['needs'] }], at)
        assert.equal(result.raw, 'last', at)
      }
  })
})

describe('fork({ retry: "failed" })', () => {
  test('executes only the failed and the skipped tasks and what depends on them', async () => {
    const { crew, broken, calls } = crewOf({ ...chain, alone: { context: ['a'] } })
    broken.add('b')
    await crew.kickoff({ id: 'r' })
    calls.length = 0
    broken.clear()
    const plan = await crew.plan({ runId: 'r', retry: 'failed' })
    assert.deepEqual(
      plan.tasks.map(({ task, action }) => `${task} ${action}`),
      ['a inherit', 'b execute', 'c execute', 'd execute', 'e execute', 'f execute', 'alone inherit'],
    )
    const result = await crew.fork({ runId: 'r', id: 'again', retry: 'failed' })
    assert.deepEqual(calls, ['b', 'c', 'd', 'e', 'f'])
    assert.deepEqual(result.failures, [])
    assert.equal(result.task('f').raw, 'f(a b c d e)')
    // the same call once more is the same run; another one is refused
    assert.equal((await crew.fork({ runId: 'r', id: 'again', retry: 'failed' })).runId, 'again')
    assert.equal((await refusal(() => crew.fork({ runId: 'r', id: 'again', stale: 'keep' }))).code, 'INPUTS_DIFFER')
  })

  test('keeps what depends on a task that fails again', async () => {
    const { crew, broken, calls } = crewOf(chain)
    broken.add('b')
    await crew.kickoff({ id: 'r' })
    calls.length = 0
    const result = await crew.fork({ runId: 'r', retry: 'failed' })
    assert.deepEqual(calls, ['b'])
    assert.deepEqual(told(result), [{ task: 'b', message: 'no b', skipped: ['c', 'e'] }])
    assert.equal(result.raw, 'f(a d without b c e)')
    assert.deepEqual(
      result.plan?.map(({ outcome }) => outcome),
      ['inherited', 'failed', 'skipped', 'inherited', 'skipped', 'inherited'],
    )
  })

  test('leaves stale tasks alone, and is refused if nothing failed', async () => {
    const { crew, broken, calls } = crewOf({ a: {}, b: { context: [] } })
    broken.add('b')
    await crew.kickoff({ id: 'r', inputs: { topic: 'fire' } })
    calls.length = 0
    broken.clear()
    const result = await crew.fork({ runId: 'r', retry: 'failed', inputs: { topic: 'ice' } })
    assert.deepEqual(calls, ['b'])
    assert.equal(result.task('a').stale?.length, 1)
    const refused = await refusal(() => crew.fork({ runId: result.runId, retry: 'failed' }))
    assert.equal(refused.code, 'OPTION_INVALID')
    assert.match(refused.message, /no task of run .* failed/)
  })

  test('continues a run that failed as a whole from its failed task on', async () => {
    const { crew, broken, calls } = crewOf({ a: {}, b: {}, c: {} }, { onTaskFailure: 'stop' })
    broken.add('b')
    await refusal(() => crew.kickoff({ id: 'r' }))
    broken.clear()
    const result = await crew.fork({ runId: 'r', retry: 'failed' })
    assert.deepEqual(calls, ['a', 'b', 'b', 'c'])
    assert.equal(result.status, 'completed')
  })

  test('makes 2 of 20 items if the other 18 exist', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `item-${at + 1}`)
    const items = Object.fromEntries(names.map((name) => [name, { context: [] }]))
    const { crew, broken, calls } = crewOf(items, { process: 'parallel' })
    broken.add('item-4').add('item-17')
    const result = await crew.kickoff({ id: 'r' })
    assert.equal(result.status, 'completed')
    assert.equal(result.tasks.filter(({ raw }) => raw !== '').length, 18)
    assert.deepEqual(
      result.failures.map(({ task }) => task),
      ['item-4', 'item-17'],
    )
    calls.length = 0
    broken.clear()
    const again = await crew.fork({ runId: 'r', retry: 'failed' })
    assert.deepEqual(calls.toSorted(), ['item-17', 'item-4'])
    assert.equal(again.tasks.filter(({ raw }) => raw !== '').length, 20)
    assert.deepEqual(again.failures, [])
  })
})

describe('a run with a failing task among four', () => {
  const four = { a: {}, b: { context: ['a'] }, c: { context: ['b'] }, d: {} }

  test('ends the same wherever it is killed, and repeats no task whose end is recorded', async () => {
    const { lived: whole, recorded } = await fourAt('', memoryStore())
    assert.ok(whole && recorded >= 10)
    for (const moment of ['before', 'after'])
      for (let number = 1; number <= recorded; number++) {
        const at = `${moment}:${number}`
        const store = newStore()
        await fourAt(at, store)
        const before = (await store.row('r')) ? (await entriesOf(store, 'r')).length : 0
        const ended = await endedIn(store, before)
        const { lived: result } = await fourAt('', store)
        assert.equal(result?.status, 'completed', at)
        assert.deepEqual(told(result), told(whole), at)
        assert.deepEqual(rawsOf(result), rawsOf(whole), at)
        const later = (await entriesOf(store, 'r')).slice(before)
        const started = later.flatMap(({ type, path = '' }) => (type === 'task.started' ? [path.split('#')[0]] : []))
        assert.deepEqual(
          started.filter((name) => ended.has(name ?? '')),
          [],
          at,
        )
      }
  })

  function fourAt(at: string, store: Store) {
    return dieAt(store, { at }, (mortal) => {
      const { crew, broken } = crewOf(four, { store: mortal })
      broken.add('b')
      return crew.kickoff({ id: 'r' })
    })
  }

  async function endedIn(store: Store, count: number): Promise<Set<string>> {
    if (count === 0) return new Set()
    const { tasks } = await stateOf(store, 'r')
    const ended = [...tasks.values()].filter(({ status }) => ['completed', 'failed', 'skipped'].includes(status))
    return new Set(ended.map(({ name }) => name))
  }
})
