// People act on a run during its execution and around its end: no message is lost, and no entry follows the end of a
// run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type Tool } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { inDoubt, payment } from './payments.ts'
import { entriesOf, newStore, oneTask, stateOf } from './support.ts'

/** A tool that the test holds: `called` resolves when it is called, and `end` lets it return. */
function heldTool(): { held: Tool; called: Promise<void>; end: () => void } {
  const called = Promise.withResolvers<void>()
  const end = Promise.withResolvers<string>()
  const held = tool({
    name: 'held',
    description: 'Held',
    effect: 'read',
    input: z.object({}),
    run() {
      called.resolve()
      return end.promise
    },
  })
  return { held: held, called: called.promise, end: () => end.resolve('held back') }
}

/** Tasks a and b; b calls the held tool. */
function twoTasks(held: Tool, store: Store = newStore()) {
  const model = scriptedModel([
    { when: 'Task: First', reply: 'first' },
    { when: 'Task: Second', after: 0, calls: [{ tool: 'held', input: {} }] },
    { when: 'Task: Second', after: 1, reply: 'second' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [held] })
  const a = new Task({ name: 'a', description: 'First', agent })
  const b = new Task({ name: 'b', description: 'Second', agent })
  const logger = { info: () => {}, warn: () => {} }
  return { crew: new Crew({ name: 'two', tasks: [a, b], store, logger }), store, model }
}

const lastTypes = async (store: Store, count: number): Promise<string[]> =>
  (await entriesOf(store, 'r')).slice(-count).map((entry) => entry.type)

describe('between the last look at the inbox and the end of a run,', () => {
  /** Calls `act` right before the run completes, after the last look at its inbox. */
  function atTheEnd(inner: Store, act: () => Promise<unknown>): Store {
    let acted = false
    return {
      ...inner,
      async append(lease, after, batch) {
        if (batch.row?.status === 'completed' && !acted) {
          acted = true
          await act()
        }
        return inner.append(lease, after, batch)
      },
    }
  }

  test('a cancellation is in time, and the run never completes', async () => {
    const store = newStore()
    const { held, end } = heldTool()
    end()
    const { crew } = twoTasks(held, store)
    const late = crew.with({ store: atTheEnd(store, () => crew.run('r').cancel()) })
    await assert.rejects(late.kickoff({ id: 'r' }), { code: 'RUN_CANCELLED' })
    assert.deepEqual(await lastTypes(store, 2), ['task.completed', 'run.cancelled'])
  })

  test('an edit is in time, and the journal reads back as it was written', async () => {
    const store = newStore()
    const { held, end } = heldTool()
    end()
    const { crew } = twoTasks(held, store)
    const late = crew.with({ store: atTheEnd(store, () => crew.run('r').edit('a', 'edited')) })
    const result = await late.kickoff({ id: 'r' })
    assert.equal(result.task('a').raw, 'edited')
    const entries = await entriesOf(store, 'r')
    assert.deepEqual(
      entries.slice(-3).map(({ type }) => type),
      ['task.completed', 'task.edited', 'run.completed'],
    )
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      entries.map((_, index) => index + 1),
    )
    // the chain of hashes holds: it is completed and needs nothing
    assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
  })

  test('an invalidated task is executed again before the run completes', async () => {
    const store = newStore()
    const { held, end } = heldTool()
    end()
    const { crew, model } = twoTasks(held, store)
    const late = crew.with({ store: atTheEnd(store, () => crew.run('r').invalidate('a')) })
    assert.equal((await late.kickoff({ id: 'r' })).status, 'completed')
    assert.equal(model.calls.filter(({ lastMessage }) => lastMessage.includes('Task: First')).length, 2)
  })
})

