// Chains of runs, each forked from the previous one with changed code, inputs and options, by processes that die in
// between. Compared with a fresh kickoff of the same code and inputs, with the plan, with the number of once calls, and
// with the bytes of all earlier runs.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Agent, Crew, Task, tool, type ForkOptions, type ConditionContext } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dyingStore } from '../../engine/support.ts'
import { isFull } from '../../support/full.ts'
import { bytesOf } from './diamond.ts'

interface Definition {
  readonly order: readonly number[]
  readonly texts: readonly number[]
  /** Null: all earlier tasks. */
  readonly context: readonly (readonly number[] | null)[]
  readonly conditions: readonly boolean[]
  /** Number of different answers of a task. With one, its output always comes out equal. */
  readonly answers: readonly number[]
  readonly pays: readonly boolean[]
}

const numbers = [0, 1, 2, 3, 4]
const pick = (text: string, of: number): number => (createHash('sha256').update(text).digest()[0] as number) % of

/** A crew with a deterministic model: an answer depends on the prompt only. */
function crewOf(definition: Definition, store: Store, paid: string[]) {
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ what: z.string() }),
    run: ({ what }, { task }) => `paid ${paid.push(`${task} ${what}`) > 0}`,
  })
  const model = scriptedModel([
    {
      when: (text) => /Task: T\d PAY/.test(text) && !text.includes('paid'),
      calls: [{ tool: 'pay', input: { what: 'x' } }],
    },
    {
      when: 'Task:',
      reply(text) {
        const [, asked = '', number = '0'] = /Task: (T(\d)[^\n]*)/.exec(text) ?? []
        const seen = text.replaceAll(/paid true|pay\(.*?\)/g, '')
        return `${asked.slice(0, 2)}=${pick(seen, definition.answers[Number(number)] ?? 1)}`
      },
    },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks: Task[] = []
  for (const number of definition.order) {
    const listed = definition.context[number]
    const context = listed ? { context: tasks.filter(({ name }) => listed.includes(Number(name.slice(1)))) } : {}
    const when = ({ outputs, inputs }: ConditionContext): boolean => pick(JSON.stringify([outputs, inputs]), 3) !== 0
    tasks.push(
      new Task({
        name: `t${number}`,
        description: `T${number}${definition.pays[number] ? ' PAY' : ''} v${definition.texts[number]} {in${number % 2}}`,
        agent,
        ...context,
        ...(definition.conditions[number] && tasks.length > 0 ? { when } : {}),
        ...(definition.pays[number] ? { tools: [pay] } : {}),
      }),
    )
  }
  // declared, since the texts may use only one of them
  const inputs = z.object({ in0: z.string(), in1: z.string() })
  return new Crew({ name: 'chain', tasks, inputs, store, logger: { info() {}, warn() {} } })
}

const each = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: numbers.length, maxLength: numbers.length })
const contexts = each(fc.oneof(fc.constant(null), fc.subarray(numbers)))
const orders = fc.shuffledSubarray(numbers, { minLength: 2 })
const definitions: fc.Arbitrary<Definition> = fc.record({
  order: orders,
  texts: each(fc.nat(1)),
  context: contexts,
  conditions: each(fc.boolean()),
  answers: each(fc.constantFrom(1, 2, 5)),
  pays: each(fc.boolean()),
})
const changes = fc.record({
  texts: fc.option(each(fc.nat(1))),
  context: fc.option(contexts, { freq: 3 }),
  order: fc.option(orders, { freq: 3 }),
  inputs: fc.option(fc.record({ in0: fc.constantFrom('a', 'b'), in1: fc.constantFrom('a', 'b') })),
  how: fc.constantFrom('refresh', 'replay', 'descendants', 'rerun'),
  at: fc.nat(),
  /** The append at which the process dies, if there are that many. */
  dies: fc.integer({ min: 1, max: 12 }),
})

