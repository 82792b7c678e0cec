// Functions that kick off crews and whose code changed between two lives: a recorded `once` call of a kickoff is found
// under every name, and if the code no longer kicks it off, a person is asked before another call is made.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type Effect } from 'reprise'
import { z } from 'zod'
import { defined } from '../../../src/base/options.ts'
import { readRun } from '../../../src/read/read-run.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dieAt } from '../../crash/mortal.ts'
import { newStore } from '../../engine/support.ts'

interface Code {
  /** The name of the function, and its earlier name. */
  readonly name?: string
  readonly was?: string
  /** The kickoffs of the function, in order. */
  readonly items?: readonly string[]
  readonly inner?: string
  readonly innerTask?: string
  readonly innerWas?: string
  /** What the task pays. Default: its item. */
  readonly pays?: string
  readonly kind?: 'function' | 'crew'
  /** The declared effect of paying. */
  readonly effect?: Effect
  /** Whether the function makes all kickoffs at once, and catches their failures. */
  readonly catching?: boolean
  /** A function task before it, which makes the kickoffs instead. */
  readonly movedTo?: string
}

const quiet = { info() {}, warn() {} }

function stage() {
  const store = newStore()
  const paid: string[] = []
  const payAs = (effect: Effect) =>
    tool({
      name: 'pay',
      description: 'Pay',
      input: z.object({ item: z.string() }),
      effect,
      run: ({ item }) => `paid ${(paid.push(item), item)}`,
    })
  const model = scriptedModel(
    ['a', 'b', 'c'].flatMap((item) => [
      { when: `Task: Pay ${item}`, after: 0, calls: [{ tool: 'pay', input: { item } }] },
      { when: `Task: Pay ${item}`, reply: `done ${item}` },
    ]),
  )
  const code = ({
    name = 'all',
    was,
    items = ['a', 'b'],
    inner = 'inner',
    innerTask = 'p',
    innerWas,
    pays = '{item}',
    kind = 'function',
    effect = 'once',
    catching = false,
    movedTo,
  }: Code) => {
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [payAs(effect)] })
    const task = new Task({
      name: innerTask,
      ...defined({ was: innerWas }),
      description: `Pay ${pays} ({item})`,
      agent,
    })
    const payer = new Crew({ name: inner, tasks: [task], logger: quiet })
    const named = { name, ...defined({ was }) }
    const run = async (): Promise<string[]> => {
      const kickoff = async (item: string): Promise<string> => String(await payer.kickoff({ inputs: { item } }))
      if (catching) return Promise.all(items.map((item) => kickoff(item).catch(() => 'no result')))
      const done: string[] = []
      for (const item of items) done.push(await kickoff(item))
      return done
    }
    const all =
      kind === 'crew'
        ? new Task({ ...named, crew: payer, inputs: { item: 'a' } })
        : new Task({ ...named, effect: 'idempotent', run: movedTo === undefined ? run : async () => [] })
    const moved = movedTo === undefined ? [] : [new Task({ name: movedTo, effect: 'idempotent', run })]
    return new Crew({ name: 'outer', tasks: [...moved, all], store, logger: quiet })
  }
  /** Ends the first life when the first payment is recorded. */
  const diesPaid = async (first: Code) => {
    for (let entry = 6; paid.length === 0; entry++) {
      await store.delete('r').catch(() => undefined)
      await dieAt(store, { at: `after:${entry}` }, (mortal) => code(first).with({ store: mortal }).kickoff({ id: 'r' }))
    }
  }
  /** Ends the first life when its first kickoff is completed. */
  const diesBetween = async (first: Code) => {
    const isCompleted = async (): Promise<boolean> => {
      const { attempts } = (await readRun(store, 'r')).state
      return [...attempts.values()].some(({ child, status }) => child !== undefined && status === 'completed')
    }
    await diesPaid(first)
    for (let entry = 1; !(await isCompleted()); entry++)
      await dieAt(store, { at: `after:${entry}` }, (mortal) => code(first).with({ store: mortal }).resume('r'))
  }
  return { store, code, paid, diesPaid, diesBetween }
}

