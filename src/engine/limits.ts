// What a whole run may take: tokens, money and time. A budget is looked at before each model
// call; one that is used up is a question, and the run goes on from where it stands when a person or a resume raises it. What the
// runs of its tasks take counts while they take it: they stop where they are, and the question is asked by the run whose budget it is.
import type { Limit, Question } from '../journal/entries.ts'
import type { RunState } from '../journal/state.ts'
import { dollars } from '../journal/words.ts'
import { addCost } from '../models/cost.ts'
import { putToCaller } from './ask.ts'
import type { CrewDefinition, ExecuteOptions } from './definition.ts'
import type { Hold } from './hold.ts'
import { costOfRun } from './plan/estimate.ts'

/** Thrown where a model was about to be called. */
export class LimitReached extends Error {
  readonly limit: Limit
  /** The run whose budget it is. */
  readonly run: string

  constructor(run: string, limit: Limit, words: string) {
    super(words)
    this.run = run
    this.limit = limit
  }
}

/** The runs of a run's tasks that are executed in this process now. */
const children = new WeakMap<Hold, Set<Hold>>()

/** Until it is disposed, what the child takes counts for the parent too. */
export function countFor(parent: Hold, child: Hold): Disposable {
  const known = children.get(parent) ?? new Set()
  children.set(parent, known.add(child))
  return { [Symbol.dispose]: () => void known.delete(child) }
}

/** Rejects with LimitReached when the run, or one that it works for, has used up what it may take. What is under way beside it may go beyond. */
export async function checkBudget(hold: Hold, crew: CrewDefinition, { checkOuter }: ExecuteOptions): Promise<void> {
  const { state } = hold
  const limit = state.budget ?? crew.budget
  if (limit) {
    const words = await usedUp([...statesUnder(hold)], limit, crew)
    if (words !== undefined) throw new LimitReached(state.run, limit, words)
  }
  await checkOuter?.()
}

/** Its own first, which holds what its finished children have taken. */
function* statesUnder(hold: Hold): Generator<RunState> {
  yield hold.state
  for (const child of children.get(hold) ?? []) yield* statesUnder(child)
}

async function usedUp(states: readonly RunState[], limit: Limit, crew: CrewDefinition): Promise<string | undefined> {
  const { tokens, cost, seconds } = limit
  const used = states.reduce((sum, { spent }) => sum + spent.input + spent.output, 0)
  if (tokens !== undefined && used >= tokens)
    return `${used.toLocaleString('en')} of ${tokens.toLocaleString('en')} tokens`
  // while its children work, a run writes nothing that its own time could be told by
  const active = states.reduce((sum, { activeMs }) => sum + activeMs, 0)
  if (seconds !== undefined && active >= seconds * 1000) return `${Math.round(active / 1000)} of ${seconds} seconds`
  if (cost === undefined) return undefined
  const costs = await Promise.all(states.map((state) => costOfRun(state, crew.prices)))
  const paid = costs.reduce(addCost, 0)
  // that the prices are known was checked before anything was spent
  return paid !== undefined && paid >= cost ? `${dollars(paid)} of ${dollars(cost)}` : undefined
}

/** Asks a person to raise the limit, unless that is asked already. True when it has been raised at once. */
export async function askToRaise(
  hold: Hold,
  path: string,
  reached: LimitReached,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<boolean> {
  // several branches may come here at once: one question is enough
  const before = asking.get(hold) ?? Promise.resolve()
  const mine = before.then(() => askOnce(hold, path, reached))
  asking.set(
    hold,
    mine.catch(() => undefined),
  )
  await mine
  const asked = openLimit(hold.state)
  if (asked) await putToCaller(hold, asked, options, signal)
  return openLimit(hold.state) === undefined
}

const asking = new WeakMap<Hold, Promise<unknown>>()

async function askOnce(hold: Hold, path: string, reached: LimitReached): Promise<void> {
  if (openLimit(hold.state)) return
  const question: Question = {
    id: hold.questionId(),
    path,
    kind: 'limit',
    limit: reached.limit as never,
    spent: { ...hold.state.spent },
    text: `The run has used ${reached.message}. Answer "raise" with a higher limit, or "fail" with a reason; or resume it with a higher budget.`,
  }
  await hold.append([{ type: 'question.asked', path, question }])
}

function openLimit(state: RunState): Question | undefined {
  return [...state.questions.values()].find(
    ({ question, answer, withdrawn }) => question.kind === 'limit' && !answer && !withdrawn,
  )?.question
}

/** Why a person wants the run to end at its limit. */
export function failedLimit(state: RunState): string | undefined {
  const asked = [...state.questions.values()].findLast(({ question }) => question.kind === 'limit')
  return asked?.answer?.decision === 'fail' ? asked.answer.reason : undefined
}
