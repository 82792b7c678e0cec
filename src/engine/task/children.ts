// The runs of tasks that are crews, as seen from the run that made them: their open questions are its own, under the
// name of the task (`research/q1`), so that nobody needs to know about them to answer.
import { askingTask, openQuestions, type AskedQuestion, type OpenQuestion } from '../../journal/state/open-questions.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { unfinishedCrews } from '../../journal/state/tally.ts'
import type { Store } from '../../stores/store.ts'
import type { Answer } from '../../journal/entries.ts'
import { childAddress, childRunId } from '../../journal/paths.ts'
import { isWoken } from '../read/due.ts'
import { readStateIfExists } from '../read/read-run.ts'
import { readSummary } from '../read/row-summary.ts'

export interface ChildRun {
  /** By what its questions are known: the name of the task, and of what a function kicked off (`chapters/intro`). */
  readonly task: string
  /** The attempt that it is the work of. */
  readonly path: string
  readonly run: string
}

/** The runs that a task works with now: the one of a task that is a crew, or those that a function kicked off. */
export function activeChildren(state: RunState, task: string): ChildRun[] {
  const { attempts = [], kickoffs } = state.tasks.get(task) ?? {}
  return [attempts.at(-1) ?? '', ...(kickoffs?.values() ?? [])].flatMap((path) => {
    const attempt = state.attempts.get(path)
    if (attempt?.child === undefined || attempt.status !== 'open') return []
    return [{ task: childAddress(attempt.task, path), path, run: attempt.child }]
  })
}

/** Returns undefined for a run that was never created, or was deleted. */
export type ReadChild = (run: string) => Promise<RunState | undefined>

/** Reads each run at most once, and none that is known; but one that waits for people may have been answered since. */
export function childReader(store: Store, known: ReadonlyMap<string, RunState> = new Map()): ReadChild {
  const reads = new Map<string, Promise<RunState | undefined>>()
  return async (run) => {
    const there = known.get(run)
    if (there && there.status !== 'suspended') return there
    const row = there && (await store.row(run))
    if (row && readSummary(row).questions === openQuestions(there).length) return there
    const read = reads.get(run) ?? readStateIfExists(store, run)
    reads.set(run, read)
    return read
  }
}

/** Whether a task was completed since then in the runs of those tasks that are not done. */
export async function hasProgress(state: RunState, since: string, read: ReadChild): Promise<boolean> {
  for (const { child: run } of unfinishedCrews(state)) {
    const child = await read(run)
    if (!child) continue
    const outputs = [...child.tasks.values()].flatMap(({ source, output }) => (source === 'executed' && output) || [])
    if (outputs.some(({ completedAt }) => completedAt > since)) return true
    if (await hasProgress(child, since, read)) return true
  }
  return false
}

/** All open questions, of the run and of the runs of its tasks. */
export async function openTreeQuestions(state: RunState, read: ReadChild): Promise<OpenQuestion[]> {
  if (isEnded(state.status)) return []
  const open = openQuestions(state)
  for (const { name, removed } of state.tasks.values()) {
    // nobody needs an answer for a task that the crew no longer has
    for (const child of removed ? [] : activeChildren(state, name)) {
      const found = await read(child.run)
      if (found)
        open.push(...(await openTreeQuestions(found, read)).map((question) => asParentQuestion(state, child, question)))
    }
  }
  return open
}

/** A question of a run of one of its tasks, and what has become of it. */
export type TreeQuestion = OpenQuestion & {
  /** The attempt at the task which is a crew. */
  readonly attempt: string
  readonly answer?: Answer | undefined
  /** Nobody needs an answer any more. */
  readonly withdrawn?: boolean | undefined
}

/** Every question that the runs of its tasks have asked. Of equal ids, which are those of two attempts, the newest. */
export async function treeQuestions(state: RunState, read: ReadChild): Promise<TreeQuestion[]> {
  const asked = new Map<string, TreeQuestion>()
  for (const { path, task, child: run, status } of state.attempts.values()) {
    const found = run === undefined ? undefined : await read(run)
    if (!found || run === undefined) continue
    const over = status !== 'open' || isEnded(found.status)
    const own = [...found.questions.values()].map(({ question, askedAt, answer, withdrawn }) => {
      // it is shown as it was asked, whatever has been done since
      const asking = [askingTask(found, question.path, askedAt)]
      return { ...question, askedAt, answer, withdrawn, asking, attempt: path }
    })
    for (const question of [...own, ...(await treeQuestions(found, read))]) {
      const seen = asParentQuestion(state, { task: childAddress(task, path), path, run }, question, question.askedAt)
      const withdrawn = question.answer === undefined && (over || question.withdrawn)
      asked.set(seen.id, { ...seen, attempt: path, ...(withdrawn ? { withdrawn } : {}) })
    }
  }
  return [...asked.values()]
}

/** As the run that the child works for asks it. */
export function asParentQuestion<Q extends AskedQuestion>(
  state: RunState,
  { task, path }: ChildRun,
  question: Q,
  at?: string,
): Q {
  const asking = [askingTask(state, path, at), ...question.asking]
  return { ...question, id: `${task}/${question.id}`, path: `${path}/${question.path}`, asking }
}

/** Where to answer a child's question. */
export function childQuestion(state: RunState, id: string): { readonly run: string; readonly id: string } | undefined {
  const slash = id.indexOf('/')
  const children = slash < 0 ? [] : activeChildren(state, id.slice(0, slash))
  const child = children.find(({ task }) => id.startsWith(`${task}/`))
  return child && { run: child.run, id: id.slice(child.task.length + 1) }
}

/** Whether a child that waited has something to do: what people left for it was recorded since, or it was cancelled. */
export async function canContinue(store: Store, run: string): Promise<boolean> {
  const row = await store.row(run)
  if (!row) return false
  const summary = readSummary(row)
  if (row.status === 'cancelled' || isWoken(summary)) return true
  const { suspended } = summary
  const attempts = suspended?.reason === 'child' ? (suspended.children ?? []) : []
  const children = attempts.map((attempt) => childRunId(run, attempt))
  const found = await Promise.all(children.map((child) => canContinue(store, child)))
  return found.some(Boolean)
}
