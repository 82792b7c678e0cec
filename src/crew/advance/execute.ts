// Has a run executed that was made or taken up: the one way by which every verb does. Whoever asks this crew for the
// run meanwhile is given the life that it has here.
import type { CrewDefinition } from '../../engine/definition.ts'
import { executeRun } from '../../engine/run/execute-run.ts'
import { warnOf } from '../../engine/warn-of.ts'
import { runCode, runningCode, warnOfRunBeside } from '../../engine/task/function-call.ts'
import { toRunTree } from '../../runs/run-tree.ts'
import type { StartedRun, OpenCrew, ExecutingRun } from '../open-crew.ts'
import type { RunResult } from '../result/result.ts'
import { wakeRun } from '../queue/wake-run.ts'
import { storedResultOf } from '../result/stored-result.ts'

/** From now on, unless the run has nothing to do. */
export function execute(open: OpenCrew, { engine, outcome: taken, choices, kickedOff }: StartedRun): ExecutingRun {
  const { definition: crew, underWay } = open
  const state = taken.is === 'held' ? taken.hold.state : taken.state
  const code = runningCode()
  if (code && taken.is === 'held' && !kickedOff) {
    code.uncounted.add(state.run)
    warnOfRunBeside(code, {
      crew: crew.name,
      run: state.run,
      why: 'only what a task that is a function kicks off does',
    })
  }
  const last = kickedOff
    ? kickedOff.execute()
    : taken.is === 'held'
      ? // what its tools and guardrails kick off is no work of a function that began it
        runCode(undefined, () => executeRun(taken.hold, crew, choices))
      : Promise.resolve(state)
  // what the runs of its tasks came to is known here, and not read again
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
      // a worker is not done with it, and whoever has it advanced is told so; a kickoff or a resume is
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
