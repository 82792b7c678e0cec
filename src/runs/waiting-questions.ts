// Everything that waits for a person, over all runs of a store.
import { defined } from '../base/defined.ts'
import { allRows } from '../engine/history/all-rows.ts'
import { isBacktest } from '../engine/history/backtest-name.ts'
import { RepriseError } from '../base/errors.ts'
import { callerOf, taskOf } from '../journal/paths.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { openQuestionsOf } from './summary.ts'
import { readUnit } from './unit.ts'

/** An open question with the run that it is answered in. */
export type WaitingQuestion = OpenQuestion & {
  readonly runId: string
  readonly crew: string
  /** Of that run. */
  readonly task: string
}

export interface WaitingQuestions {
  /** Those that have waited longest come first, as in any queue. */
  readonly questions: readonly WaitingQuestion[]
  /** Runs that have some and cannot be read. */
  readonly unreadable: readonly string[]
}

/** Of one crew, or of all. Runs that have ended ask nobody, nor do backtests. */
export async function waitingQuestions(store: Store, crew?: string): Promise<WaitingQuestions> {
  const questions: WaitingQuestion[] = []
  const unreadable: string[] = []
  const status = ['running', 'suspended', 'failed'] as const
  for await (const row of allRows(store, { status, ...defined({ crew }) })) {
    if (isBacktest(row.crew) || !(await asksPeople(store, row))) continue
    try {
      questions.push(...(await questionsIn(store, row)))
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      // one that was deleted meanwhile asks nothing any more
      if (error.code !== 'RUN_NOT_FOUND') unreadable.push(row.run)
    }
  }
  return { questions: questions.toSorted(longestFirst), unreadable }
}

/**
 * Whether a run has open questions, its own or those of the runs of its tasks. What a run asks that works for another
 * is asked by that other one, unless that is gone.
 */
export async function asksPeople(store: Store, row: RunRow): Promise<boolean> {
  if ((await openQuestionsOf(store, row)) === 0) return false
  const caller = callerOf(row.run)
  return caller === undefined || (await store.row(caller)) === undefined
}

async function questionsIn(store: Store, { run: runId, crew }: RunRow): Promise<WaitingQuestion[]> {
  const { questions } = await readUnit(store, runId)
  return questions.map((question) => ({
    runId,
    crew,
    task: question.asking[0]?.task ?? taskOf(question.path),
    ...question,
  }))
}

function longestFirst(a: WaitingQuestion, b: WaitingQuestion): number {
  return a.askedAt < b.askedAt ? -1 : Number(a.askedAt > b.askedAt)
}
