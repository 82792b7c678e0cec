// advance: executes a ready run until it rests or time is up. Workers, HTTP functions and `resumeAll` use it. For a run
// that waits, it only records the messages in the inbox; if one of them makes the run ready, the run is resumed.
import {
  abortSignal,
  check,
  oneOf,
  optional,
  shortName,
  wrong,
  type Check,
  checkKeys,
  defined,
} from '../../base/options.ts'
import { changedPolicies, type ChangedPolicy, type Engine } from '../../engine/definition.ts'
import type { Until } from '../../engine/limits/time.ts'
import { asTimedLease, type TimedLease, requestLeases } from '../../engine/lease/leased-tree.ts'
import { recordLateMessages } from '../../engine/inbox/send-message.ts'
import { dueAt, isDue, checkRunId } from '../../read/row-summary.ts'
import { isServedBy, crewLanes } from '../../read/lanes.ts'
import { readRun, runNotFoundError } from '../../read/read-run.ts'
import { RepriseError, asRepriseError } from '../../base/errors.ts'
import type { DispatchedBy } from '../../journal/entries.ts'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { Lease, ClaimLimits } from '../../stores/store.ts'
import { engineForTree, type OpenCrew } from '../open-crew.ts'
import { describeStop } from '../../runs/status.ts'
import { recordedFailure } from '../result/result.ts'
import { enterHere } from './resume.ts'
import { executeHere } from '../started-run.ts'
import type { CrewOptions } from '../options/crew-options.ts'
import { readConcurrency } from './shared-options.ts'

export interface AdvanceOptions {
  /**
   * When to stop: a Date, milliseconds since 1970, or a signal. The run stops between two steps, after at least one, so
   * that no paid result is lost. Default: when the run rests.
   */
  readonly until?: number | Date | AbortSignal | undefined
  /** Stops at once, even within a call, and hands the run back to the workers. */
  readonly signal?: AbortSignal | undefined
  /**
   * A lease from `store.claim`. It is renewed before the first step, since the claim may have taken long, and released
   * in any case. Default: acquire a lease.
   */
  readonly lease?: Lease | undefined
  /** Name of the holder, shown to people along with this process. */
  readonly owner?: string | undefined
  /**
   * What to do with a started task whose code has changed. `continue`: continue it as it was started. `restart`: start
   * it again. `refuse`: reject with DEFINITION_CHANGED. Default: `continue`.
   */
  readonly changed?: ChangedPolicy | undefined
  /** The dispatcher and call that caused this one, recorded in the journal. */
  readonly via?: DispatchedBy | undefined
}

/** How `advance` left the run. */
export type AdvanceOutcome =
  | { readonly status: 'completed' | 'cancelled' }
  /** Time was up, or the signal was aborted. The run is ready to be advanced again. */
  | { readonly status: 'more' }
  /**
   * With `at`, the run waits until that time, in milliseconds since 1970. Without it, the run waits for a person to
   * answer or resume it. `why` is set if it was given up, or has recorded work that its crew has no task for.
   */
  | { readonly status: 'waiting'; readonly at?: number; readonly why?: string }
  /**
   * With `retryAt`, the run is retried at that time, in milliseconds since 1970. Without it, only a resume retries the
   * run.
   */
  | { readonly status: 'failed'; readonly error: RepriseError; readonly retryAt?: number }
  /** Another process executes the run, and has its lease until this time, in milliseconds since 1970. */
  | { readonly status: 'held'; readonly until: number }
  /** The run belongs to another crew, or to a version that this code does not serve. */
  | { readonly status: 'other'; readonly crew: string; readonly version: string }

const momentCheck: Check<number | Date> = check('a Date, or milliseconds since 1970', (value) =>
  Number.isFinite(value instanceof Date ? value.getTime() : value),
)

const leaseCheck: Check<Lease> = check('a lease from `store.claim`', (value) => {
  const { run, token, id } = (value ?? {}) as { readonly [name: string]: unknown }
  return typeof run === 'string' && typeof token === 'number' && typeof id === 'string'
})

const viaCheck: Check<DispatchedBy> = check('{ dispatcher, id }, two strings', (value) => {
  const { dispatcher, id, ...rest } = (value ?? {}) as { readonly [name: string]: unknown }
  return typeof dispatcher === 'string' && typeof id === 'string' && Object.keys(rest).length === 0
})

/**
 * Advances a run, or the root of a child run. Rejects with RUN_NOT_FOUND, OPTION_INVALID, OPTION_UNKNOWN, and the
 * errors of a resume, such as MODEL_KEY_MISSING.
 */
export async function advance(open: OpenCrew, runId: string, options: AdvanceOptions = {}): Promise<AdvanceOutcome> {
  const run = rootRunId(checkRunId(runId))
  checkKeys('advance', options, ['until', 'signal', 'lease', 'owner', 'changed', 'via'])
  const request: Request = {
    run,
    until: options.until instanceof AbortSignal ? options.until : readDeadline('until', options.until),
    signal: optional('signal', options.signal, abortSignal),
    lease: readLease(options.lease),
    changed: optional('changed', options.changed, oneOf(changedPolicies)) ?? 'continue',
    via: optional('via', options.via, viaCheck),
  }
  if (request.lease && request.lease.run !== run) throw wrong('lease', request.lease.run, `the lease of run ${run}`)
  const label = optional('owner', options.owner, shortName)
  const opened = await open.engine()
  const world = label === undefined ? opened.world : { ...opened.world, owner: { ...opened.world.owner, label } }
  return advanceWith(open, engineForTree({ ...opened, world }), request)
}