describe('during the last task,', () => {
  test('an edit of an earlier output is recorded before the run completes', async () => {
    const { held, called, end } = heldTool()
    const { crew } = twoTasks(held)
    const run = await crew.kickoff({ id: 'r' }).started
    await called
    await crew.run('r').edit('a', 'edited')
    end()
    const result = await run.result()
    assert.equal(result.task('a').raw, 'edited')
    assert.deepEqual(
      result.stale.map(({ task }) => task),
      ['b'],
    )
  })

  test('an invalidated earlier task is executed again before the run completes', async () => {
    const { held, called, end } = heldTool()
    const { crew, model } = twoTasks(held)
    const run = await crew.kickoff({ id: 'r' }).started
    await called
    await crew.run('r').invalidate('a')
    end()
    const result = await run.result()
    assert.equal(result.status, 'completed')
    assert.equal(result.task('a').raw, 'first')
    assert.equal(model.calls.filter((call) => /Task: First/.test(call.lastMessage)).length, 2)
  })

  test('a cancellation records a waiting edit as withdrawn, and a second cancellation', async () => {
    const { held, called } = heldTool()
    const { crew, store } = twoTasks(held)
    const run = await crew.kickoff({ id: 'r' }).started
    await called
    const told = [
      crew.run('r').edit('a', 'edited'),
      crew.run('r').cancel({ by: 'ada' }),
      crew.run('r').cancel({ by: 'bob' }),
    ]
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
    const settled: PromiseSettledResult<void>[] = await Promise.allSettled(told)
    const inTime = settled.filter((result) => result.status === 'fulfilled').length
    const entries = await entriesOf(store, 'r')
    const refusals = entries.flatMap((entry) => (entry.type === 'message.refused' ? [entry.reason] : []))
    // one of them is the cancellation itself
    assert.deepEqual(refusals, Array(inTime - 1).fill('the run was cancelled first'))
    assert.deepEqual(
      entries.filter(({ type }) => type === 'run.cancelled').map((entry) => entry === entries.at(-1)),
      [true],
    )
    assert.deepEqual(await store.inbox('r'), [])
  })

  test('a cancellation ends the run at once, and no entry follows it', async () => {
    const { held, called } = heldTool()
    const { crew, store } = twoTasks(held)
    const run = await crew.kickoff({ id: 'r' }).started
    await called
    await crew.run('r').cancel({ by: 'ada' })
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
    assert.deepEqual(await lastTypes(store, 2), ['tool.called', 'run.cancelled'])
    for await (const event of run.events()) assert.ok('seq' in event)
  })

  test('an answer recorded while another call runs is used, and the run does not stop for it', async () => {
    const { held, end } = heldTool()
    const pay = payment({ maxSeconds: 0.01, run: () => new Promise(() => {}) })
    const calls = [
      { tool: 'pay', input: { amount: 5 } },
      { tool: 'held', input: {} },
    ]
    const script = [
      { when: 'Do it', after: 0, calls },
      { when: 'Do it', after: 2, reply: 'ok' },
    ]
    const { crew } = oneTask({ tools: [pay, held], script })
    const run = await crew.kickoff({ id: 'r' }).started
    for await (const entry of run.events()) {
      if (entry.type === 'question.asked')
        await crew.run('r').answer(entry.question.id, { decision: 'happened', result: 'yes' })
      if (entry.type === 'question.answered') end()
    }
    assert.equal(String(await run.result()), 'ok')
  })
})