describe('a changed function that kicks off crews and is called again', () => {
  test('repeats no payment and asks no question if its code is unchanged', async () => {
    const { code, paid, diesPaid } = stage()
    await diesPaid({})
    const result = await code({}).resume('r')
    // only the call that was interrupted may be in doubt
    assert.ok(result.status === 'completed' || result.questions.every(({ kind }) => kind === 'doubt'))
    assert.equal(new Set(paid).size, paid.length)
  })

  const changes: { readonly [change: string]: Code } = {
    'its function is renamed, and the crew that it kicks off': { name: 'every', was: 'all', inner: 'payer' },
    'the crew that it kicks off is renamed': { inner: 'payer' },
    'it kicks off something else first': { items: ['c', 'a', 'b'] },
    'its kickoffs move to a function before it': { movedTo: 'first' },
  }
  for (const [change, edited] of Object.entries(changes))
    test(`makes no payment without asking when ${change}`, async () => {
      const { code, paid, diesPaid } = stage()
      await diesPaid({})
      const before = [...paid]
      const result = await code(edited).resume('r')
      assert.equal(result.status, 'suspended')
      assert.ok(result.questions.every(({ id }) => id.startsWith(edited.movedTo ?? edited.name ?? 'all')))
      assert.deepEqual(paid, before)
    })

  test('makes no payment without asking when the task of a completed kickoff is gone', async () => {
    const { code, paid, diesBetween } = stage()
    await diesBetween({})
    assert.deepEqual(paid, ['a'])
    const result = await code({ items: ['a', 'c'], innerTask: 'q', pays: 'a' }).resume('r')
    assert.equal(result.status, 'suspended')
    assert.deepEqual(
      result.questions.map(({ kind }) => kind),
      ['call'],
    )
    assert.deepEqual(paid, ['a'])
  })

  for (const kind of ['function', 'crew'] as const)
    test(`makes no payment without asking when its ${kind} is replaced and paying is declared harmless`, async () => {
      const { code, paid, diesPaid } = stage()
      await diesPaid({ kind, items: ['a'] })
      const edited = code({ kind, items: ['a'], name: 'every', effect: 'read' })
      const result = await edited.resume('r', { removed: ['all'] })
      assert.equal(result.status, 'suspended')
      assert.deepEqual(paid, ['a'])
    })

  test('is not blocked by an orphaned task of a run that it no longer kicks off', async () => {
    const { code, paid, diesPaid } = stage()
    await diesPaid({})
    await assert.rejects(code({ innerTask: 'q' }).resume('r'), { code: 'TASKS_CHANGED' })
    const result = await code({ innerTask: 'q', inner: 'payer' }).resume('r')
    assert.equal(result.status, 'suspended')
    assert.deepEqual(
      result.questions.map(({ kind }) => kind),
      ['call'],
    )
    assert.deepEqual(paid, ['a'])
  })

  test('makes no payment without asking when a nested crew had paid', async () => {
    const { code, paid, diesPaid } = stage()
    await diesPaid({ kind: 'crew', items: ['a'] })
    const asFunction = code({ items: ['a'] })
    await assert.rejects(asFunction.resume('r'), { code: 'TASKS_CHANGED' })
    assert.equal((await asFunction.resume('r', { removed: ['all'] })).status, 'suspended')
    assert.deepEqual(paid, ['a'])
  })

  for (const catching of [false, true])
    describe(`whose kickoffs have an orphaned task${catching ? ', and which catches every rejection' : ''}`, () => {
      const edited = { innerTask: 'q', catching }

      test("leaves the run parked with the task's address in a worker", async () => {
        const { code, paid, diesPaid } = stage()
        await diesPaid({ catching })
        const before = [...paid]
        const crew = code(edited)
        const [resumed] = await crew.resumeAll()
        assert.equal(resumed?.status, 'waiting')
        const view = await crew.run('r').view()
        assert.equal(view.status, 'stopped')
        assert.match(view.why ?? '', /no task for: all\/inner-\w+\/p /)
        assert.ok(view.orphaned.every(({ task, nearest }) => /^all\/inner-\w+\/p$/.test(task) && nearest === 'q'))
        const [check] = await Array.fromAsync(crew.check())
        assert.equal(check?.outcome, 'orphaned')
        const plan = await crew.plan({ of: 'resume', runId: 'r' })
        assert.deepEqual(plan.orphaned, view.orphaned)
        assert.deepEqual(paid, before)
      })

      test('refuses a resume, and continues with the decision that the error names', async () => {
        const { code, paid, diesPaid } = stage()
        await diesPaid({ catching })
        const crew = code(edited)
        const refused = await crew.resume('r').catch((error: unknown) => error)
        assert.equal((refused as { code: string }).code, 'TASKS_CHANGED')
        const { next } = refused as { next: { runId: string; renamed: { [task: string]: string } } }
        assert.equal(next.runId, 'r')
        assert.match(Object.keys(next.renamed).join(), /^all\/inner-\w+\/p/)
        const result = await crew.resume('r', { renamed: next.renamed })
        assert.ok(result.status === 'completed' || result.questions.every(({ kind }) => kind === 'doubt'))
        assert.equal(new Set(paid).size, paid.length)
      })

      test('continues without a decision if the code declares what the task was', async () => {
        const { code, paid, diesPaid } = stage()
        await diesPaid({ catching })
        await code(edited).resumeAll()
        const crew = code({ ...edited, innerWas: 'p' })
        await crew.run('r').requeue()
        await crew.resumeAll()
        const { orphaned, questions } = await crew.run('r').view()
        assert.deepEqual(orphaned, [])
        assert.ok(questions.every(({ kind }) => kind === 'doubt'))
        assert.equal(new Set(paid).size, paid.length)
      })
    })

  test('refuses decisions about tasks that its kickoffs lack, and names the tasks that they have', async () => {
    const { store, code, paid, diesPaid } = stage()
    await diesPaid({})
    const crew = code({ innerTask: 'q' })
    const refused = await crew.resume('r').catch((error: unknown) => error)
    const [address = ''] = Object.keys((refused as { next: { renamed?: object } }).next.renamed ?? {})
    const kickoff = address.slice(0, -'/p'.length)
    const recorded = async (): Promise<number> => (await readRun(store, 'r')).state.seq
    const before = await recorded()
    const unknown = { code: 'OPTION_INVALID', message: new RegExp(`${kickoff}/zzz.*${address}`) }
    await assert.rejects(crew.resume('r', { removed: [`${kickoff}/zzz`] }), unknown)
    await assert.rejects(crew.resume('r', { renamed: { [`${kickoff}/zzz`]: 'q' } }), unknown)
    await assert.rejects(crew.resume('r', { removed: [`${kickoff}/zzz/kickoff/p`] }), unknown)
    const noTask = {
      code: 'OPTION_INVALID',
      message: new RegExp(`no task ${kickoff} in progress; it has ${kickoff}/…`),
    }
    await assert.rejects(crew.resume('r', { removed: [kickoff] }), noTask)
    assert.equal(await recorded(), before)
    const wrongName = { code: 'OPTION_INVALID', message: new RegExp(`${kickoff}.*zzz.*q`) }
    await assert.rejects(crew.resume('r', { renamed: { [address]: 'zzz' } }), wrongName)
    const view = await crew.run('r').view()
    assert.equal(view.status, 'stopped')
    assert.deepEqual(
      view.orphaned.map(({ task }) => task),
      [address],
    )
    assert.equal(new Set(paid).size, paid.length)
    assert.notEqual((await crew.resume('r', { renamed: { [address]: 'q' } })).status, undefined)
    assert.equal(new Set(paid).size, paid.length)
  })
})