/** Throws OPTION_INVALID. */
function readLease(given: Lease | TimedLease | undefined): TimedLease | undefined {
  const lease = optional('lease', given, leaseCheck)
  return lease && asTimedLease(lease)
}

/** Throws OPTION_INVALID. */
function readDeadline(name: string, value: number | Date | undefined): number | undefined {
  const read = optional(name, value, momentCheck)
  return read instanceof Date ? read.getTime() : read
}

interface Request {
  readonly run: string
  readonly until: Until | undefined
  readonly signal: AbortSignal | undefined
  readonly lease: TimedLease | undefined
  readonly changed: ChangedPolicy
  readonly via: DispatchedBy | undefined
  /** The run is due, whatever the clock of this process says. */
  readonly knownDue?: boolean
}

async function advanceWith(open: OpenCrew, engine: Engine, request: Request): Promise<AdvanceOutcome> {
  const { run, until, signal, lease, changed, via, knownDue = false } = request
  const { store, world } = engine
  const { definition: crew } = open
  const outcome = (state: RunState): AdvanceOutcome => recordedOutcome(state, world.now().getTime())
  let unused = lease
  const choices = { until, signal, handsBack: true, changed }
  try {
    const row = await store.row(run)
    if (!row) throw runNotFoundError(store, run)
    if (!isServedBy(crew, row)) return { status: 'other', crew: row.crew, version: row.version }
    if (isEnded(row.status) || signal?.aborted) return outcome((await readRun(store, run)).state)
    const claim = { lease, row, via, isDue: knownDue }
    const opened = await enterHere(open, engine, run, { choices, claim })
    // from here on, the hold of the run releases the lease, or has released it
    unused = undefined
    const { state } = opened
    if (opened.hold) {
      const { here } = executeHere(open, engine, opened, choices)
      here.result.catch(() => undefined)
      return await here.end.then((tree) => outcome(tree.state), outcomeOfFailure(state))
    }
    // one of the messages may make the run ready
    const again = { ...request, lease: undefined }
    if (await recordLateMessages(engine, run)) return await advanceWith(open, engine, again)
    // no messages: the store offered the run because it is due by the clock of the store
    if (lease && typeof dueAt(state) === 'number') return await advanceWith(open, engine, { ...again, knownDue: true })
    return outcome(state)
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    if (error.code === 'RUN_CANCELLED') return { status: 'cancelled' }
    if (error.code !== 'RUN_HELD' && error.code !== 'LEASE_LOST') throw error
    return { status: 'held', until: error.until ?? world.now().getTime() + world.leaseMs }
  } finally {
    if (unused) await store.release(unused).catch(() => undefined)
  }
}

/** Returns the outcome of a run that no process executes, from its journal. */
export function recordedOutcome(state: RunState, now: number): AdvanceOutcome {
  if (state.status === 'completed' || state.status === 'cancelled') return { status: state.status }
  if (state.status === 'failed') return failedOutcome(state, recordedFailure(state))
  if (isDue(state, now)) return { status: 'more' }
  const at = dueAt(state)
  if (typeof at === 'number') return { status: 'waiting', at }
  const { run: runId, suspended } = state
  const isParked = suspended?.reason === 'takeovers' || suspended?.reason === 'tasks-changed'
  return { status: 'waiting', ...(isParked ? { why: `it ${describeStop({ runId, suspended })}` } : {}) }
}

/** Turns a recorded failure into an outcome. Any other error is not the run's, and is thrown. */
function outcomeOfFailure(state: RunState): (error: unknown) => AdvanceOutcome {
  return (error) => {
    const failure = RepriseError.isInstance(error) ? error : undefined
    if (!failure || state.status !== 'failed' || unrecorded.has(failure.code)) throw error
    return failedOutcome(state, failure)
  }
}

/** After these errors, the state may be ahead of the journal. */
const unrecorded: ReadonlySet<string> = new Set(['STORE_FAILED', 'STORE_UNAVAILABLE', 'LEASE_LOST', 'RUN_CANCELLED'])

function failedOutcome({ retryAt }: RunState, error: RepriseError): AdvanceOutcome {
  return { status: 'failed', error, ...(retryAt === undefined ? {} : { retryAt: Date.parse(retryAt) }) }
}

export interface ResumeAllOptions {
  /** How many runs may execute at once. Default: 4. */
  readonly concurrency?: number | undefined
  /** Stops at once, and hands the runs in progress back to the workers. */
  readonly signal?: AbortSignal | undefined
  /**
   * When to stop: a Date, or milliseconds since 1970. Each run stops between two steps, after at least one. Default:
   * when all runs rest.
   */
  readonly until?: number | Date | undefined
}

/** Outcome of one run. Also `failed` if the run could not be resumed, whatever its journal says. */
type ResumeAllResult = AdvanceOutcome & { readonly runId: string }

/**
 * Advances all ready runs. Returns outcomes in the order in which the runs first came to rest. Runs beyond `maxRuns` of
 * the crew stay ready. Rejects with OPTION_INVALID or OPTION_UNKNOWN.
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
  const outcomes = new Map<string, ResumeAllResult>()
  const inProgress = new Map<string, Promise<void>>()
  const isOver = (): boolean => (signal?.aborted ?? false) || (until !== undefined && world.now().getTime() >= until)
  const start = (lease: TimedLease): void => {
    const { run } = lease
    const done = advance(open, run, { lease, until, signal })
      .catch((error: unknown): AdvanceOutcome => ({ status: 'failed', error: asRepriseError(error) }))
      .then((outcome) => void outcomes.set(run, { runId: run, ...outcome }))
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
    leases.forEach(start)
    // a finished run may have made another one ready, or be due for a retry
    if (inProgress.size === 0) return [...outcomes.values()]
    await Promise.race(inProgress.values())
  }
}
