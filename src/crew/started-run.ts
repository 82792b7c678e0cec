// Execution of a run that a verb started: in this process, or followed while another call executes it.
import type { CrewDefinition, Engine, ExecuteOptions } from '../engine/definition.ts'
import { executeRun } from '../engine/run/execute-run.ts'
import { warnOf } from '../engine/warn-of.ts'
import { noteUncountedRun, runCode } from '../engine/task/function-call.ts'
import { toRunTree, type RunTree } from '../runs/run-view.ts'
import type { OpenCrew } from './open-crew.ts'
import { type RunResult, storedResultOf } from './result/result.ts'
import { wakeRun } from './queue/dispatcher.ts'
import { parentRunId } from '../journal/paths.ts'
import type { RunState } from '../journal/state/state.ts'
import type { OpenedRun } from '../engine/run/resume-run.ts'
import type { ActiveKickoff } from '../engine/task/kickoff-child.ts'

/** A run that a verb started or resumed in this process, or follows while another call executes it. */
export interface StartedRun {
  readonly open: OpenCrew
  readonly run: string
  /**
   * Resolves when the run completes or suspends; rejects when it fails or is cancelled. Resolves with undefined if a
   * worker will continue or retry the run.
   */
  readonly result: Promise<RunResult | undefined>
  /** Undefined while another call executes the run. */
  readonly here?: RunHere
  /** Set for a child run of a function task. Resolves when the run suspends; `result` then stays pending. */
  readonly waits?: Promise<void> | undefined
}

/** A run that this process executes, or has executed. */
export interface RunHere {
  readonly engine: Engine
  /** Updated with every journal entry. */
  readonly state: RunState
  /** Resolves with the run tree when this process stops executing the run. Rejects like `result`. */
  readonly end: Promise<RunTree>
  readonly result: StartedRun['result']
}

interface HereOptions {
  /** Set for a child run of a function task. */
  readonly kickedOff?: ActiveKickoff
  /** Executes the run that continues this one, whose result then counts. */
  readonly continueAs?: (next: string) => Promise<StartedRun>
}

/**
 * Executes a run that a verb created or entered. Without a hold, there is nothing to execute. All handles of the run in
 * this crew share the execution.
 */
export function executeHere(
  open: OpenCrew,
  engine: Engine,
  { state, hold }: OpenedRun,
  choices: ExecuteOptions,
  { kickedOff, continueAs }: HereOptions = {},
): StartedRun & { readonly here: RunHere } {
  const { definition: crew, underWay } = open
  const { run } = state
  if (hold && !kickedOff)
    noteUncountedRun(run, crew.name, 'only a kickoff inside the function of a task starts a child run')
  const execution = kickedOff
    ? kickedOff.execute()
    : hold
      ? // what tools and guardrails of this run kick off are not child runs of the function that started this run
        runCode(undefined, () => executeRun(hold, crew, choices))
      : Promise.resolve(state)
  // `engine.within` has the states of the child runs, so that they are not read again
  const end = execution.then((finalState) => toRunTree(engine.store, finalState, engine.within))
  const result = end.then(
    async (tree) => {
      if (tree.state.status === 'queued') return undefined
      const { next: newRun } = tree.state
      if (newRun !== undefined && continueAs) return (await continueAs(newRun)).result
      if (newRun !== undefined) await wakeRun(open, newRun)
      const runResult = await storedResultOf(crew, tree)
      warnOfStale(crew, runResult)
      return runResult
    },
    async (error: unknown) => {
      const retryAt = state.status === 'failed' ? state.retryAt : undefined
      // the run will be retried: `advance` returns this as its outcome, while a kickoff or resume rejects
      if (choices.handsBack && retryAt !== undefined) return undefined
      if (retryAt !== undefined) await wakeRun(open, run, Date.parse(retryAt))
      throw error
    },
  )
  const here = { engine, state, end, result }
  underWay.set(run, here)
  const forget = (): unknown => underWay.get(run) === here && underWay.delete(run)
  result.then(forget, forget)
  void kickedOff?.waits.then(forget)
  return { open, run, result, here, waits: kickedOff?.waits }
}

function warnOfStale(crew: CrewDefinition, { runId, stale }: RunResult): void {
  for (const { task, reasons } of stale) {
    const facts = `run ${runId}: task ${task} is stale: ${reasons.join('; ')}`
    // a child run has no new run of its own
    if (parentRunId(runId) === undefined) warnOf(crew, { facts, next: { type: 'refresh', runId } })
    else crew.logger.warn(facts)
  }
}

/** Rejects if the run failed in a way that its journal doesn't record. */
export async function unjournaledFailure({ engine, state, end }: RunHere): Promise<void> {
  try {
    await end
  } catch (error) {
    // the state may be ahead of the journal: the failure is recorded only if its entry is in the store
    if (state.status !== 'running') for await (const _ of engine.store.read(state.run, state.seq - 1)) return
    throw error
  }
}