describe('around the end of a run,', () => {
  /** A store that does something right before a batch with this type of entry is written. */
  function just(inner: Store, type: string, before: () => Promise<unknown>): Store {
    return {
      ...inner,
      async append(lease, after, batch) {
        if (batch.lines.some((line) => Buffer.from(line.bytes).includes(`"type":"${type}"`))) await before()
        return inner.append(lease, after, batch)
      },
    }
  }
  const once = (work: () => Promise<unknown>) => {
    let done: Promise<unknown> | undefined
    return () => (done ??= work())
  }

  test('an edit that comes as the run completes is refused, and leaves the run as it was', async () => {
    const store = newStore()
    const { crew } = oneTask({ script: [{ when: 'Do it', reply: 'done' }], store })
    const edits: Promise<unknown>[] = []
    const raced = just(
      store,
      'run.completed',
      once(
        async () =>
          void edits.push(
            crew
              .run('r')
              .edit('job', 'edited')
              .catch((error: unknown) => error),
          ),
      ),
    )
    await crew.with({ store: raced }).kickoff({ id: 'r' })
    await Promise.all(edits)
    assert.deepEqual(await lastTypes(store, 1), ['run.completed'])
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done')
  })

  test('a cancellation that comes as the run is suspended is not lost', async () => {
    const { held } = heldTool()
    const { crew, store } = twoTasks(held)
    const suspending = just(
      store,
      'run.suspended',
      once(() => crew.run('r').cancel()),
    )
    await assert.rejects(crew.with({ store: suspending }).kickoff({ id: 'r', through: 'a' }), { code: 'RUN_CANCELLED' })
    assert.equal((await stateOf(store, 'r')).status, 'cancelled')
  })

  test('a simultaneous cancellation and stop leave a cancelled run', async () => {
    const { held, called } = heldTool()
    const { crew, store } = twoTasks(held)
    const stop = new AbortController()
    const run = await crew.kickoff({ id: 'r', signal: stop.signal }).started
    await called
    const cancelled = crew.run('r').cancel()
    stop.abort()
    await run.result().catch(() => {})
    await cancelled
    assert.deepEqual(await lastTypes(store, 1), ['run.cancelled'])
  })

  test('cancel of a started run ends it even if it is suspended by now', async () => {
    const { held } = heldTool()
    const { crew, store } = twoTasks(held)
    const run = await crew.kickoff({ id: 'r', through: 'a' }).started
    await run.result()
    await run.cancel()
    assert.equal((await stateOf(store, 'r')).status, 'cancelled')
  })

  test('the events of a suspended run end, after an answer too', async () => {
    const { crew } = await inDoubt(payment())
    await crew.resume('r')
    await crew.run('r').answer('q1', { decision: 'run' })
    const types: string[] = []
    for await (const { type } of crew.run('r').events()) types.push(type)
    assert.equal(types.at(-1), 'question.answered')
  })

  test('a lease that cannot be released does not undo a completed run', async () => {
    const store = newStore()
    const { crew } = oneTask({ script: [{ when: 'Do it', reply: 'done' }], store })
    const stuck = { ...store, release: () => Promise.reject(new Error('no connection')) }
    assert.equal((await crew.with({ store: stuck }).kickoff()).status, 'completed')
  })
})

describe('the inbox', () => {
  test('with an unknown message does not stop the run, and is emptied', async () => {
    const { held, end } = heldTool()
    end()
    const { crew, store } = twoTasks(held)
    await crew.kickoff({ id: 'r', through: 'a' })
    await store.post('r', { id: 'x', at: new Date().toISOString(), body: '{"kind":"sing"}' })
    await store.post('r', { id: 'y', at: new Date().toISOString(), body: 'no JSON' })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(await store.inbox('r'), [])
    const refused = (await entriesOf(store, 'r')).flatMap((entry) =>
      entry.type === 'message.refused' ? [entry.message] : [],
    )
    assert.deepEqual(refused, ['x', 'y'])
  })

  test('that cannot be read once is read again, so that a cancellation arrives', async () => {
    const { held, called } = heldTool()
    const store = newStore()
    let broken = 0
    const flaky = {
      ...store,
      async inbox(run: string) {
        const messages = await store.inbox(run)
        if (messages.length > 0 && broken++ === 0) throw new Error('no connection')
        return messages
      },
    }
    const { crew } = twoTasks(held, flaky)
    const run = await crew.kickoff({ id: 'r' }).started
    await called
    await crew.run('r').cancel()
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
    assert.ok(broken > 1)
  })

  test('of a run of another crew, or of newer code, is left alone', async () => {
    const { crew, store } = oneTask({ script: [{ when: 'Do it', reply: 'done' }] })
    const stranger = new Crew({ name: 'stranger', tasks: crew.tasks, store })
    await crew.kickoff({ id: 'r' }).started.then((run) => run.result())
    await assert.rejects(stranger.run('r').cancel(), { code: 'RUN_NOT_FOUND', message: /belongs to crew engine/ })
    await assert.rejects(stranger.run('r').edit('job', 'x'), { code: 'RUN_NOT_FOUND' })
  })
})

test('a cancellation does not wait for an inline answer', async () => {
  const { crew, store } = await inDoubt(payment())
  const asked = Promise.withResolvers<void>()
  const resumed = crew.resume('r', {
    onQuestion() {
      asked.resolve()
      return new Promise(() => {})
    },
  })
  await asked.promise
  await crew.run('r').cancel()
  await assert.rejects(resumed, { code: 'RUN_CANCELLED' })
  assert.equal((await stateOf(store, 'r')).status, 'cancelled')
})

test('an edited task no longer needs answers', async () => {
  const { crew } = await inDoubt(payment())
  await crew.resume('r')
  await crew.run('r').edit('job', 'done by hand')
  const result = await crew.resume('r')
  assert.equal(String(result), 'done by hand')
  assert.deepEqual(result.questions, [])
})

