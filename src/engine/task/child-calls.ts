// What the runs of crew tasks have called. It is copied to the parent when the task is done. Until then, and for
// attempts that were given up, it is only in those runs, and must be read from there before another run is made. Each
// call is counted once: calls that a run was told about are not its own.
import { edited } from '../../journal/state/hand-edits.ts'
import type { OnceCall } from '../../journal/entries.ts'
import { attemptPath, childRun } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { attemptsSinceDone } from '../../journal/state/tally.ts'
import { readOnce } from './children.ts'
import type { Engine } from '../definition.ts'
import { callsFor, toOnceCall } from '../calls/once.ts'
import { childIncarnation } from '../read/incarnation.ts'
import { readIfThere } from '../read/read-run.ts'

/** What the unfinished children of a run have called so far. */
export async function callsOfOpenChildren(engine: Engine, state: RunState): Promise<OnceCall[]> {
  const calls = await Promise.all(
    [...state.tasks.keys()].map(async (task) => callsUnder(engine, task, await runsSinceDone(engine, state, task))),
  )
  return calls.flat()
}

/**
 * What earlier runs of this task have called: of the runs that this one was made from, and of its own earlier attempts.
 */
export async function callsBefore(engine: Engine, state: RunState, task: string): Promise<OnceCall[]> {
  const done = state.tasks.get(task)?.childCalls ?? []
  const open = await callsUnder(engine, task, await runsSinceDone(engine, state, task))
  const own = [...done, ...open].map((call) => ({ ...call, own: true as const }))
  return [...state.inheritedCalls, ...own]
    .filter((call) => call.task.startsWith(`${task}/`))
    .map((call) => ({ ...call, task: call.task.slice(task.length + 1) }))
}

/** What these runs of a task, and those that work for them, have called; as calls of the task. */
export async function callsUnder(engine: Engine, task: string, runs: readonly RunState[]): Promise<OnceCall[]> {
  const calls = await Promise.all(
    runs.map(async (run) => {
      const own = callsFor(run).filter((call) => !call.inherited)
      return [...own.map(toOnceCall), ...(await callsOfOpenChildren(engine, run))]
    }),
  )
  return calls.flat().map((call) => ({ ...call, task: `${task}/${call.task}` }))
}

/**
 * The runs of the attempts at a task since it was last done, as far as they were created: those that were given up, and
 * the current one.
 */
export async function runsSinceDone(engine: Engine, state: RunState, task: string): Promise<RunState[]> {
  const known = state.tasks.get(task)
  const attempts = known ? attemptsSinceDone(state, known) : []
  const readChild = readOnce(engine.store, engine.within)
  const read = await Promise.all(attempts.map(({ child }) => readChild(child)))
  return [...(await runsOfLostAttempts(engine, state, task)), ...read.filter((run) => run !== undefined)]
}

/**
 * Runs of attempts whose start a person removed from the journal. Their incarnation shows that they are this run's, and
 * not the remains of a deleted one.
 */
async function runsOfLostAttempts({ store }: Engine, state: RunState, task: string): Promise<RunState[]> {
  const found: RunState[] = []
  if (!edited(state) && !state.handEdited) return found
  for (let number = 1; ; number++) {
    const path = attemptPath(task, number)
    if (state.attempts.has(path)) continue
    const run = await readIfThere(store, childRun(state.run, path))
    if (!run) return found
    if (run.incarnation === childIncarnation(state, path)) found.push(run)
  }
}
