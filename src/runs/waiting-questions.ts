// Everything that waits for a person, over all runs of a store.
import { defined } from '../base/defined.ts'
import { allRows } from '../engine/history/all-rows.ts'
import { isBacktest } from '../engine/history/backtest-name.ts'
import { RepriseError } from '../base/errors.ts'
import { parentRunId, taskInPath } from '../journal/paths.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { countOpenQuestions } from './summary.ts'
import { readRunTree } from './run-tree.ts'

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
    if (isBacktest(row.crew) || !(await hasOpenQuestions(store, row))) continue
    try {
      questions.push(...(await runQuestions(store, row)))
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      // one that was deleted meanwhile asks nothing any more
      if (error.code !== 'RUN_NOT_FOUND') unreadable.push(row.run)
    }
  }
  return { questions: questions.toSorted(byAskedAt), unreadable }
}

/**
 * Whether a run has open questions, its own or those of the runs of its tasks. What a run asks that works for another
 * is asked by that other one, unless that is gone.
 */
export async function hasOpenQuestions(store: Store, row: RunRow): Promise<boolean> {
  if ((await countOpenQuestions(store, row)) === 0) return false
  const caller = parentRunId(row.run)
  return caller === undefined || (await store.row(caller)) === undefined
}

async function runQuestions(store: Store, { run: runId, crew }: RunRow): Promise<WaitingQuestion[]> {
  const { questions } = await readRunTree(store, runId)
  return questions.map((question) => ({
    runId,
    crew,
    task: question.asking[0]?.task ?? taskInPath(question.path),
    ...question,
  }))
}

function byAskedAt(a: WaitingQuestion, b: WaitingQuestion): number {
  return a.askedAt < b.askedAt ? -1 : Number(a.askedAt > b.askedAt)
}
