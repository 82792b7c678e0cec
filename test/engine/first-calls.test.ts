// The first call of a function task, which is recorded by the entries that start and complete the task, and what is
// recorded instead where that is not enough.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type CodeContext, type CodeTaskOptions, type CrewOptions } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import type { Entry, EntryOf } from '../../src/journal/entries.ts'
import { advance } from '../../src/crew/verbs/advance.ts'
import { queueRun } from '../../src/engine/run/create-run.ts'
import type { Store } from '../../src/stores/store.ts'
import { fakeTime } from '../crew/runs/fake-time.ts'
import { dyingRightAfter, entriesOf, newStore, stateOf } from './support.ts'

type Effect = NonNullable<CodeTaskOptions['effect']>
const effects = ['read', 'idempotent', 'once'] as const
const quiet = { info() {}, warn() {} }

/** A crew of one function, `pay`, which returns its number of calls. */
function paying(options: Partial<CodeTaskOptions> = {}, store: Store = newStore(), more: Partial<CrewOptions> = {}) {
  const keys: string[] = []
  const run = (context: CodeContext): unknown => {
    keys.push(context.idempotencyKey)
    return options.run ? options.run(context) : { paid: keys.length }
  }
  const pay = new Task({ name: 'pay', ...options, run })
  const crew = new Crew({ name: 'paying', tasks: [pay], store, logger: quiet, ...more })
  return { crew, store, keys }
}

/** The entries of the task, as their types, or all fields of one. */
async function recorded(store: Store, run = 'r'): Promise<string[]> {
  const entries = await entriesOf(store, run)
  return entries.filter(({ path }) => path !== undefined).map(({ type }) => type)
}

async function only<T extends Entry['type']>(store: Store, type: T): Promise<EntryOf<T>> {
  const found = (await entriesOf(store, 'r')).filter((entry) => entry.type === type)
  assert.equal(found.length, 1, type)
  return found[0] as EntryOf<T>
}

describe('a function task', () => {
  for (const effect of effects)
    test(`that is ${effect} and completed at once has two entries, which store its result once`, async () => {
      const { crew, store, keys } = paying({ effect })
      await crew.kickoff({ id: 'r' })
      assert.deepEqual(await recorded(store), ['task.started', 'task.completed'])
      const { call } = await only(store, 'task.started')
      assert.deepEqual([call?.effect, call?.idempotencyKey], [effect, keys[0]])
      const { returned, raw } = await only(store, 'task.completed')
      assert.deepEqual([returned, raw], [true, '{"paid":1}'])
      const { attempts } = await stateOf(store, 'r')
      const [made] = attempts.get('pay#1')?.turns[0]?.calls ?? []
      assert.deepEqual([made?.times, made?.outcome], [1, { result: { paid: 1 } }])
    })

  const notAtOnce: Record<string, { options: Partial<CodeTaskOptions>; error?: RegExp }> = {
    'a result that does not fit its schema': {
      options: { output: z.object({ paid: z.string() }) },
      error: /does not fit its schema/,
    },
    'a result that is not JSON': { options: { run: () => ({ at: 1n }) }, error: /is not JSON at pay\.at/ },
    'an error': {
      options: {
        run: () => {
          throw new Error('no money')
        },
      },
      error: /no money/,
    },
    'a result that a person reviews': { options: { humanInput: true } },
  }
  for (const effect of ['read', 'once'] as const)
    for (const [what, { options, error }] of Object.entries(notAtOnce))
      test(`that is ${effect} records ${what} by itself`, async () => {
        const { crew, store } = paying({ effect, ...options })
        const ended = crew.kickoff({ id: 'r' })
        if (error) await assert.rejects(ended, error)
        else assert.equal((await ended).status, 'suspended')
        const last = error ? 'task.failed' : 'question.asked'
        assert.deepEqual(await recorded(store), ['task.started', 'tool.returned', last])
        const { stack } = await only(store, 'tool.returned')
        assert.equal(stack !== undefined, what === 'an error')
        assert.equal((await only(store, 'task.started')).call?.effect, effect)
      })

  test('that a person approved completes with an entry that does not repeat what was returned', async () => {
    const { crew, store, keys } = paying({ humanInput: true })
    await crew.kickoff({ id: 'r', onQuestion: () => ({ decision: 'approve' }) } as never)
    assert.equal((await only(store, 'task.completed')).returned, undefined)
    assert.equal(keys.length, 1)
  })

  test('whose time is up is abandoned, and a once one is in doubt', async () => {
    for (const effect of ['read', 'once'] as const) {
      const { crew, store } = paying({ effect, maxSeconds: 0.01, run: () => new Promise(() => {}) })
      await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'TIME_EXHAUSTED' })
      assert.deepEqual(await recorded(store), ['task.started', 'tool.abandoned', 'task.failed'])
      const [made] = (await stateOf(store, 'r')).attempts.get('pay#1')?.turns[0]?.calls ?? []
      assert.deepEqual([made?.outcome, made?.effect], [undefined, effect])
    }
  })

  test('is not in doubt if the run was stopped between its entry and its call', async () => {
    const store = newStore()
    const stop = new AbortController()
    const stopping: Store = {
      ...store,
      async append(lease, after, batch) {
        const result = await store.append(lease, after, batch)
        if (batch.lines.some(({ bytes }) => Buffer.from(bytes).includes('"task.started"'))) stop.abort()
        return result
      },
    }
    const { crew, keys } = paying({ effect: 'once' }, store)
    await crew
      .with({ store: stopping })
      .kickoff({ id: 'r', signal: stop.signal })
      .catch(() => undefined)
    assert.equal(keys.length, 0)
    assert.equal((await only(store, 'tool.abandoned')).begun, false)
    const { call } = await only(store, 'task.started')
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(keys, [call?.idempotencyKey])
  })

  test('in a slice that is over is started by the next slice, and counts as its step', async () => {
    const time = fakeTime()
    const step = (name: string) => new Task({ name, effect: 'read', run: () => name })
    const crew = new Crew({ name: 'steps', tasks: ['a', 'b', 'c'].map(step), store: time.store, logger: quiet })
    const open = time.open(crew)
    await queueRun(await open.engine(), open.definition, { run: 'r', inputs: {} })
    const slices: string[][] = []
    for (let more = true; more;) {
      const before = (await recorded(time.store)).length
      more = (await advance(time.open(crew), 'r', { until: time.now })).status === 'more'
      slices.push((await recorded(time.store)).slice(before))
    }
    const one = ['task.started', 'task.completed']
    assert.deepEqual(slices, [one, one, one])
  })
})