type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never
const unchanged = { texts: null, context: null, order: null, inputs: null, at: 0, dies: 1 }
/** The replay inherits a condition's decision made with other inputs; the refresh after it must decide again. */
const keptCondition: [Definition, Change[]] = [
  {
    order: [4, 2, 1],
    texts: [0, 0, 0, 0, 0],
    context: [null, null, null, null, []],
    conditions: [false, false, true, false, false],
    answers: [1, 1, 1, 1, 1],
    pays: [false, false, false, false, false],
  },
  [
    { ...unchanged, inputs: { in0: 'a', in1: 'b' }, how: 'replay', at: 2 },
    { ...unchanged, how: 'refresh' },
  ],
]

test('a chain of forks equals fresh kickoffs, follows its plans, pays once, and changes no earlier run', async () => {
  await fc.assert(
    fc.asyncProperty(definitions, fc.array(changes, { minLength: 1, maxLength: 4 }), async (first, chain) => {
      const store = memoryStore()
      const paid: string[] = []
      let definition = first
      let inputs = { in0: 'a', in1: 'a' }
      await crewOf(definition, store, paid).kickoff({ id: 'r0', inputs })
      const bytes = new Map([['r0', await bytesOf(store, 'r0')]])
      for (const [index, change] of chain.entries()) {
        const { texts, context, order, how } = change
        definition = {
          ...definition,
          texts: texts ?? definition.texts,
          context: context ?? definition.context,
          order: order ?? definition.order,
        }
        inputs = change.inputs ?? inputs
        const from = `t${definition.order[change.at % definition.order.length]}`
        const wishes: { readonly [how: string]: Pick<ForkOptions, 'from' | 'only' | 'stale'> } = {
          replay: { from },
          descendants: { from, only: 'descendants' },
          rerun: { from, stale: 'rerun' },
        }
        const wish = wishes[how] ?? {}
        const plan = await crewOf(definition, store, paid).plan({ inputs, ...wish })
        let appends = 0
        // not at tool.called: the call would be in doubt, and a person would be asked
        const dies = (types: readonly string[]): boolean => !types.includes('tool.called') && ++appends === change.dies
        const call = { id: `r${index + 1}`, inputs, ...wish }
        await crewOf(definition, dyingStore(store, dies), paid)
          .fork(call)
          .catch((error: unknown) => assert.match(String(error), /the process is dead/))
        let result = await crewOf(definition, store, paid).fork(call)
        // a payment of a new task may repeat that of a removed task, so a person is asked
        while (result.status === 'suspended') {
          const [question] = result.questions
          assert.ok(question?.kind === 'call' && question.earlier.length > 0)
          await crewOf(definition, store, paid).run(result.runId).answer(question.id, { decision: 'approve' })
          result = await crewOf(definition, store, paid).fork(call)
        }
        assert.equal(result.status, 'completed')

        const planned = ({ task, action, unless }: (typeof plan.tasks)[number]) => ({ task, action, unless })
        assert.deepEqual(result.plan?.map(planned), plan.tasks.map(planned))
        for (const { task, action, unless, outcome } of result.plan ?? []) {
          if (action === 'inherit')
            assert.ok(outcome === 'inherited' || outcome === 'skipped', `${task} was ${outcome}`)
          else if (!unless) assert.ok(outcome === 'executed' || outcome === 'skipped', `${task} was ${outcome}`)
        }
        for (const [run, before] of bytes) assert.equal(await bytesOf(store, run), before)
        bytes.set(result.runId, await bytesOf(store, result.runId))
        if (how === 'refresh' || how === 'rerun') {
          const fresh = await crewOf(definition, memoryStore(), []).kickoff({ inputs })
          const shape = ({ name, raw, status }: (typeof fresh.tasks)[number]) => [name, raw, status === 'skipped']
          assert.deepEqual(result.tasks.map(shape), fresh.tasks.map(shape))
          assert.deepEqual(result.stale, [])
        }
        assert.equal(new Set(paid).size, paid.length, `paid twice: ${paid.join(', ')}`)
      }
    }),
    { numRuns: isFull ? 100 : 30, examples: [keptCondition] },
  )
})