test('a resume that decides about one of two orphaned tasks of a kickoff names both, and the view still shows both', async () => {
  const store = newStore()
  const paid: string[] = []
  const crewOf = (names: readonly string[], on = store) => {
    const tasks = names.map((name, at) => new Task({ name, run: () => `paid ${paid.push(`item ${at}`)}` }))
    const last = new Task({ name: 'last', run: () => 'done' })
    const inner = new Crew({ name: 'inner', tasks: [...tasks, last], logger: quiet })
    const all = new Task({ name: 'all', effect: 'idempotent', run: async () => String(await inner.kickoff()) })
    return new Crew({ name: 'outer', tasks: [all], store: on, logger: quiet })
  }
  for (let entry = 6; paid.length < 2; entry++) {
    await store.delete('r').catch(() => undefined)
    paid.length = 0
    await dieAt(store, { at: `after:${entry}` }, (mortal) => crewOf(['invoice', 'letter'], mortal).kickoff({ id: 'r' }))
  }
  const crew = crewOf(['invoices', 'letters'])
  const orphans = async (): Promise<string[]> =>
    (await crew.run('r').view()).orphaned.map(({ task }) => task.split('/').at(-1) ?? '')
  await assert.rejects(crew.resume('r'), { code: 'TASKS_CHANGED' })
  assert.deepEqual(await orphans(), ['invoice', 'letter'])
  const [first = ''] = (await crew.run('r').view()).orphaned.map(({ task }) => task)
  const refused = await crew.resume('r', { renamed: { [first]: 'invoices' } }).catch((error: unknown) => error)
  assert.deepEqual(await orphans(), ['invoice', 'letter'])
  const { facts, next } = refused as { facts: string; next: { renamed: { [task: string]: string } } }
  assert.doesNotMatch(facts, new RegExp(`${first} \\(`))
  assert.deepEqual(Object.values(next.renamed), ['invoices', 'letters'])
  await crew.resume('r', { renamed: next.renamed })
  assert.equal(paid.length, 2)
})

test('a stale task of a kicked-off run is warned about, without a command that only its own crew could execute', async () => {
  const store = newStore()
  const warnings: string[] = []
  const logger = { ...quiet, warn: (words: string) => void warnings.push(words) }
  let paid = 0
  const ended: string[] = []
  const crewOf = (pays: { readonly name: string; readonly was?: string }, on = store) => {
    const pay = new Task({ ...pays, run: () => `paid ${++paid}` })
    const look = new Task({ name: 'look', effect: 'read', context: [pay], run: () => 'seen' })
    const end = new Task({ name: 'end', effect: 'read', run: () => ended.push('end') })
    const inner = new Crew({ name: 'inner', tasks: [pay, look, end], logger })
    const all = new Task({ name: 'all', effect: 'idempotent', run: async () => String(await inner.kickoff()) })
    return new Crew({ name: 'outer', tasks: [all], store: on, logger: quiet })
  }
  for (let entry = 3; ended.length === 0; entry++) {
    await store.delete('r').catch(() => undefined)
    paid = 0
    await dieAt(store, { at: `after:${entry}` }, (mortal) => crewOf({ name: 'pay' }, mortal).kickoff({ id: 'r' }))
  }
  await crewOf({ name: 'paid', was: 'pay' }).resume('r')
  assert.equal(paid, 1)
  const stale = warnings.filter((words) => words.includes('task look is stale'))
  assert.equal(stale.length, 1)
  assert.doesNotMatch(stale.join(), /refresh/)
})
