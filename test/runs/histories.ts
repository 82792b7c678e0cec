// Random histories of a crew with a nested crew: kills, questions, answers, edits, changed code and forks.
import fc from 'fast-check'
import { Agent, Crew, RepriseError, Task, tool, type Answer, type OpenQuestion } from 'reprise'
import { z } from 'zod'
import { readRunTree } from '../../src/runs/run-view.ts'
import type { Lease, Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

export interface Deed {
  readonly what: 'go on' | 'answer' | 'edit' | 'invalidate' | 'replay' | 'cancel' | 'deploy'
  /** The process dies with this append, which is written or not. */
  readonly dies: number
  readonly written: boolean
  /** Which run, task or decision, where there are several. */
  readonly choice: number
}

const kinds = [
  'go on',
  'go on',
  'go on',
  'answer',
  'answer',
  'edit',
  'invalidate',
  'replay',
  'deploy',
  'cancel',
] as const

export const deeds: fc.Arbitrary<Deed[]> = fc.array(
  fc.record({
    what: fc.constantFrom(...kinds),
    dies: fc.integer({ min: 1, max: 30 }),
    written: fc.boolean(),
    choice: fc.nat(20),
  }),
  { minLength: 3, maxLength: 10 },
)

export interface History {
  /** Does the next deed, whatever comes of it. */
  perform(deed: Deed): Promise<void>
  /** What has happened so far, in a store that has the same runs. */
  on(other: Store): History
}

/** One history on one store. */
export function history(store: Store, begun = { version: 1, runs: ['r0'] }): History {
  let { version } = begun
  const runs = [...begun.runs]
  const perform = async ({ what, dies, written, choice }: Deed): Promise<void> => {
    const run = runs[choice % runs.length] as string
    await using crew = claims(version, mortal(store, dies, written))
    switch (what) {
      case 'go on': {
        const through = choice % 7 === 6 ? { through: 'plan' } : {}
        const isThere = await store.row(run)
        return void (await (isThere ? crew.resume(run, through) : crew.kickoff({ id: run, ...through })))
      }
      case 'answer': {
        const { questions } = await readRunTree(store, run)
        const question = questions[choice % questions.length]
        return question && crew.run(run).answer(question.id, answerTo(question, choice))
      }
      case 'edit':
        return crew.run(run).edit(crew.tasks[choice % 3] as Task, 'by hand', { by: 'ada' })
      case 'invalidate':
        return crew.run(run).invalidate(crew.tasks[choice % 3] as Task)
      case 'replay': {
        const id = `r${runs.length}`
        if (await store.row(run)) runs.push(id)
        return void (await crew.replay(crew.tasks[choice % 3] as Task, { runId: run, id }))
      }
      case 'cancel':
        // seldom: what follows has nothing left to do
        return choice > 15 ? crew.run(run).cancel() : undefined
      case 'deploy':
        version++
    }
  }
  return {
    async perform(deed) {
      await perform(deed).catch((error: unknown) => {
        if (!RepriseError.isInstance(error)) throw error
      })
    },
    on: (other) => history(other, { version, runs }),
  }
}

/**
 * plan → settle, a crew of pay (once, with approval) and sum (which a person judges) → note. Versions differ in their
 * texts.
 */
function claims(version: number, store: Store): Crew {
  const model = scriptedModel([
    {
      when: (text) => text.includes('Task: Pay') && !text.includes('paid'),
      calls: [{ tool: 'pay', input: { to: 'Ada' } }],
    },
    { when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} is done: ${text.length}` },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ to: z.string() }),
    approval: true,
    run: ({ to }) => `paid ${to}`,
  })
  const inner = new Crew({
    name: 'settling',
    tasks: [
      new Task({ name: 'pay', description: `Pay as in version ${version}`, agent, tools: [pay] }),
      new Task({ name: 'sum', description: 'Sum', agent, humanInput: true }),
    ],
  })
  return new Crew({
    name: 'claims',
    tasks: [
      new Task({ name: 'plan', description: `Plan as in version ${version}`, agent }),
      new Task({ name: 'settle', crew: inner }),
      new Task({ name: 'note', description: `Note as in version ${version}`, agent, humanInput: true }),
    ],
    store,
    budget: { tokens: 700 },
    logger: { info() {}, warn() {} },
  })
}

function answerTo(question: OpenQuestion, choice: number): Answer {
  const pick = <T>(...some: T[]): T => some[choice % some.length] as T
  switch (question.kind) {
    case 'result':
      return pick<Answer>({ decision: 'approve' }, { decision: 'revise', feedback: 'shorter' }, fail)
    case 'call':
      return pick<Answer>({ decision: 'approve' }, { decision: 'use', result: 'paid by hand' }, fail)
    case 'doubt':
      return pick<Answer>({ decision: 'run' }, { decision: 'happened', result: 'paid' }, fail)
    case 'limit':
      return pick<Answer>({ decision: 'raise', to: { tokens: 5_000 } }, { decision: 'raise', to: { tokens: 800 } })
    case 'value':
      return pick<Answer>({ decision: 'answer', value: true }, fail)
  }
}

const fail: Answer = { decision: 'fail', reason: 'no' }

/** A process that dies with this append: nothing more is written, and its runs have no holder. */
function mortal(inner: Store, dies: number, written: boolean): Store {
  const leases: Lease[] = []
  let left = dies
  const keep = (lease: Lease | undefined): void => void (lease && leases.push(lease))
  const dead = async (): Promise<never> => {
    for (const lease of leases) await inner.release(lease)
    throw new Error('dead')
  }
  return {
    ...inner,
    async create(...args) {
      if (left <= 0) return dead()
      const made = await inner.create(...args)
      keep(made.lease)
      return made
    },
    async acquire(...args) {
      if (left <= 0) return dead()
      const lease = await inner.acquire(...args)
      keep(lease)
      return lease
    },
    async append(...args) {
      left -= 1
      const waiting = left > 0 || (left === 0 && written) ? await inner.append(...args) : 0
      return left <= 0 ? dead() : waiting
    },
    async post(...args) {
      return left <= 0 ? dead() : inner.post(...args)
    },
    // the process goes, the store stays
    close: async () => {},
  }
}
