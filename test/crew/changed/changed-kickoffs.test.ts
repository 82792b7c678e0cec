// Functions that kick crews off, whose code changed between two lives: a recorded `once` call of a kickoff is found under every name,
// and where the code kicks it off no more, a person is asked before another one is made.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dieAt } from '../../crash/mortal.ts'
import { newStore } from '../../engine/support.ts'

interface Code {
  /** The name of the function, and its earlier name. */
  readonly name?: string
  readonly was?: string
  /** What it kicks off, in this order. */
  readonly items?: readonly string[]
  readonly inner?: string
  readonly innerTask?: string
  readonly kind?: 'function' | 'crew'
}

const quiet = { info() {}, warn() {} }

function stage() {
  const store = newStore()
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ item: z.string() }),
    run: ({ item }) => `paid ${(paid.push(item), item)}`,
  })
  const model = scriptedModel(
    ['a', 'b', 'c'].flatMap((item) => [
      { when: `Task: Pay ${item}`, after: 0, calls: [{ tool: 'pay', input: { item } }] },
      { when: `Task: Pay ${item}`, reply: `done ${item}` },
    ]),
  )
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [pay] })
  const code = ({
    name = 'all',
    was,
    items = ['a', 'b'],
    inner = 'inner',
    innerTask = 'p',
    kind = 'function',
  }: Code) => {
    const task = new Task({ name: innerTask, description: 'Pay {item}', agent })
    const payer = new Crew({ name: inner, tasks: [task], logger: quiet })
    const named = { name, ...(was === undefined ? {} : { was }) }
    const all =
      kind === 'crew'
        ? new Task({ ...named, crew: payer, inputs: { item: 'a' } })
        : new Task({
            ...named,
            effect: 'idempotent',
            async run() {
              const done: string[] = []
              for (const item of items) done.push(String(await payer.kickoff({ inputs: { item } })))
              return done
            },
          })
    return new Crew({ name: 'outer', tasks: [all], store, logger: quiet })
  }
  /** Ends the first life when the first payment is on record. */
  const diesPaid = async (first: Code) => {
    for (let entry = 6; paid.length === 0; entry++) {
      await store.delete('r').catch(() => undefined)
      await dieAt(store, { at: `after:${entry}` }, (mortal) => code(first).with({ store: mortal }).kickoff({ id: 'r' }))
    }
  }
  return { code, paid, diesPaid }
}

describe('a function that kicks off crews and is called again', () => {
  test('repeats no payment and asks nobody when its code is as it was', async () => {
    const { code, paid, diesPaid } = stage()
    await diesPaid({})
    const result = await code({}).resume('r')
    // the call that was cut off may be in doubt; no other one is
    assert.ok(result.status === 'completed' || result.questions.every(({ kind }) => kind === 'doubt'))
    assert.equal(new Set(paid).size, paid.length)
  })

  const changes: { readonly [change: string]: Code } = {
    'its function is renamed, and the crew that it kicks off': { name: 'every', was: 'all', inner: 'payer' },
    'the crew that it kicks off is renamed': { inner: 'payer' },
    'it kicks off something else first': { items: ['c', 'a', 'b'] },
  }
  for (const [change, edited] of Object.entries(changes))
    test(`makes no payment unasked when ${change}`, async () => {
      const { code, paid, diesPaid } = stage()
      await diesPaid({})
      const before = [...paid]
      const result = await code(edited).resume('r')
      assert.equal(result.status, 'suspended')
      assert.ok(result.questions.every(({ id }) => id.startsWith(edited.name ?? 'all')))
      assert.deepEqual(paid, before)
    })

  test('makes no payment unasked when it was a nested crew that had paid', async () => {
    const { code, paid, diesPaid } = stage()
    await diesPaid({ kind: 'crew', items: ['a'] })
    const asFunction = code({ items: ['a'] })
    await assert.rejects(asFunction.resume('r'), { code: 'TASKS_CHANGED' })
    assert.equal((await asFunction.resume('r', { removed: ['all'] })).status, 'suspended')
    assert.deepEqual(paid, ['a'])
  })

  test('names the command of its own run when a task of what it kicked off is orphaned', async () => {
    const { code, diesPaid } = stage()
    await diesPaid({})
    const edited = code({ innerTask: 'q' })
    const refused = await edited.resume('r').catch((error: unknown) => error)
    assert.match(String(refused), /TASKS_CHANGED|has no task for: p/)
    const { next } = refused as { next: { runId: string; renamed?: { [task: string]: string } } }
    assert.equal(next.runId, 'r')
    const [address = ''] = Object.keys(next.renamed ?? {})
    assert.match(address, /^all\/inner-.*\/p$/)
    assert.notEqual((await edited.resume('r', { renamed: next.renamed ?? {} })).status, undefined)
  })
})
