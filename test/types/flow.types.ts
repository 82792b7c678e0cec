// What the compiler knows about flows. It is compiled with all other tests, and never executed.
import { Agent, Crew, Flow, Task, tool, type FlowRun } from 'reprise'
import { z } from 'zod'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._: Equal<A, B> extends true ? [] : ['types differ', A, B]): void => {}

const agent = new Agent({ role: 'Writer', goal: 'Write about {topic}' })
const crew = new Crew({
  name: 'crew',
  tasks: [
    new Task({ name: 'plan', description: 'Plan {topic} for {reader}', agent }),
    new Task({ name: 'score', description: 'Score', agent, output: z.object({ score: z.number() }) }),
  ],
})
const refund = tool({
  name: 'refund',
  description: 'Refund',
  input: z.object({ cents: z.number() }),
  run: ({ cents }) => ({ cents, at: new Date() }),
})

export const book = new Flow({
  name: 'book',
  inputs: z.object({ topic: z.string(), rounds: z.coerce.number().default(3) }),
  async run(flow) {
    same<typeof flow.inputs, { topic: string; rounds: number }>()

    const made = await flow.step('make', () => ({ at: new Date(), big: [1, 2] as const, none: undefined }))
    same<typeof made.at, string>()
    same<(typeof made.big)[1], 2>()

    // in a list, JSON has null for undefined
    const gaps = await flow.step('gaps', () => [new Date(), undefined])
    same<typeof gaps, (string | null)[]>()

    const parsed = await flow.step('parse', { output: z.object({ at: z.coerce.date() }) }, () => 'anything')
    same<typeof parsed, { at: Date }>()

    const given = await flow.step('given', { input: { id: 'c7' }, effect: 'read' }, ({ id }, { idempotencyKey }) => [
      id,
      idempotencyKey,
    ])
    same<typeof given, string[]>()

    const child = await flow.run(crew, { topic: 'bees', reader: 'all' }, { key: 1 })
    same<typeof child.output, { score: number }>()
    // @ts-expect-error -- an input is missing
    await flow.run(crew, { topic: 'bees' })
    // @ts-expect-error -- an input that the crew does not have
    await flow.run(crew, { topic: 'bees', reader: 'all', writer: 'x' })

    const verdict = await flow.run(agent, 'Is it good?', {
      inputs: { topic: 'x' },
      output: z.object({ ok: z.boolean() }),
    })
    same<typeof verdict.output, { ok: boolean }>()
    // @ts-expect-error -- the goal of the agent needs a topic
    await flow.run(agent, 'Is it good?')

    const refunded = await flow.run(refund, { cents: 5 })
    same<typeof refunded, { cents: number; at: string }>()
    // @ts-expect-error -- cents is a number
    await flow.run(refund, { cents: '5' })

    const text = await flow.ask('who', 'Who?')
    same<typeof text, string>()
    const yes = await flow.ask('sure', 'Sure?', z.boolean())
    same<typeof yes, boolean>()
    const late = await flow.ask('late', 'Sure?', z.boolean(), { timeout: { hours: 1 } })
    same<typeof late, boolean | undefined>()
    const event = await flow.event('go', z.object({ n: z.number() }), { key: 'x' })
    same<typeof event, { n: number }>()
    // @ts-expect-error -- a duration, not a number
    await flow.sleep('nap', 5)
    if (event.n > 3) return flow.again({ topic: 'again' })
    // @ts-expect-error -- rounds can be turned into a number, topic cannot be left out
    if (event.n > 5) return flow.again({ rounds: 3 })
    return { text, when: new Date() }
  },
})

export async function kickoff(): Promise<void> {
  const result = await book.kickoff({ inputs: { topic: 'bees' } })
  if (result.status === 'completed') same<typeof result.output, { text: string; when: string }>()
  // @ts-expect-error -- the topic is missing
  await book.kickoff({ inputs: { rounds: 3 } })
  await book.run('r').replay('any step')
  const none = new Flow({ name: 'none', run: async (run: FlowRun) => run.runId })
  await none.kickoff()
}
