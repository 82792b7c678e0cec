// What a whole run may take: tokens, money and time. A budget is looked at before each model
// call; one that is used up is a question, and the run goes on from where it stands when a person or a resume raises it.
import type { Limit, Question } from '../journal/entries.ts'
import type { RunState } from '../journal/state.ts'
import { dollars } from '../journal/words.ts'
import { putToCaller } from './ask.ts'
import type { CrewDefinition, ExecuteOptions } from './definition.ts'
import type { Hold } from './hold.ts'
import { costOfRun } from './plan/estimate.ts'

/** Thrown where a model was about to be called. */
export class LimitReached extends Error {
  readonly limit: Limit

  constructor(limit: Limit, words: string) {
    super(words)
    this.limit = limit
  }
}

/** Rejects with LimitReached when the run has used up what it may take. What is under way beside it may go beyond. */
export async function checkBudget({ state }: Hold, crew: CrewDefinition): Promise<void> {
  const limit = state.budget ?? crew.budget
  if (!limit) return
  const { input, output } = state.spent
  const { tokens, cost, seconds } = limit
  if (tokens !== undefined && input + output >= tokens) {
    throw new LimitReached(limit, `${(input + output).toLocaleString('en')} of ${tokens.toLocaleString('en')} tokens`)
  }
  if (seconds !== undefined && state.activeMs >= seconds * 1000) {
    throw new LimitReached(limit, `${Math.round(state.activeMs / 1000)} of ${seconds} seconds`)
  }
  if (cost === undefined) return
  const paid = await costOfRun(state, crew.prices)
  // that the prices are known was checked before anything was spent
  if (paid !== undefined && paid >= cost) throw new LimitReached(limit, `${dollars(paid)} of ${dollars(cost)}`)
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
