// All open questions of a store.
import { defined } from '../base/options.ts'
import { allRows } from '../read/all-rows.ts'
import { isBacktest } from '../read/backtest-name.ts'
import { RepriseError } from '../base/errors.ts'
import { parentRunId, taskInPath } from '../journal/paths.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { countOpenQuestions } from './summary.ts'
import { readRunTree } from './run-view.ts'

/** An open question, with the run in which to answer it. */
export type WaitingQuestion = OpenQuestion & {
  readonly runId: string
  readonly crew: string
  /** The run's task that asks, or whose child run asks. */
  readonly task: string
}

export interface WaitingQuestions {
  /** Oldest first. */
  readonly questions: readonly WaitingQuestion[]
  /** Runs with open questions whose journals can't be read. */
  readonly unreadable: readonly string[]
}

/**
 * The open questions of one crew, or of all crews. Leaves out backtests. `read` returns those of a run and its child
 * runs.
 */
export async function waitingQuestions(
  store: Store,
  crew?: string,
  read: (run: string) => Promise<readonly OpenQuestion[]> = async (run) => (await readRunTree(store, run)).questions,
): Promise<WaitingQuestions> {
  const questions: WaitingQuestion[] = []
  const unreadable: string[] = []
  const status = ['running', 'suspended', 'failed'] as const
  for await (const row of allRows(store, { status, ...defined({ crew }) })) {
    if (isBacktest(row.crew) || !(await hasOpenQuestions(store, row))) continue
    try {
      questions.push(...runQuestions(row, await read(row.run)))
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      // the run was deleted meanwhile
      if (error.code !== 'RUN_NOT_FOUND') unreadable.push(row.run)
    }
  }
  return { questions: questions.toSorted(byAskedAt), unreadable }
}

/**
 * Whether a run has open questions, of its own or of its child runs. False for a child run whose parent exists: its
 * questions are listed with the parent.
 */
export async function hasOpenQuestions(store: Store, row: RunRow): Promise<boolean> {
  if ((await countOpenQuestions(store, row)) === 0) return false
  const parent = parentRunId(row.run)
  return parent === undefined || (await store.row(parent)) === undefined
}

function runQuestions({ run: runId, crew }: RunRow, questions: readonly OpenQuestion[]): WaitingQuestion[] {
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
