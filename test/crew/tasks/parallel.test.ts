// Parallel tasks: async tasks in a sequential crew, and crews whose tasks start as soon as their context is there.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type CrewOptions, type TaskView } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, dyingStore, entriesOf, orDeath, stateOf } from '../../engine/support.ts'

/** A model whose answers wait until the test lets them go. */
function gated(script: readonly ScriptEntry[] = []) {
  const model = scriptedModel([...script, { when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} done` }])
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const gate = (name: string) => {
    const known = gates.get(name) ?? Promise.withResolvers<void>()
    gates.set(name, known)
    return known
  }
  const under = new Set<string>()
  const released = new Set<string>()
  let most = 0
  const watchers: (() => void)[] = []
  const changed = (): void => watchers.splice(0).forEach((wake) => wake())
  type Request = Parameters<typeof model.doGenerate>[0]
  const behindGate = async <T>(request: Request, answer: () => PromiseLike<T>): Promise<T> => {
    const name = /Task: (\w+)/.exec(JSON.stringify(request.prompt))?.[1] ?? ''
    under.add(name)
    most = Math.max(most, under.size)
    changed()
    try {
      await Promise.race([
        gate(name).promise,
        new Promise((_, reject) => request.abortSignal?.addEventListener('abort', () => reject(new Error('aborted')))),
      ])
      return await answer()
    } finally {
      under.delete(name)
      changed()
    }
  }
  const waiting: typeof model = {
    ...model,
    doGenerate: (request) => behindGate(request, () => model.doGenerate(request)),
    // a run with a listener streams
    doStream: (request) => behindGate(request, () => model.doStream(request)),
  }
  return {
    model: waiting,
    calls: model.calls,
    /**
     * Waits until exactly these tasks are active. Throws if another task that the test has not let go is active too.
     */
    async underWay(...names: string[]) {
      while ([...under].toSorted().join() !== names.toSorted().join()) {
        const others = [...under].filter((name) => !names.includes(name) && !released.has(name))
        assert.ok(others.length === 0 || names.some((name) => !under.has(name)), `${others.join()} is active too`)
        await new Promise<void>((resolve) => watchers.push(resolve))
      }
    },
    /** The most tasks that were active at the same time. */
    most: () => most,
    let(...names: string[]) {
      for (const name of names) {
        released.add(name)
        gate(name).resolve()
      }
    },
  }
}

type Shape = { readonly [name: string]: { readonly context?: readonly string[]; readonly async?: boolean } }

function crewOf(shape: Shape, model: ReturnType<typeof gated>['model'], options: Partial<CrewOptions> = {}) {
  const agent = new Agent({ role: 'A', goal: 'g', model, maxRetries: 0 })
  const tasks: Task[] = []
  for (const [name, { context, async = false }] of Object.entries(shape)) {
    const listed = context && { context: tasks.filter((task) => context.includes(task.name)) }
    tasks.push(new Task({ name, description: `${name} it`, agent, async, ...listed }))
  }
  return new Crew({ name: 'beside', tasks, store: memoryStore(), logger: { info() {}, warn() {} }, ...options })
}

const diamond: Shape = { a: { context: [] }, b: { context: ['a'] }, c: { context: ['a'] }, d: { context: ['b', 'c'] } }

describe('a parallel crew', () => {
  test('starts each task as soon as its context is there', async () => {
    const gates = gated()
    const crew = crewOf(diamond, gates.model, { process: 'parallel' })
    const run = await crew.kickoff({ id: 'r' }).started
    await gates.underWay('a')
    gates.let('a')
    await gates.underWay('b', 'c')
    gates.let('c')
    await gates.underWay('b')
    gates.let('b', 'd')
    const result = await run.result()
    assert.deepEqual(
      result.tasks.map(({ raw }) => raw),
      ['a done', 'b done', 'c done', 'd done'],
    )
  })

  test('has no more active tasks than its concurrency', async () => {
    const gates = gated()
    const free: Shape = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { context: [] }]))
    const run = await crewOf(free, gates.model, { process: 'parallel', concurrency: 2 }).kickoff().started
    await gates.underWay('a', 'b')
    gates.let('a')
    await gates.underWay('b', 'c')
    gates.let('b', 'c', 'd')
    const { tasks } = await run.result()
    assert.equal(tasks.length, 4)
    assert.equal(gates.most(), 2)
  })

  test('passes a task only what its context lists, whatever is done by then', async () => {
    const gates = gated()
    gates.let('a', 'b', 'c', 'd')
    await crewOf(diamond, gates.model, { process: 'parallel' }).kickoff()
    const last = gates.calls.find(({ lastMessage }) => lastMessage.startsWith('Task: d'))
    assert.match(last?.lastMessage ?? '', /b done[\s\S]*c done/)
    assert.doesNotMatch(last?.lastMessage ?? '', /a done/)
  })

  test('finishes the current steps when a task fails, starts nothing new, and continues when resumed', async () => {
    const store = memoryStore()
    const failing = gated([{ when: 'Task: b', error: 'no power' }])
    const crew = crewOf(diamond, failing.model, { process: 'parallel', store })
    const run = await crew.kickoff({ id: 'r' }).started
    failing.let('a')
    await failing.underWay('b', 'c')
    failing.let('b')
    await failing.underWay('c')
    failing.let('c')
    await assert.rejects(run.result(), { code: 'MODEL_FAILED', task: 'b', message: /no power/ })
    const healthy = gated()
    healthy.let('a', 'b', 'c', 'd')
    const later = await crewOf(diamond, healthy.model, { process: 'parallel', store }).resume('r')
    assert.equal(later.status, 'completed')
    // c was paid for and recorded
    assert.deepEqual(
      healthy.calls.map(({ lastMessage }) => /Task: (\w)/.exec(lastMessage)?.[1]),
      ['b', 'd'],
    )
  })

  test('that is stopped waits for no task, and records the position of each', async () => {
    const gates = gated()
    const controller = new AbortController()
    const store = memoryStore()
    const crew = crewOf(diamond, gates.model, { process: 'parallel', store })
    const run = await crew.kickoff({ id: 'r', signal: controller.signal }).started
    gates.let('a')
    await gates.underWay('b', 'c')
    controller.abort()
    assert.equal((await run.result()).status, 'suspended')
    const started = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'task.started')
    assert.deepEqual(started.map(({ path }) => `${path}`).toSorted(), ['a#1', 'b#1', 'c#1'])
    gates.let('b', 'c', 'd')
    assert.equal(String(await crew.resume('r')), 'd done')
  })

  test('ends the same after a crash at any append', async () => {
    await atEveryAppend(async (dying) => {
      const store = memoryStore()
      const gates = gated()
      gates.let('a', 'b', 'c', 'd')
      const options = { process: 'parallel' } as const
      await orDeath(crewOf(diamond, gates.model, { ...options, store: dying(store) }).kickoff({ id: 'r' }))
      const result = await crewOf(diamond, gates.model, { ...options, store }).kickoff({ id: 'r' })
      assert.equal(String(result), 'd done')
      const replies = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'model.replied')
      assert.deepEqual(replies.map(({ path }) => `${path}`).toSorted(), ['a#1/1', 'b#1/1', 'c#1/1', 'd#1/1'])
    })
  })

  test('with an open question continues its other branches, and uses the answer while they run', async () => {
    const ask = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => 'paid' })
    const gates = gated([
      { when: 'Task: b', calls: [{ tool: 'pay', input: {} }] },
      { when: 'Task: b', reply: 'b done' },
    ])
    const store = memoryStore()
    const agent = new Agent({ role: 'A', goal: 'g', model: gates.model, tools: [ask] })
    const a = new Task({ name: 'a', description: 'a it', agent, context: [] })
    const b = new Task({ name: 'b', description: 'b it', agent, context: [] })
    const crew = new Crew({ name: 'beside', tasks: [a, b], store, process: 'parallel' })
    gates.let('b')
    // the first life dies inside of the call
    const dying = dyingStore(store, (types) => types.includes('tool.called'))
    const first = crew.with({ store: dying }).kickoff({ id: 'r' })
    await assert.rejects(first)
    const run = await crew.kickoff({ id: 'r' }).started
    const asked = Promise.withResolvers<string>()
    void (async () => {
      for await (const entry of run.events()) if (entry.type === 'question.asked') asked.resolve(entry.question.id)
    })()
    const question = await asked.promise
    await gates.underWay('a')
    await crew.run('r').answer(question, { decision: 'happened', result: 'paid' })
    for await (const entry of crew.run('r').events()) {
      if (entry.type === 'task.completed' && entry.path === 'b#1') break
    }
    gates.let('a')
    assert.equal((await run.result()).status, 'completed')
  })
})

describe('an async task', () => {
  const shape: Shape = { a: { async: true }, b: { context: [] }, c: { context: [] }, d: {} }

  test('runs beside the following tasks until one needs it', async () => {
    const gates = gated()
    const run = await crewOf(shape, gates.model).kickoff().started
    await gates.underWay('a', 'b')
    gates.let('b')
    await gates.underWay('a', 'c')
    gates.let('c')
    await gates.underWay('a')
    gates.let('a')
    await gates.underWay('d')
    gates.let('d')
    assert.equal(String(await run.result()), 'd done')
  })

  test('that no task needs is awaited at the end', async () => {
    const gates = gated()
    const run = await crewOf({ a: { async: true }, b: { context: [] } }, gates.model).kickoff().started
    gates.let('b')
    await gates.underWay('a')
    gates.let('a')
    const result = await run.result()
    assert.equal(result.task('a').raw, 'a done')
  })

  test('that fails fails the run and is named, and what ran beside it is kept', async () => {
    const gates = gated([{ when: 'Task: a', error: 'no power' }])
    const store = memoryStore()
    const run = await crewOf(shape, gates.model, { store }).kickoff({ id: 'r' }).started
    await gates.underWay('a', 'b')
    gates.let('a')
    await gates.underWay('b')
    gates.let('b')
    await assert.rejects(run.result(), { code: 'MODEL_FAILED', task: 'a' })
    const kept = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'model.replied')
    assert.deepEqual(
      kept.map(({ path }) => path),
      ['b#1/1'],
    )
  })

  test('that is finished is not executed again after a crash, and explicit contexts stay as they are', async () => {
    const store = memoryStore()
    const gates = gated()
    gates.let('a', 'b', 'c', 'd')
    const dying = dyingStore(store, (types) => types.includes('task.completed'))
    await assert.rejects(crewOf(shape, gates.model, { store: dying }).kickoff({ id: 'r' }))
    await crewOf(shape, gates.model, { store }).resume('r')
    const replies = (await entriesOf(store, 'r'))
      .filter((entry) => entry.type === 'model.replied')
      .map(({ path }) => path)
    assert.equal(new Set(replies).size, replies.length)
    const c = gates.calls.find(({ lastMessage }) => lastMessage.startsWith('Task: c'))
    assert.doesNotMatch(c?.lastMessage ?? '', /done/)
  })
})

test('an edit of a task waits until no task is active, and is then used by later tasks', async () => {
  const gates = gated()
  const store = memoryStore()
  const crew = crewOf(diamond, gates.model, { process: 'parallel', store })
  const run = await crew.kickoff({ id: 'r' }).started
  gates.let('a')
  await gates.underWay('b', 'c')
  await crew.run('r').edit('b', 'my b')
  gates.let('b', 'c', 'd')
  const result = await run.result()
  assert.equal(result.task('b').status, 'edited')
  const d = gates.calls.find(({ lastMessage }) => lastMessage.startsWith('Task: d'))
  assert.match(d?.lastMessage ?? '', /my b/)
})

describe('a task that ends while a callback takes its time', () => {
  /** a and b side by side, then c; the callback of a returns when b is completed. */
  function slowly(store: Store) {
    const told: string[] = []
    const gates = gated()
    const shape: Shape = { a: { context: [] }, b: { context: [] }, c: { context: ['b'] } }
    const onTask = async ({ name }: TaskView): Promise<void> => {
      if (name === 'a') {
        gates.let('b')
        for await (const _ of store.watch('r', new AbortController().signal)) {
          if ((await stateOf(store, 'r')).tasks.get('b')?.status === 'completed') break
        }
      }
      told.push(name)
    }
    return { crew: crewOf(shape, gates.model, { process: 'parallel', store, onTask }), gates, told }
  }

  test('is passed to callbacks too, and what depends on it is executed', async () => {
    const { crew, gates, told } = slowly(memoryStore())
    gates.let('a', 'c')
    const result = await crew.kickoff({ id: 'r' })
    assert.equal(String(result), 'c done')
    assert.deepEqual(told, ['a', 'b', 'c'])
  })

  test('does not end the run while a person’s edit waits', async () => {
    const { crew, gates } = slowly(memoryStore())
    const run = await crew.kickoff({ id: 'r' }).started
    await gates.underWay('a', 'b')
    await crew.run('r').edit('c', 'my c')
    gates.let('a', 'c')
    const result = await run.result()
    assert.equal(result.status, 'completed')
    assert.equal(result.task('c').raw, 'my c')
  })

  test('fails the run if it failed', async () => {
    const store = memoryStore()
    const { crew, gates } = slowly(store)
    const broken = { ...gates.model, doGenerate: gates.model.doGenerate }
    const run = await crew
      .with({
        model: {
          ...broken,
          async doGenerate(request: Parameters<typeof broken.doGenerate>[0]) {
            const reply = await broken.doGenerate(request)
            if (JSON.stringify(request.prompt).includes('Task: c')) throw new Error('no power')
            return reply
          },
        },
      })
      .kickoff({ id: 'r' }).started
    gates.let('a', 'c')
    await assert.rejects(run.result(), { code: 'MODEL_FAILED', task: 'c' })
  })
})
