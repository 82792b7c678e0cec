// A run with its child runs. Everything that shows a run is made from this, so each journal is read once, and the usage
// and questions of child runs count for their root everywhere.
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

/** Has the holder of a running run. */
export interface RunTree extends Execution {
  /** The usage of unfinished child runs is added to their tasks. The journal itself has it only when they end. */
  readonly state: RunState
  /** Open questions. Those of child runs begin with the task: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  readonly store: Store
  readonly parent: ParentRun | undefined
}

/** RUN_NOT_FOUND. `hear` receives each entry of the root. */
export async function readRunTree(store: Store, runId: string, hear?: (entry: Entry) => void): Promise<RunTree> {
  return toRunTree(store, (await readRun(store, runId, hear)).state)
}

/**
 * From a state that was already read, and perhaps those of some child runs. The state isn't changed: an executing run
 * would count its children twice.
 */
export async function toRunTree(
  store: Store,
  state: RunState,
  known?: ReadonlyMap<string, RunState>,
): Promise<RunTree> {
  const read = childReader(store, known)
  return {
    state: await withChildren(state, read),
    // the questions of a moved run are asked in the other store
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
