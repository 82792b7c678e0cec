// The `once` calls of child runs, of nested crews and of kickoffs by functions. They are copied to the parent when the
// task is done. Until then, and for abandoned attempts, only the child runs have them, so they are read from there
// before another child run is created. Each call is counted once: calls that a run inherited are not its own.
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

/** The calls of a run's unfinished children so far. */
export async function callsOfOpenChildren(engine: Engine, state: RunState): Promise<OnceCall[]> {
  const unfinished = unfinishedCrews(state).map(({ task, path }) => childAddress(task, path))
  const addresses = new Set([...state.tasks.keys(), ...unfinished])
  const calls = await Promise.all(
    [...addresses].map(async (address) => callsOfRuns(engine, address, await runsSinceDone(engine, state, address))),
  )
  return calls.flat()
}

/**
 * The calls of earlier child runs at an address: inherited from the parent of a fork, and of earlier attempts in this
 * run. `address`: the name of the task, or of a kickoff by a function (`chapters/intro`).
 */
export async function earlierChildCalls(engine: Engine, state: RunState, address: string): Promise<OnceCall[]> {
  const done = state.tasks.get(taskInPath(address))?.childCalls ?? []
  const open = await callsOfRuns(engine, address, await runsSinceDone(engine, state, address))
  const own = [...done, ...open].map((call) => ({ ...call, own: true as const }))
  return [...state.inheritedCalls, ...own]
    .filter((call) => call.task.startsWith(`${address}/`))
    .map((call) => ({ ...call, task: call.task.slice(address.length + 1) }))
}

/** The calls of these runs and their child runs, with tasks as seen from the parent (`research/search`). */
export async function callsOfRuns(engine: Engine, address: string, runs: readonly RunState[]): Promise<OnceCall[]> {
  const calls = await Promise.all(
    runs.map(async (run) => {
      const own = callsToInherit(run).filter((call) => !call.inherited)
      return [...own.map(toOnceCall), ...(await callsOfOpenChildren(engine, run))]
    }),
  )
  return calls.flat().map((call) => ({ ...call, task: `${address}/${call.task}` }))
}

/** The child runs at an address since its task was last completed: of abandoned attempts, and the current one. */
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
 * Child runs of attempts whose entries were removed from the journal by hand. Their incarnation tells them from
 * leftovers of a deleted run.
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
