// Executes a run that a verb created or resumed. Meanwhile, handles of the same crew share this execution.
import type { CrewDefinition } from '../engine/definition.ts'
import { executeRun } from '../engine/run/execute-run.ts'
import { warnOf } from '../engine/warn-of.ts'
import { runCode, runningCode, warnOfRunBeside } from '../engine/task/function-call.ts'
import { toRunTree } from '../runs/run-tree.ts'
import type { StartedRun, OpenCrew, ExecutingRun } from './open-crew.ts'
import type { RunResult } from './result/result.ts'
import { wakeRun } from './queue/wake-run.ts'
import { storedResultOf } from './result/stored-result.ts'

/** Starts at once, unless the run has nothing to do. */
export function execute(open: OpenCrew, { engine, outcome: taken, choices, kickedOff }: StartedRun): ExecutingRun {
  const { definition: crew, underWay } = open
  const state = taken.is === 'held' ? taken.hold.state : taken.state
  const code = runningCode()
  if (code && taken.is === 'held' && !kickedOff) {
    code.uncounted.add(state.run)
    warnOfRunBeside(code, {
      crew: crew.name,
      run: state.run,
      why: 'only kickoffs of function tasks start child runs',
    })
  }
  const last = kickedOff
    ? kickedOff.execute()
    : taken.is === 'held'
      ? // kickoffs of its tools and guardrails are not child runs of the function that started it
        runCode(undefined, () => executeRun(taken.hold, crew, choices))
      : Promise.resolve(state)
  // the state of its child runs is at hand, and not read again
  const end = last.then((left) => toRunTree(engine.store, left, engine.within))
  const result = end.then(
    async (unit) => {
      if (unit.state.status === 'queued') return undefined
      const given = await storedResultOf(crew, unit)
      warnOfStale(crew, given)
      return given
    },
    async (error: unknown) => {
      const retryAt = state.status === 'failed' ? state.retryAt : undefined
      // a retry follows: advance returns that as its outcome, while a kickoff or resume rejects
      if (choices.handsBack && retryAt !== undefined) return undefined
      if (retryAt !== undefined) await wakeRun(open, state.run, Date.parse(retryAt))
      throw error
    },
  )
  const life = { engine, state, end, result }
  underWay.set(state.run, life)
  const over = (): unknown => underWay.get(state.run) === life && underWay.delete(state.run)
  result.then(over, over)
  void kickedOff?.waits.then(over)
  return life
}

function warnOfStale(crew: CrewDefinition, { runId, stale }: RunResult): void {
  const next = { act: 'refresh', runId } as const
  for (const { task, reasons } of stale) {
    const facts = `run ${runId}: task ${task} is stale: ${reasons.join('; ')}`
    warnOf(crew, { facts, next })
  }
}

/** Rejects if the run failed in a way that its journal doesn't record. */
export async function unjournaledFailure({ engine, state, end }: ExecutingRun): Promise<void> {
  try {
    await end
  } catch (error) {
    // the state may be ahead of the journal
    if (state.status !== 'running') for await (const _ of engine.store.read(state.run, state.seq - 1)) return
    throw error
  }
}