test('a task with a returned answer starts over if it is invalidated', async () => {
  const model = scriptedModel([{ when: 'Do it', reply: 'no JSON' }])
  const agent = new Agent({ role: 'W', goal: 'g', model })
  const job = new Task({ name: 'job', description: 'Do it', agent, output: z.object({ n: z.number() }), retries: 1 })
  const store = newStore()
  const crew = new Crew({ name: 'c', tasks: [job], store })
  const dying = {
    ...store,
    async append(...args: Parameters<Store['append']>) {
      const waiting = await store.append(...args)
      if (args[2].lines.some(({ bytes }) => Buffer.from(bytes).includes('guardrail.judged'))) throw new Error('dead')
      return waiting
    },
    release: async () => 0,
  }
  await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r' }))
  await crew.run('r').invalidate('job')
  await assert.rejects(crew.resume('r'), { code: 'OUTPUT_REFUSED' })
  const attempts = [...(await stateOf(store, 'r')).attempts.values()].map((attempt) => attempt.carries?.path)
  assert.deepEqual(attempts, [undefined, undefined, 'job#2'])
})

test('polling a waiting run does not count as a life without progress', async () => {
  const { crew } = await inDoubt(payment())
  for (let poll = 0; poll < 7; poll++) assert.equal((await crew.kickoff({ id: 'r' })).questions.length, 1)
  await crew.run('r').answer('q1', { decision: 'run' })
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'paid')
})

test('a task that is executed again withdraws its questions, and a later answer is refused with that reason', async () => {
  const { crew, store } = await inDoubt(payment())
  await crew.resume('r')
  await crew.run('r').invalidate('job')
  await assert.rejects(crew.run('r').answer('q1', { decision: 'run' }), {
    code: 'QUESTION_NOT_FOUND',
    message: /withdrawn/,
  })
  assert.equal((await stateOf(store, 'r')).questions.get('q1')?.withdrawn, true)
})

test('a cancellation that the store could not record is not reported as one', async () => {
  const { held, called } = heldTool()
  const inner = newStore()
  const store: Store = {
    ...inner,
    async append(lease, after, batch) {
      if (batch.lines.some(({ bytes }) => Buffer.from(bytes).includes('run.cancelled')))
        throw new Error('no connection')
      return inner.append(lease, after, batch)
    },
  }
  const { crew } = twoTasks(held, store)
  const run = await crew.kickoff({ id: 'r' }).started
  await called
  await crew.run('r').cancel()
  await assert.rejects(run.result(), { code: 'STORE_FAILED', message: /no connection/ })
})

test('a schema that never resolves is cut off by a cancellation', async () => {
  const asked = Promise.withResolvers<void>()
  const slow = z.object({ n: z.number() }).refine(() => {
    asked.resolve()
    return new Promise<boolean>(() => {})
  })
  const agent = new Agent({ role: 'W', goal: 'g', model: scriptedModel([{ when: 'Do it', reply: { n: 1 } }]) })
  const crew = new Crew({
    name: 'c',
    tasks: [new Task({ name: 'job', description: 'Do it', agent, output: slow })],
    store: newStore(),
  })
  const run = await crew.kickoff({ id: 'r' }).started
  await asked.promise
  await crew.run('r').cancel()
  await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
})

test('messages of two people at the same moment are both recorded', async () => {
  const { held } = heldTool()
  const { crew, store } = twoTasks(held)
  await crew.kickoff({ id: 'r', through: 'a' })
  await Promise.all([
    crew.run('r').edit('a', 'edited', { by: 'ada' }),
    crew.run('r').edit('a', 'edited', { by: 'bob' }),
  ])
  assert.deepEqual(await lastTypes(store, 2), ['task.edited', 'task.edited'])
  assert.deepEqual(await store.inbox('r'), [])
})

test('the person whose cancellation was recorded by another is not told that it was too late', async () => {
  const { crew, store } = await inDoubt(payment())
  await crew.resume('r')
  // Bob comes right after Ada, and records both messages
  const adas: Store = {
    ...store,
    async post(run, message) {
      const posted = await store.post(run, message)
      await crew.run('r').cancel({ by: 'bob' })
      return posted
    },
  }
  await crew.with({ store: adas }).run('r').cancel({ by: 'ada' })
  const last = (await entriesOf(store, 'r')).at(-1)
  assert.deepEqual(last?.type === 'run.cancelled' && last.by, 'ada')
})
