// Child runs as seen from their parent: their open questions, which are also the parent's, under the name of the task
// (`research/q1`), so that an answer needs only the parent's id; and their `once` calls.
import { askingTask, openQuestions, type AskedQuestion, type OpenQuestion } from '../../journal/state/open-questions.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { activeChildren, unfinishedCrews, type ChildRun, attemptsSinceDone } from '../../journal/state/tally.ts'
import type { Store } from '../../stores/store.ts'
import type { Answer, OnceCall } from '../../journal/entries.ts'
import { childAddress, childRunId, attemptPath, taskInPath } from '../../journal/paths.ts'
import { isWoken, readSummary } from '../../read/row-summary.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { isHandEdited } from '../../journal/state/change-tasks.ts'
import type { Engine } from '../definition.ts'
import { callsToInherit, toOnceCall } from '../calls/once.ts'
import { childIncarnation } from '../../read/incarnation.ts'

/** Reads a child run. Resolves with undefined if it was never created, or was deleted. */
export type ReadChild = (run: string) => Promise<RunState | undefined>

/** Returns a reader that reads each run at most once, and a known run only if it was suspended and then answered. */
export function childReader(store: Store, known: ReadonlyMap<string, RunState> = new Map()): ReadChild {
  const reads = new Map<string, Promise<RunState | undefined>>()
  return async (run) => {
    const cached = known.get(run)
    if (cached && cached.status !== 'suspended') return cached
    const row = cached && (await store.row(run))
    if (row && readSummary(row).questions === openQuestions(cached).length) return cached
    const read = reads.get(run) ?? readStateIfExists(store, run)
    reads.set(run, read)
    return read
  }
}

/** Whether an unfinished child run, at any depth, has completed a task after the time `since`. */
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

/** Returns the open questions of a run and its child runs, with ids as seen from the run. */
export async function openTreeQuestions(state: RunState, read: ReadChild): Promise<OpenQuestion[]> {
  if (isEnded(state.status)) return []
  const open = openQuestions(state)
  const { crews } = state.tally
  for (const { name, removed } of crews.size === 0 ? [] : state.tasks.values()) {
    // questions of removed tasks need no answer
    for (const child of removed || !crews.has(name) ? [] : activeChildren(state, name)) {
      const found = await read(child.run)
      if (found)
        open.push(...(await openTreeQuestions(found, read)).map((question) => asParentQuestion(state, child, question)))
    }
  }
  return open
}

/** A question of a child run, open or not. */
export type TreeQuestion = OpenQuestion & {
  /** The parent's attempt that created the child run. */
  readonly attempt: string
  readonly answer?: Answer | undefined
  /** The question no longer needs an answer. */
  readonly withdrawn?: boolean | undefined
}

/** Returns all questions of child runs. If two attempts have questions with equal ids, the newer question counts. */
export async function treeQuestions(state: RunState, read: ReadChild): Promise<TreeQuestion[]> {
  const asked = new Map<string, TreeQuestion>()
  for (const { path, task, child: run, status } of state.attempts.values()) {
    const found = run === undefined ? undefined : await read(run)
    if (!found || run === undefined) continue
    const isOver = status !== 'open' || isEnded(found.status)
    const own = [...found.questions.values()].map(({ question, askedAt, answer, withdrawn }) => {
      // the task as it was when the question was asked
      const asking = [askingTask(found, question.path, askedAt)]
      return { ...question, askedAt, answer, withdrawn, asking, attempt: path }
    })
    for (const question of [...own, ...(await treeQuestions(found, read))]) {
      const seen = asParentQuestion(state, { task: childAddress(task, path), path, run }, question, question.askedAt)
      const withdrawn = question.answer === undefined && (isOver || question.withdrawn)
      asked.set(seen.id, { ...seen, attempt: path, ...(withdrawn ? { withdrawn } : {}) })
    }
  }
  return [...asked.values()]
}

/** Returns a child's question as its parent asks it: with the parent's id, path and asking tasks. */
export function asParentQuestion<Q extends AskedQuestion>(
  state: RunState,
  { task, path }: ChildRun,
  question: Q,
  at?: string,
): Q {
  const asking = [askingTask(state, path, at), ...question.asking]
  return { ...question, id: `${task}/${question.id}`, path: `${path}/${question.path}`, asking }
}

