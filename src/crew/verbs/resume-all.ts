// resumeAll: advances all ready runs of a crew, like a worker, until none is left.
import { abortSignal, optional } from '../../base/checks.ts'
import { requestLeases, type TimedLease } from '../../engine/lease/lease-keeper.ts'
import { crewLanes } from '../../engine/read/lanes.ts'
import { asRepriseError } from '../../base/errors.ts'
import { checkKeys } from '../../base/options.ts'
import type { ClaimLimits } from '../../stores/store.ts'
import type { OpenCrew } from '../open-crew.ts'
import type { CrewOptions } from '../options/crew-options.ts'
import { readConcurrency } from './shared-options.ts'
import { advance, readDeadline, type AdvanceOutcome } from './advance.ts'
import { defined } from '../../base/defined.ts'

export interface ResumeAllOptions {
  /** How many runs execute at once. Default: 4. */
  readonly concurrency?: number | undefined
  /** Stops at once, and leaves runs in progress to the next worker. */
  readonly signal?: AbortSignal | undefined
  /** When to stop, as a Date or in ms since 1970. Each run stops between two steps, after at least one. */
  readonly until?: number | Date | undefined
}

/** Outcome of one run. `failed` also if the run could not be resumed, whatever its journal says. */
export type ResumeAllResult = AdvanceOutcome & { readonly runId: string }

/**
 * Returns outcomes in the order in which the runs were first claimed. Runs beyond the crew's limit are left to other
 * workers. OPTION_INVALID, OPTION_UNKNOWN.
 */
export async function resumeAll(
  open: OpenCrew,
  options: ResumeAllOptions = {},
  { maxRuns }: Pick<CrewOptions, 'maxRuns'> = {},
): Promise<ResumeAllResult[]> {
  checkKeys('resumeAll', options, ['concurrency', 'signal', 'until'])
  const concurrency = readConcurrency(options.concurrency)
  const until = readDeadline('until', options.until)
  const signal = optional('signal', options.signal, abortSignal)
  const { store, world } = await open.engine()
  const lanes = crewLanes(open.definition)
  const came = new Map<string, ResumeAllResult>()
  const inProgress = new Map<string, Promise<void>>()
  const isOver = (): boolean => (signal?.aborted ?? false) || (until !== undefined && world.now().getTime() >= until)
  const begin = (lease: TimedLease): void => {
    const { run } = lease
    const done = advance(open, run, { lease, until, signal })
      .catch((error: unknown): AdvanceOutcome => ({ status: 'failed', error: asRepriseError(error) }))
      .then((outcome) => void came.set(run, { runId: run, ...outcome }))
      .finally(() => inProgress.delete(run))
    inProgress.set(run, done)
  }
  const claim = (free: number): Promise<TimedLease[]> => {
    const limits: ClaimLimits = { limit: free, exclude: new Set(inProgress.keys()), ...defined({ crewLimit: maxRuns }) }
    return requestLeases(world, () => store.claim(world.owner, world.leaseMs, lanes, limits))
  }
  for (;;) {
    const free = concurrency - inProgress.size
    const leases = isOver() || free === 0 ? [] : await claim(free)
    leases.forEach(begin)
    // a finished run may make another one ready, or its own retry
    if (inProgress.size === 0) return [...came.values()]
    await Promise.race(inProgress.values())
  }
}
