// The flow of the crash tests. It uses every feature of flows: lists, loops, routes, races, retries, caught failures,
// sleeps, questions, events, child runs. Each call of its functions appends a line to a file, with its place in the run
// tree.
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, Crew, Flow, Task, type Answer, type Question } from 'reprise'
import { z } from 'zod'
import { taskOf } from './crew-parts.ts'
import { effects, leaveTrace } from './effects.ts'

interface Place {
  readonly runId: string
  readonly task: string
  readonly idempotencyKey: string
}

const oncePlaces = /^(won-\w+|refund|pay|tell|research#\d+\/save|inner#\d+\/sum|one\[\d\]#\d+\/once)$/

/** Whether a call at this place must not be repeated. */
export function isOnce(place: string): boolean {
  const doubled = /^double\[(\d+)\]$/.exec(place)?.[1]
  return doubled === undefined ? oncePlaces.test(place) : Number(doubled) % 3 === 2
}

/** The place of a task: `research#1/save` for a task of a child run. */
export function placeOf(run: string, task: string): string {
  return [...run.split('/').slice(1), task].join('/')
}

/** How often a step has been called, according to the file. */
function times({ runId, task }: Place): number {
  const place = `${placeOf(runId, task)} `
  return effects(runId.split('/')[0] ?? '').filter((line) => line.startsWith(place)).length
}

/** A `settle` function that looks for the key of the call in the file. */
function settleBy(run: string, result: (key: string) => unknown) {
  return (key: string) =>
    effects(run).some((line) => line.endsWith(` ${key}`))
      ? { happened: true as const, result: result(key) }
      : { happened: false as const }
}

class Declined extends Error {
  override readonly name = 'Declined'
  readonly card = 'c-7'
}

export const fanOut = 50

/** Retries, since connections may be reset on a busy machine. */
const agent = new Agent({ role: 'Worker', goal: 'Do the job', maxRetries: 2 })

/** The crews that the flow runs. */
function children(trace: (place: Place) => void) {
  const research = new Crew({
    name: 'research',
    inputs: z.object({ notes: z.string() }),
    tasks: [
      new Task({ name: 'find', effect: 'read', humanInput: true, run: (context) => (trace(context), 'found') }),
      taskOf('note', 'Plain', { agent }),
      new Task({ name: 'save', effect: 'once', run: (context) => (trace(context), 'saved') }),
    ],
  })

  const inner = new Flow({
    name: 'inner',
    inputs: z.object({ from: z.number() }),
    run: async (flow) => {
      let sum = flow.inputs.from
      for (let round = 0; round < 3; round++)
        sum += await flow.step('add', { key: round, input: sum, effect: 'idempotent' }, (n, context) => {
          trace(context)
          return n
        })
      const more = await flow.ask('more', `More than ${sum}?`, z.number())
      return flow.step('sum', (context) => (trace(context), sum + more))
    },
  })

  const oneByOne = new Flow({
    name: 'one',
    inputs: z.object({ n: z.number() }),
    run: (flow) => flow.step('once', (context) => (trace(context), flow.inputs.n)),
  })

  return { research, inner, oneByOne }
}

/** `hear` is called during each call. */
export function bigFlow(hear: () => void = () => {}) {
  /** Appends a line for a call: the child run, the step, and the key. */
  const trace = ({ runId, task, idempotencyKey }: Place): void => {
    leaveTrace(runId, `${placeOf(runId, task)} ${idempotencyKey}`)
    hear()
  }
  const { research, inner, oneByOne } = children(trace)
  return new Flow({
    name: 'flow',
    inputs: z.object({ notes: z.string() }),
    concurrency: 8,
    run: async (flow) => {
      const { notes } = flow.inputs
      const list = await flow.step('list', { effect: 'read' }, (context) => {
        trace(context)
        return Array.from({ length: fanOut }, (_, index) => index)
      })
      const doubled = await Promise.all(
        list.map((n) =>
          flow.step(
            'double',
            {
              key: n,
              input: n,
              effect: (['read', 'idempotent', 'once'] as const)[n % 3] ?? 'read',
              ...(n % 3 === 2 ? { settle: settleBy(flow.runId, () => n * 2) } : {}),
            },
            async (input, context) => {
              trace(context)
              await wait(n % 4)
              return input * 2
            },
          ),
        ),
      )

      let score = 0
      const naps: number[] = []
      for (let round = 0; score < 3; round++) {
        score += await flow.step('grade', { key: round, effect: 'read' }, (context) => (trace(context), 1))
        const before = flow.now().getTime()
        await flow.sleep('nap', { seconds: 0.02 }, { key: round })
        naps.push(flow.now().getTime() - before)
      }
      const route = score % 2 === 0 ? 'even' : 'odd'
      await flow.step(`go-${route}`, { effect: 'idempotent' }, (context) => trace(context))

      // timing decides which one wins, but only once
      const winner = await Promise.race(
        ['left', 'right'].map((name) =>
          flow.step(name, { effect: 'idempotent' }, async (context) => {
            trace(context)
            await wait(Math.random() * 4)
            return name
          }),
        ),
      )
      await flow.step(`won-${winner}`, { settle: settleBy(flow.runId, () => 'told') }, (context) => {
        trace(context)
        return 'told'
      })

      const flaky = await flow.step(
        'flaky',
        { effect: 'idempotent', retries: { times: 3, backoff: 0.01 } },
        (context) => {
          trace(context)
          if (times(context) < 3) throw new Error('not yet')
          return 'at last'
        },
      )

      const refund = await flow
        .step('charge', { effect: 'idempotent' }, (context) => {
          trace(context)
          throw new Declined('declined')
        })
        .catch(async (error: Error & { readonly card?: string }) => {
          const back = await flow.step('refund', (context) => (trace(context), `refund to ${error.card}`))
          return `${error.name}: ${back}`
        })

      // no `settle`: a person looks into the file
      const paid = await flow.step('pay', { input: { amount: 5 } }, async ({ amount }, context) => {
        trace(context)
        await wait(2)
        return `paid ${amount}`
      })

      const [sure, message, found, sum, said, ones] = await Promise.all([
        flow.ask('sure', { text: 'Sure?', about: { paid } }, z.boolean()),
        flow.event('message', z.object({ text: z.string() })),
        flow.run(research, { notes }),
        flow.run(inner, { from: 1 }),
        flow.run(agent, `Plain words for ${notes}`),
        Promise.all([1, 2, 3].map((n) => flow.run(oneByOne, { n }, { key: n }))),
      ])
      await flow.step('tell', (context) => trace(context))
      return {
        doubled,
        score,
        naps: naps.every((ms) => ms >= 19),
        route,
        winner,
        flaky,
        refund,
        paid,
        sure,
        message,
        found: found.output,
        sum: sum.output,
        said: said.raw,
        ones: ones.map(({ output }) => output),
        chance: flow.random('chance') < 1 && flow.uuid('id') === flow.uuid('id'),
      }
    },
  })
}

/** The event that the flow waits for. Sending it twice does no harm, since the id is the same. */
export const event = { name: 'message', value: { text: 'go' }, id: 'm-1' } as const

/** The answer to a question of the flow. For a call in doubt, it depends on the file. */
export function decideInFlow(question: Question, run: string): Answer {
  if (question.kind === 'doubt') {
    const task = question.path.split('#').slice(0, -1).join('#')
    const place = `${task} `
    const happened = effects(run).some((line) => line.startsWith(place))
    return happened ? { decision: 'happened', result: results[task] ?? null } : { decision: 'run' }
  }
  const answer = answers[question.path]
  if (!answer) throw new Error(`no answer for ${question.path}: ${question.text}`)
  return answer
}

const answers: { readonly [path: string]: Answer } = {
  'sure#1': { decision: 'answer', value: true },
  'inner#1/more#1': { decision: 'answer', value: 10 },
  'research#1/find#1': { decision: 'approve' },
}

/** The results of `once` steps that have no `settle`. */
const results: { readonly [task: string]: string | number } = {
  pay: 'paid 5',
  refund: 'refund to c-7',
  'research#1/save': 'saved',
  'inner#1/sum': 18,
  'one[1]#1/once': 1,
  'one[2]#1/once': 2,
  'one[3]#1/once': 3,
}