describe('a function that was killed', () => {
  /** The process dies before anything else is written: right after the start, or when the function has returned. */
  async function killed(effect: Effect, when: 'before' | 'after', options: Partial<CodeTaskOptions>) {
    const scene = paying({ effect, ...options })
    const { crew, store } = scene
    const dying: Store =
      when === 'before'
        ? dyingRightAfter(store, 'task.started')
        : {
            ...store,
            append: (lease, after, batch) =>
              batch.lines.some(({ bytes }) => Buffer.from(bytes).includes('"task.completed"'))
                ? Promise.reject(new Error('the process is dead'))
                : store.append(lease, after, batch),
            release: async () => 0,
          }
    await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r' }), /the process is dead/)
    return { ...scene, calls: scene.keys.splice(0) }
  }

  for (const when of ['before', 'after'] as const) {
    const times = when === 'before' ? 0 : 1
    test(`${when} its call is in doubt if it is once, and is not called again if a person says that it happened`, async () => {
      const { crew, store, keys, calls } = await killed('once', when, {})
      assert.equal(calls.length, times)
      const waits = await crew.resume('r')
      const [question] = waits.questions
      assert.equal(question?.kind, 'doubt')
      assert.match(question.text, /^Did pay\(\{\}\) happen\? It was called at .* no result was recorded/)
      await crew.run('r').answer('q1', { decision: 'happened', result: 'as on paper' })
      assert.equal((await crew.resume('r')).task('pay').raw, 'as on paper')
      assert.equal(keys.length, 0)
      assert.equal((await only(store, 'tool.returned')).source, 'answered')
    })

    test(`${when} its call is called again with the same key if it is once and a person says so`, async () => {
      const { crew, store, keys } = await killed('once', when, {})
      await crew.resume('r')
      await crew.run('r').answer('q1', { decision: 'run' })
      assert.equal((await crew.resume('r')).status, 'completed')
      const { call } = await only(store, 'task.started')
      assert.deepEqual(keys, [call?.idempotencyKey])
      assert.equal((await only(store, 'tool.called')).allowedBy, 'q1')
    })

    test(`${when} its call is settled by its own code if it is once`, async () => {
      for (const happened of [true, false]) {
        const settled: string[] = []
        const settle = (key: string) => {
          settled.push(key)
          return happened ? { happened, result: 'paid before' } : { happened }
        }
        const { crew, store, keys } = await killed('once', when, { settle })
        const result = await crew.resume('r')
        const { call } = await only(store, 'task.started')
        assert.deepEqual(settled, [call?.idempotencyKey])
        assert.deepEqual(keys, happened ? [] : settled)
        assert.deepEqual(result.task('pay').output, happened ? 'paid before' : { paid: 1 })
      }
    })

    test(`${when} its call is called again if it is idempotent or read, with the same key`, async () => {
      for (const effect of ['idempotent', 'read'] as const) {
        const { crew, store, keys, calls } = await killed(effect, when, {})
        assert.equal((await crew.resume('r')).status, 'completed')
        assert.equal(keys.length, 1)
        const starts = (await entriesOf(store, 'r')).filter(({ type }) => type === 'task.started')
        assert.equal(starts.length, 1)
        if (calls.length > 0) assert.deepEqual(keys, calls)
        assert.equal((await stateOf(store, 'r')).attempts.get('pay#1')?.turns[0]?.calls[0]?.effect, effect)
      }
    })
  }
})

