// enqueue: queues a run, which is checked and recorded like a kickoff, but not executed. Model keys are not checked,
// since only the executing process needs them: a web server may have none.
import { refuseOutsideSteps } from '../../engine/task/function-call.ts'
import type { Priority } from '../../journal/entries.ts'
import { number, oneOf, optional, checkKeys, isRecord, defined } from '../../base/options.ts'
import { requeue } from '../../engine/inbox/send-message.ts'
import { isGivenUp, moveOf, runMoved, checkNewRunId } from '../../read/row-summary.ts'
import { readRun, otherCrewError } from '../../read/read-run.ts'
import { queueRun } from '../../engine/run/create-run.ts'
import { RepriseError } from '../../base/errors.ts'
import type { RunState } from '../../journal/state/state.ts'
import {
  type InputsBy,
  type NeedsInputs,
  readRawInputs,
  resolveInputs,
  checkInputNames,
  prepareInputs,
  type RawInputs,
} from '../arguments/run-inputs.ts'
import { checkBudgetPrices, checkPlanned, type OpenCrew, logStart } from '../open-crew.ts'
import { checkSameInputs } from '../arguments/check-same-run.ts'
import { readReuse, type Reuse, type InputsOption } from './shared-options.ts'

export type EnqueueOptions<Names extends InputsBy = string> = {
  /** Run id. Repeating the call with the same id and inputs does not queue a second run. Default: a new id. */
  readonly id?: string
  /** Runs with a higher priority are claimed first. Default: `normal`. */
  readonly priority?: PriorityName
  /** Seconds before a worker may start the run. Default: 0. */
  readonly delay?: number
  /** Whether to reuse outputs of earlier tasks with the same code and inputs. Default: false. */
  readonly reuse?: Reuse
} & InputsOption<Names>

/** Arguments of `enqueue`. The options may be omitted if no input is required. */
export type Enqueue<Names extends InputsBy> =
  NeedsInputs<Names> extends true ? [options: EnqueueOptions<Names>] : [options?: EnqueueOptions<Names>]

interface EnqueueRequest {
  readonly id: string | undefined
  /** Undefined if not passed: an existing run then keeps its inputs. */
  readonly inputs: RawInputs | undefined
  readonly reuse: RunState['reuse']
  readonly priority: Priority
  /** When the run is due, or in how many seconds. */
  readonly due: Date | number | undefined
}

/** About 31 years. */
const maxDelaySeconds = 1_000_000_000

/** Checks the options of `enqueue`. Rejects with OPTION_INVALID, OPTION_UNKNOWN or INPUT_INVALID. */
export async function readEnqueue(options: Partial<EnqueueOptions<InputsBy>> = {}): Promise<EnqueueRequest> {
  const timing = isRecord(options) ? ['schedule', 'cron'].find((name) => name in options) : undefined
  if (timing !== undefined)
    throw new RepriseError('OPTION_UNKNOWN', `enqueue has no option "${timing}": ${howToSchedule}`)
  checkKeys('enqueue', options, ['id', 'inputs', 'priority', 'delay', 'reuse'], 'inputs')
  const { id, inputs: given } = options
  const inputs = given === undefined ? undefined : await readRawInputs(given)
  return {
    id: id === undefined ? undefined : checkNewRunId(id),
    inputs,
    reuse: readReuse(options.reuse),
    priority: priorityNumber(optional('priority', options.priority, oneOf(priorities)) ?? 'normal'),
    due: optional('delay in seconds', options.delay, number(0, maxDelaySeconds)) || undefined,
  }
}

interface EnqueueResult {
  readonly runId: string
  /** False if the run already existed. If workers had given up on it, it is queued again. */
  readonly created: boolean
  readonly notBefore?: Date | undefined
}

/**
 * Queues a run. Rejects with INPUTS_DIFFER if a run with this id has other inputs, RUN_NOT_FOUND if it belongs to
 * another crew, and RUN_MOVED if it was moved to another store.
 */
export async function enqueue(open: OpenCrew, request: EnqueueRequest): Promise<EnqueueResult> {
  const { definition: crew } = open
  refuseOutsideSteps(`a run of ${crew.name}`)
  const { id, inputs: given, reuse, priority, due } = request
  const engine = await open.engine()
  const run = id ?? engine.world.newRunId()
  if (id === undefined || !(await engine.store.row(run))) {
    const inputs = given ? resolveInputs(given) : {}
    checkInputNames(crew, inputs)
    // uses the clock of the store, which decides when the run is due
    const notBefore = typeof due === 'number' ? new Date((await engine.store.now()) + due * 1_000) : due
    const prepared = await prepareInputs(crew, inputs, given?.files)
    await checkPlanned(crew, prepared.inputs, () => true)
    await checkBudgetPrices(crew)
    logStart(crew, run, 'queued')
    const origin = defined({ reuse, module: open.module })
    const created = await queueRun(engine, crew, { run, origin, priority, notBefore, ...prepared })
    if (created) return { runId: run, created, notBefore }
  }
  const { state } = await readRun(engine.store, run)
  if (state.crew !== crew.name) throw otherCrewError(run, state.crew, crew.name)
  if (given) checkSameInputs(state, given)
  const move = moveOf(state)
  if (move) throw runMoved(run, move)
  if (isGivenUp(state)) await requeue(engine, run, {}).catch(ignoreExisting)
  return { runId: run, created: false }
}

/** Ignores the error if a concurrent call has requeued the run. */
function ignoreExisting(error: unknown): void {
  if (!RepriseError.isInstance(error) || !['RUN_HELD', 'RUN_ENDED'].includes(error.code)) throw error
}

export const priorities = ['low', 'normal', 'high'] as const
export type PriorityName = (typeof priorities)[number]

const numbers: { readonly [name in PriorityName]: Priority } = { low: -1, normal: 0, high: 1 }

export function priorityNumber(name: PriorityName): Priority {
  return numbers[name]
}

/** Part of the message for attempts to add a schedule where that is impossible. */
export const howToSchedule =
  'a schedule queues a run for each time of a cron expression; call crew.schedule({ cron, inputs }) in the module that exports the crew, or add one to the store by the command line (docs/guides/workers.md#schedules)'
