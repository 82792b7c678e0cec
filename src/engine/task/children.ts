// The runs of tasks that are crews, as seen from the run that made them: their open questions are its own, under the
// name of the task (`research/q1`), so that nobody needs to know about them to answer.
import { askingTask, openQuestions, type AskedQuestion, type OpenQuestion } from '../../journal/state/open-questions.ts'
import { isEnded, type AttemptState, type RunState, type TaskState } from '../../journal/state/state.ts'
import type { Store } from '../../stores/store.ts'
import { childRun } from '../../journal/paths.ts'
import { readIfThere, readRun } from '../read/read-run.ts'
import { summaryOf } from '../read/row-summary.ts'

export interface Child {
  readonly task: string
  /** The attempt that it is the work of. */
  readonly path: string
  readonly run: string
}

/** The run that currently executes a task which is a crew. */
export function childOf(state: RunState, task: string): Child | undefined {
  const attempt = state.attempts.get(state.tasks.get(task)?.attempts.at(-1) ?? '')
  if (attempt?.child === undefined || attempt.status !== 'open') return undefined
  return { task, path: attempt.path, run: attempt.child }
}

/** Returns undefined for a run that was never created, or was deleted. */
export type ReadChild = (run: string) => Promise<RunState | undefined>

/** Reads each run at most once, and none that is known; but one that waits for people may have been answered since. */
export function readOnce(store: Store, known: ReadonlyMap<string, RunState> = new Map()): ReadChild {
  const reads = new Map<string, Promise<RunState | undefined>>()
  return async (run) => {
    const there = known.get(run)
    if (there && there.status !== 'suspended') return there
    const row = there && (await store.row(run))
    if (row && summaryOf(row).questions === openQuestions(there).length) return there
    const read = reads.get(run) ?? readIfThere(store, run)
    reads.set(run, read)
    return read
  }
}

type ChildAttempt = AttemptState & { readonly child: string }

/**
 * The attempts at a task that is a crew since it was last done: what their runs have taken is recorded only there until
 * it is done again.
 */
export function attemptsSinceDone(state: RunState, task: TaskState): ChildAttempt[] {
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const done = attempts.findLastIndex((attempt) => attempt.status === 'completed')
  return attempts.slice(done + 1).filter((attempt): attempt is ChildAttempt => attempt.child !== undefined)
}

/** All open questions, of the run and of the runs of its tasks. */
export async function questionsOf(state: RunState, read: ReadChild): Promise<OpenQuestion[]> {
  if (isEnded(state.status)) return []
  const open = openQuestions(state)
  for (const { name, removed } of state.tasks.values()) {
    // nobody needs an answer for a task that the crew no longer has
    const child = removed ? undefined : childOf(state, name)
    const found = child && (await read(child.run))
    if (child && found)
      open.push(...(await questionsOf(found, read)).map((question) => fromChild(state, child, question)))
  }
  return open
}

/** As the run that the child works for asks it. */
export function fromChild<Q extends AskedQuestion>(state: RunState, { task, path }: Child, question: Q): Q {
  const asking = [askingTask(state, path), ...question.asking]
  return { ...question, id: `${task}/${question.id}`, path: `${path}/${question.path}`, asking }
}

/** Where to answer a child's question. */
export function askedByChild(state: RunState, id: string): { readonly run: string; readonly id: string } | undefined {
  const slash = id.indexOf('/')
  const child = slash < 0 ? undefined : childOf(state, id.slice(0, slash))
  return child && { run: child.run, id: id.slice(slash + 1) }
}

/** Whether a child that waited for people has all their answers. */
export async function hasAnswers(store: Store, run: string): Promise<boolean> {
  const row = await store.row(run)
  // the journal is read only when there is something new to see in it
  if (!row || summaryOf(row).questions > 0) return false
  const { state } = await readRun(store, run)
  const waits = state.suspended
  if (waits?.reason === 'questions' || waits?.reason === 'limit') return openQuestions(state).length === 0
  if (waits?.reason !== 'child') return false
  const children = (waits.children ?? []).map((attempt) => childRun(run, attempt))
  const answered = await Promise.all(children.map((child) => hasAnswers(store, child)))
  return answered.every(Boolean)
}
