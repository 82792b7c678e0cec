// A run and the runs that work for it, as they were read: everything that shows a run is made from this, so that each
// journal is read once, and what a task that is a crew has taken and asks counts for its run wherever that is shown.
import { openTreeQuestions, childReader, type ReadChild } from '../engine/task/children.ts'
import { moveOf } from '../engine/read/moved.ts'
import { readRun } from '../engine/read/read-run.ts'
import type { Entry } from '../journal/entries.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import { addTo, spentByModel, type RunState } from '../journal/state/state.ts'
import { unfinishedCrews } from '../journal/state/tally.ts'
import type { Store } from '../stores/store.ts'
import { parentRun, type ParentRun } from './summary.ts'
import { readExecution, type Execution } from './status.ts'

/** Of a run that is running, also whether a process has it, and which. */
export interface RunTree extends Execution {
  /**
   * What the runs of its tasks have taken so far counts as taken by those tasks, which the journal says only when they
   * are done.
   */
  readonly state: RunState
  /** Open ones; those of a task that is a crew under its name: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  /** Where it was read. */
  readonly store: Store
  readonly parent: ParentRun | undefined
}

/** RUN_NOT_FOUND. `hear` gets each entry of the run itself. */
export async function readRunTree(store: Store, runId: string, hear?: (entry: Entry) => void): Promise<RunTree> {
  return toRunTree(store, (await readRun(store, runId, hear)).state)
}

/**
 * For those that have the run's own state, and maybe some of those that work for it. It stays as it is: one that is
 * executed would count what its tasks take twice.
 */
export async function toRunTree(
  store: Store,
  state: RunState,
  known?: ReadonlyMap<string, RunState>,
): Promise<RunTree> {
  const read = childReader(store, known)
  return {
    state: await withChildren(state, read),
    // one that was moved asks where it continues
    questions: moveOf(state) ? [] : await openTreeQuestions(state, read),
    store,
    parent: await parentRun(store, state.parent?.run, state.parent?.incarnation, state.parent?.from),
    ...(await readExecution(store, state.run, state.status)),
  }
}

async function withChildren(state: RunState, read: ReadChild): Promise<RunState> {
  const attempts = new Map(state.attempts)
  const spent = { ...state.spent }
  const spending = new Map(state.spending)
  for (const attempt of unfinishedCrews(state)) {
    const child = await read(attempt.child)
    if (!child) continue
    const whole = await withChildren(child, read)
    attempts.set(attempt.path, { ...attempt, spent: spentByModel(whole) })
    addTo(spent, whole.spent)
    for (const [key, part] of whole.spending) spending.set(`${attempt.path} ${key}`, part)
  }
  return { ...state, attempts, spent, spending }
}
