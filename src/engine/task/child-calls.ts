// What the runs of crew tasks, and those that functions kicked off, have called. It is copied to the parent when the
// task is done. Until then, and for attempts that were given up, it is only in those runs, and must be read from there
// before another run is made. Each call is counted once: calls that a run was told about are not its own.
import { isHandEdited } from '../../journal/state/hand-edits.ts'
import type { OnceCall } from '../../journal/entries.ts'
import { attemptPath, childAddress, childRunId, taskInPath } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { attemptsSinceDone, unfinishedCrews } from '../../journal/state/tally.ts'
import { childReader } from './children.ts'
import type { Engine } from '../definition.ts'
import { callsToInherit, toOnceCall } from '../calls/once.ts'
import { childIncarnation } from '../read/incarnation.ts'
import { readStateIfExists } from '../read/read-run.ts'

/** What the unfinished children of a run have called so far. */
export async function callsOfOpenChildren(engine: Engine, state: RunState): Promise<OnceCall[]> {
  const under = unfinishedCrews(state).map(({ task, path }) => childAddress(task, path))
  const addresses = new Set([...state.tasks.keys(), ...under])
  const calls = await Promise.all(
    [...addresses].map(async (address) => callsOfRuns(engine, address, await runsSinceDone(engine, state, address))),
  )
  return calls.flat()
}

/**
 * What earlier runs of this task have called: of the runs that this one was made from, and of its own earlier attempts.
 * `address` is its name, or that of what a function kicked off: `chapters/intro`.
 */
export async function earlierChildCalls(engine: Engine, state: RunState, address: string): Promise<OnceCall[]> {
  const done = state.tasks.get(taskInPath(address))?.childCalls ?? []
  const open = await callsOfRuns(engine, address, await runsSinceDone(engine, state, address))
  const own = [...done, ...open].map((call) => ({ ...call, own: true as const }))
  return [...state.inheritedCalls, ...own]
    .filter((call) => call.task.startsWith(`${address}/`))
    .map((call) => ({ ...call, task: call.task.slice(address.length + 1) }))
}

/** What these runs, and those that work for them, have called; as calls of what is at the address. */
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
 * The runs of the attempts at it since it was last done, as far as they were created: those that were given up, and the
 * current one.
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
 * Runs of attempts whose start a person removed from the journal. Their incarnation shows that they are this run's, and
 * not the remains of a deleted one.
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
