// A task that fails ends its attempt, and the journal records that before anybody is told: a resume starts a new one.
import { defined } from '../../base/defined.ts'
import { RepriseError, type ErrorCode } from '../../base/errors.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import { onceCalls } from '../calls/once.ts'
import type { Life, ActiveAttempt } from '../life.ts'
import { callsOfOpenChildren } from './child-calls.ts'

export interface TaskFailure {
  readonly code: ErrorCode
  /** What happened, without the task's name, which is added where it is reported. */
  readonly message: string
  readonly cause?: unknown
  /** Where the user's own code threw. */
  readonly stack?: string | undefined
  /** Entries that belong before the failure. */
  readonly entries?: readonly NewEntry[]
}

/** The error to throw, once the failure is recorded. */
export async function failTask(
  { life, task }: Pick<ActiveAttempt, 'life' | 'task'>,
  { code, message, cause, stack, entries = [] }: TaskFailure,
): Promise<RepriseError> {
  const path = life.state.tasks.get(task.name)?.attempts.at(-1) ?? task.name
  const error = new RepriseError(code, message, { runId: life.state.run, task: task.name, cause })
  const final = (await continuesWithout(life, task.name, error)) ? { final: true as const } : {}
  const failure = { code, message, ...defined({ stack }) }
  await life.append([...entries, { type: 'task.failed', path, error: failure, ...final }])
  return error
}

/**
 * Failures that are the task's own. Others are of the store, of the crew's code, or of callbacks: the next task would
 * have them, too.
 */
const ofTask: ReadonlySet<ErrorCode> = new Set([
  'INPUT_INVALID',
  'INPUT_MISSING',
  'ITERATIONS_EXHAUSTED',
  'MCP_FAILED',
  'MODEL_FAILED',
  'OUTPUT_REFUSED',
  'TASK_FAILED',
  'TIME_EXHAUSTED',
])

/** Whether the run goes on without the task. Not while nobody knows whether a call of it happened. */
async function continuesWithout(life: Life, task: string, error: RepriseError): Promise<boolean> {
  const { crew, signal, state, engine } = life
  if (crew.onTaskFailure !== 'continue' || signal.aborted || !ofTask.has(error.code) || isDecidedByPerson(error))
    return false
  const below = await callsOfOpenChildren(engine, state)
  const within = below.filter((call) => call.task.startsWith(`${task}/`))
  const own = onceCalls(state, task).filter((call) => !call.inherited)
  return ![...own, ...within].some(({ outcome }) => outcome === 'unknown')
}

/** Records that the run continues without a task that failed. False when the failure is to end the run. */
export async function continueWithoutTask(life: Life, task: string, error: RepriseError): Promise<boolean> {
  const { state, crew } = life
  const known = state.tasks.get(task)
  if (known?.final !== true) {
    if (!(await continuesWithout(life, task, error))) return false
    const message = redact(failureMessage(error.reason, error.tasks))
    const stack = thrownStack(error)
    const failure = { code: error.code, message, ...defined({ stack }) }
    const path = known?.attempts.at(-1) ?? task
    await life.append([{ type: 'task.failed', path, error: failure, final: true }])
  }
  crew.logger.warn(`run ${state.run}: task ${task} failed: ${error.reason}; the run continues without it`)
  return true
}

/** Which task failed within a nested crew is part of the message: the entry names its own task separately. */
export function failureMessage(reason: string, tasks: readonly string[] = []): string {
  const within = tasks.slice(1)
  return within.length === 0 ? reason : `its task ${within.join('/')} failed: ${reason}`
}

export function failByPerson(work: Pick<ActiveAttempt, 'life' | 'task'>, reason: string): Promise<RepriseError> {
  const cause = new DecidedByPerson(reason)
  return failTask(work, { code: 'TASK_FAILED', message: `a person's answer failed it: ${reason}`, cause })
}

/** The cause of a failure that a person wants: nobody tries again unasked. */
class DecidedByPerson {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

export function isDecidedByPerson(error: unknown): boolean {
  return error instanceof DecidedByPerson || (RepriseError.isInstance(error) && isDecidedByPerson(error.cause))
}

/** Of a function or a crew, which nobody can ask for another output. */
export function schemaFailure(reason: string): TaskFailure {
  return { code: 'OUTPUT_REFUSED', message: `what it gave does not fit its schema: ${reason}` }
}