/** Returns the child run from which a question of its parent comes, and the id that the question has there. */
export function childQuestion(state: RunState, id: string): { readonly run: string; readonly id: string } | undefined {
  const slash = id.indexOf('/')
  const children = slash < 0 ? [] : activeChildren(state, id.slice(0, slash))
  const child = children.find(({ task }) => id.startsWith(`${task}/`))
  return child && { run: child.run, id: id.slice(child.task.length + 1) }
}

/** Whether a suspended child can continue: a message for it or its children was recorded, or it was cancelled. */
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

// The `once` calls of child runs. They are copied to the parent when the task is done. Until then, and for abandoned
// attempts, only the child runs have them, so they are read from there before another child run is created. Each call
// is counted once: calls that a run inherited are not its own.

/** Returns the calls of child runs that are not copied to the run yet. */
export async function callsOfOpenChildren(engine: Engine, state: RunState): Promise<OnceCall[]> {
  const unfinished = unfinishedCrews(state).map(({ task, path }) => childAddress(task, path))
  const addresses = new Set([...state.tasks.keys(), ...unfinished])
  const calls = await Promise.all(
    [...addresses].map(async (address) => callsOfRuns(engine, address, await runsSinceDone(engine, state, address))),
  )
  return calls.flat()
}

/**
 * Returns the calls of earlier child runs at an address: those inherited from the parent of a fork, and those of
 * earlier attempts in this run. `address`: the name of the task, or of a kickoff by a function (`chapters/intro`).
 */
export async function earlierChildCalls(engine: Engine, state: RunState, address: string): Promise<OnceCall[]> {
  const done = state.tasks.get(taskInPath(address))?.childCalls ?? []
  const open = await callsOfRuns(engine, address, await runsSinceDone(engine, state, address))
  const own = [...done, ...open].map((call) => ({ ...call, own: true as const }))
  return [...state.inheritedCalls, ...own]
    .filter((call) => call.task.startsWith(`${address}/`))
    .map((call) => ({ ...call, task: call.task.slice(address.length + 1) }))
}

/** Returns the calls of these runs and their child runs, with tasks as seen from the parent (`research/search`). */
export async function callsOfRuns(engine: Engine, address: string, runs: readonly RunState[]): Promise<OnceCall[]> {
  const calls = await Promise.all(
    runs.map(async (run) => {
      const own = callsToInherit(run).filter((call) => !call.inherited)
      return [...own.map(toOnceCall), ...(await callsOfOpenChildren(engine, run))]
    }),
  )
  return calls.flat().map((call) => ({ ...call, task: `${address}/${call.task}` }))
}

/**
 * Returns the child runs at an address since its task was last completed: of abandoned attempts and of the current
 * one.
 */
export async function runsSinceDone(engine: Engine, state: RunState, address: string): Promise<RunState[]> {
  const known = state.tasks.get(taskInPath(address))
  const attempts = known ? attemptsSinceDone(state, known) : []
  const readChild = childReader(engine.store, engine.within)
  const own = attempts.filter(({ task, path }) => childAddress(task, path) === address)
  const read = await Promise.all(own.map(({ child }) => readChild(child)))
  const lost = known?.name === address ? await runsOfLostAttempts(engine, state, address) : []
  return [...lost, ...read.filter((run) => run !== undefined)]
}

/**
 * Returns the child runs of attempts whose entries were removed from the journal by hand. Their incarnation tells them
 * from leftovers of a deleted run.
 */
async function runsOfLostAttempts({ store }: Engine, state: RunState, task: string): Promise<RunState[]> {
  const found: RunState[] = []
  if (!isHandEdited(state) && !state.handEdited) return found
  for (let number = 1; ; number++) {
    const path = attemptPath(task, number)
    if (state.attempts.has(path)) continue
    const run = await readStateIfExists(store, childRunId(state.run, path))
    if (!run) return found
    if (run.incarnation === childIncarnation(state, path)) found.push(run)
  }
}