describe('a run that is made from another', () => {
  test('takes over the result of a once function, and its key for an idempotent one', async () => {
    const once = paying({ effect: 'once' })
    await once.crew.kickoff({ id: 'r' })
    await once.crew.replay('pay', { runId: 'r', id: 'f' })
    assert.equal(once.keys.length, 1)
    assert.deepEqual(await recorded(once.store, 'f'), ['task.started', 'tool.returned', 'task.completed'])
    const same = paying({ effect: 'idempotent' })
    await same.crew.kickoff({ id: 'r' })
    await same.crew.replay('pay', { runId: 'r', id: 'f' })
    assert.equal(same.keys.length, 2)
    assert.equal(new Set(same.keys).size, 1)
  })
})

describe('the step callback', () => {
  test('is called once for a function, by the path of its call, before its task callback', async () => {
    const heard: unknown[] = []
    const { crew, store } = paying({ effect: 'read' }, newStore(), {
      onStep: (step, { seq }) => void heard.push([step.path, step.kind === 'tool' && step.outcome, seq]),
      onTask: (_, { seq }) => void heard.push(['task', seq]),
    })
    await crew.kickoff({ id: 'r' })
    const { seq } = await only(store, 'task.completed')
    assert.deepEqual(heard, [
      ['pay#1/1.0', { result: { paid: 1 } }, seq],
      ['task', seq],
    ])
  })

  test('is called again after a crash before it returned, and what it throws names the call', async () => {
    let broken = true
    let heard = 0
    const { crew, keys } = paying({ effect: 'once' }, newStore(), {
      onStep: () => {
        heard += 1
        if (broken) throw new Error('deaf')
      },
    })
    await assert.rejects(crew.kickoff({ id: 'r' }), {
      code: 'CALLBACK_FAILED',
      message: /onStep at pay#1\/1\.0 threw: deaf/,
    })
    broken = false
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual([heard, keys.length], [2, 1])
  })
})

test('a function that kicks off a crew records its completion with its result, and its runs apart', async () => {
  const store = newStore()
  const model = scriptedModel([{ when: '', reply: 'one' }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'say', description: 'Say', agent })], store })
  const { crew } = paying({ effect: 'read', run: async () => String(await inner.kickoff()) }, store)
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'one')
  const own = (await entriesOf(store, 'r')).filter(({ path }) => path === 'pay#1').map(({ type }) => type)
  assert.deepEqual(own, ['task.started', 'task.completed'])
  assert.equal((await stateOf(store, 'r')).tasks.get('pay')?.output?.usage.calls, 1)
})

test('a function that kicks off a crew with another store names that run in its completion', async () => {
  const store = newStore()
  const model = scriptedModel([{ when: '', reply: 'one' }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const say = new Task({ name: 'say', description: 'Say', agent })
  const inner = new Crew({ name: 'inner', tasks: [say], store: newStore(), logger: quiet })
  const { crew } = paying({ effect: 'read', run: async () => String(await inner.kickoff({ id: 'i' })) }, store)
  await crew.kickoff({ id: 'r' })
  const { returned, uncounted } = await only(store, 'task.completed')
  assert.equal(returned, true)
  assert.equal(uncounted?.length, 1)
  assert.deepEqual((await stateOf(store, 'r')).tasks.get('pay')?.output?.uncounted, uncounted)
})
