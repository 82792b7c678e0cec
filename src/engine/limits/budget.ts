// The budget of a run: tokens, money and time, checked before each model call. When it is used up, the run asks a
// question, and continues where it stopped once a person or a resume raises the budget. Child runs count towards it
// before they end, too. When they use it up, they stop where they are, and the run with the budget asks the question.
import { RepriseError } from '../../base/errors.ts'
import type { Limit, Question, Usage } from '../../journal/entries.ts'
import { addUsage, noUsage, type QuestionState, type RunState } from '../../journal/state/state.ts'
import { unfinishedCrews } from '../../journal/state/tally.ts'
import { dollars } from '../../text/words.ts'
import { addCost } from '../../models/cost.ts'
import type { Store } from '../../stores/store.ts'
import { askOnQuestion } from '../inbox/ask-on-question.ts'
import type { CrewDefinition } from '../definition.ts'
import type { Life } from '../life.ts'
import { costOfRun } from '../../read/costs.ts'
import { readStateIfExists } from '../../read/read-run.ts'

/** Thrown instead of calling a model. */
export class LimitReached extends Error {
  readonly limit: Limit
  /** The run with the budget; `spent` includes its child runs. */
  readonly run: string
  readonly spent: Usage

  constructor(run: string, limit: Limit, spent: Usage, words: string) {
    super(words)
    this.run = run
    this.limit = limit
    this.spent = spent
  }
}

/**
 * Rejects with LimitReached if the budget of the run or one of its parents is used up. Calls that are already in
 * progress may exceed it.
 */
export async function checkBudget(life: Life): Promise<void> {
  const { state, crew, engine } = life
  const limit = state.budget ?? crew.budget
  if (limit) {
    const states = await treeStates(engine.store, state, life.childRuns)
    const words = await describeExceeded(states, activeMs(life), limit, crew)
    const spent = states.map((one) => one.spent as Usage).reduce(addUsage, noUsage)
    if (words !== undefined) throw new LimitReached(state.run, limit, spent, words)
  }
  await life.parent?.checkBudget()
}

/**
 * Returns the states of a run and its unfinished child runs, the run itself first. The usage of finished child runs is
 * already in its `spent`.
 */
export async function treeStates(store: Store, state: RunState, within: Life['childRuns']): Promise<RunState[]> {
  const under = await Promise.all(
    unfinishedCrews(state).map(async ({ child: run }) => {
      const read = within.has(run) ? undefined : await readStateIfExists(store, run)
      // looked up again: this process may have resumed it meanwhile
      const child = within.get(run) ?? read
      // never created, or deleted
      if (!child) return []
      within.set(run, child)
      return treeStates(store, child, within)
    }),
  )
  return [state, ...under.flat()]
}

/** Includes the time since the last entry: while its child runs are executed, a run appends nothing. */
function activeMs({ state, elapsedMs }: Life): number {
  return state.activeMs + elapsedMs()
}

async function describeExceeded(
  states: readonly RunState[],
  active: number,
  limit: Limit,
  crew: CrewDefinition,
): Promise<string | undefined> {
  const { tokens, cost, seconds } = limit
  const used = states.reduce((sum, { spent }) => sum + spent.input + spent.output, 0)
  if (tokens !== undefined && used >= tokens)
    return `${used.toLocaleString('en')} of ${tokens.toLocaleString('en')} tokens`
  if (seconds !== undefined && active >= seconds * 1000) return `${Math.round(active / 1000)} of ${seconds} seconds`
  if (cost === undefined) return undefined
  const costs = await Promise.all(states.map((state) => costOfRun(state, crew.prices)))
  const paid = costs.reduce(addCost, 0)
  // happens only if an answer set the cost limit: crews and resumes refuse a cost limit for models without a price
  if (paid === undefined) return `an unknown part of ${dollars(cost)}, since the price of a model is not known,`
  return paid >= cost ? `${dollars(paid)} of ${dollars(cost)}` : undefined
}

/** Asks a person to raise the limit, unless that question is already open. Returns true if no such question is left. */
export async function askToRaise(life: Life, path: string, reached: LimitReached): Promise<boolean> {
  // a trial of a backtest asks no questions
  if (life.state.effects === 'never')
    throw new RepriseError('TASK_FAILED', `it has used ${reached.message}`, { runId: life.state.run })
  await life.queue.budget(() => askForLimit(life, path, reached))
  const asked = openLimitQuestion(life.state)
  if (asked) await askOnQuestion(life, asked)
  return openLimitQuestion(life.state) === undefined
}

async function askForLimit(life: Life, path: string, reached: LimitReached): Promise<void> {
  if (openLimitQuestion(life.state) || isFailingAtLimit(life.state)) return
  // a resume cannot raise the budget of a child run
  const orResume = life.parent ? '' : '; or resume it with a higher budget'
  const question: Question = {
    id: life.questionId(),
    path,
    kind: 'limit',
    limit: reached.limit as never,
    spent: reached.spent,
    text: `The run has used ${reached.message}. Answer "raise" with a higher limit, or "fail" with a reason${orResume}.`,
  }
  await life.append([{ type: 'question.asked', path, question }])
}

function openLimitQuestion(state: RunState): Question | undefined {
  return [...state.unanswered].find(({ question }) => question.kind === 'limit')?.question
}

/** Returns the reason why a person let the run fail at its limit, if one did. */
export function limitFailureReason(state: RunState): string | undefined {
  const answer = lastLimitQuestion(state)?.answer
  return answer?.decision === 'fail' ? answer.reason : undefined
}

/** Why a flow fails that has used up its steps, if a person decided so since it last failed. */
export function stepLimitFailure(state: RunState): string | undefined {
  const asked = lastLimitQuestion(state)
  return asked && asked.askedAt > (state.failedAt ?? '') ? limitFailureReason(state) : undefined
}

/** Whether a person decided that the run fails. When it is resumed after that failure, the question is asked again. */
function isFailingAtLimit(state: RunState): boolean {
  const path = lastLimitQuestion(state)?.question.path ?? ''
  return limitFailureReason(state) !== undefined && state.attempts.get(path)?.status === 'open'
}

function lastLimitQuestion(state: RunState): QuestionState | undefined {
  return [...state.questions.values()].findLast(({ question }) => question.kind === 'limit')
}
