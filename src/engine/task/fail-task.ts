// Failures of tasks. A failure ends the attempt and is journaled before it is reported; a resume starts a new attempt.
import { defined } from '../../base/options.ts'
import { RepriseError, type ErrorCode } from '../../base/errors.ts'
import type { Failure, NewEntry } from '../../journal/entries.ts'
import { parseObject, throughJson } from '../../journal/json.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import { onceCalls } from '../calls/once.ts'
import { maxBackoffSeconds, type TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'
import { callsOfOpenChildren } from './children.ts'

export interface TaskFailure {
  readonly code: ErrorCode
  /** What happened, without the task's name, which the report adds. */
  readonly message: string
  readonly cause?: unknown
  /** Where user code threw. */
  readonly stack?: string | undefined
  /** Entries to write before the failure. */
  readonly entries?: readonly NewEntry[]
}

interface FailingWork {
  readonly life: Life
  readonly task: Pick<TaskDefinition, 'name' | 'stepRetries'>
}

/** Records the failure and returns the error to throw. */
export async function failTask(
  { life, task }: FailingWork,
  { code, message, cause, stack, entries = [] }: TaskFailure,
): Promise<RepriseError> {
  const path = life.state.tasks.get(task.name)?.attempts.at(-1) ?? task.name
  const error = new RepriseError(code, message, { runId: life.state.run, task: task.name, cause })
  const final = (await continuesWithout(life, task.name, error)) ? { final: true as const } : {}
  const failure = { code, message, ...defined({ stack }), ...(life.state.flow ? thrownMembers(cause) : {}) }
  const retry = await stepRetry(life, task)
  await life.append([...entries, { type: 'task.failed', path, error: failure, ...final, ...retry }])
  return error
}

/** When a failed step of a flow is tried again, if it is. */
async function stepRetry(
  { state, engine }: Life,
  { name, stepRetries }: FailingWork['task'],
): Promise<{ readonly retryAt?: string }> {
  const failures = state.tasks.get(name)?.failures ?? 0
  if (!stepRetries || failures >= stepRetries.times) return {}
  const seconds = Math.min(stepRetries.backoff * 2 ** failures, maxBackoffSeconds)
  return { retryAt: new Date((await engine.store.now()) + seconds * 1_000).toISOString() }
}

/** The error that user code threw before a kill. */
export function thrownError(message: string, { name = 'Error', data }: Pick<Failure, 'name' | 'data'>): Error {
  return Object.assign(new Error(message), data, { name })
}

/** The name and members of an error that user code threw, by which the function of a flow can recognise it. */
export function thrownMembers(cause: unknown): Pick<Failure, 'name' | 'data'> {
  if (!(cause instanceof Error) || RepriseError.isInstance(cause)) return {}
  const { name } = cause
  const known = new Set(['name', 'message', 'stack', 'cause', 'errors'])
  const own = Object.fromEntries(Object.entries(cause).filter(([member]) => !known.has(member)))
  const json = throughJson(own, 'error')
  const text = json.ok && Object.keys(own).length > 0 ? redact(JSON.stringify(json.value)) : undefined
  const data = text === undefined ? undefined : (parseObject(text) as Failure['data'])
  return { ...(name === 'Error' ? {} : { name }), ...(data ? { data } : {}) }
}

/** Whether an error is a failure of the task itself. */
export function isTaskError({ code }: RepriseError): boolean {
  return taskErrors.has(code)
}

/** Failures of the task itself. Other errors, of the store or of callbacks, would hit the next task as well. */
const taskErrors: ReadonlySet<ErrorCode> = new Set([
  'INPUT_INVALID',
  'INPUT_MISSING',
  'ITERATIONS_EXHAUSTED',
  'MCP_FAILED',
  'MODEL_FAILED',
  'OUTPUT_REFUSED',
  'TASK_FAILED',
  'TIME_EXHAUSTED',
])

/** Whether the run continues without the task. It doesn't while one of the task's calls is in doubt. */
async function continuesWithout(life: Life, task: string, error: RepriseError): Promise<boolean> {
  const { crew, signal, state, engine } = life
  if (crew.onTaskFailure !== 'continue' || signal.aborted || !taskErrors.has(error.code) || isDecidedByPerson(error))
    return false
  const childCalls = await callsOfOpenChildren(engine, state)
  const within = childCalls.filter((call) => call.task.startsWith(`${task}/`))
  const own = onceCalls(state, task).filter((call) => !call.inherited)
  return ![...own, ...within].some(({ outcome }) => outcome === 'unknown')
}

/** Records that the run continues without a failed task. Returns false if the failure must end the run. */
export async function continueWithoutTask(life: Life, task: string, error: RepriseError): Promise<boolean> {
  const { state, crew } = life
  const known = state.tasks.get(task)
  const message = redact(failureMessage(error.reason, error.tasks))
  if (known?.final !== true) {
    if (!(await continuesWithout(life, task, error))) return false
    const stack = thrownStack(error)
    const failure = { code: error.code, message, ...defined({ stack }) }
    const path = known?.attempts.at(-1) ?? task
    await life.append([{ type: 'task.failed', path, error: failure, final: true }])
  }
  crew.logger.warn(`run ${state.run}: task ${task} failed: ${message}; the run continues without it`)
  return true
}

/** Adds the failed task of a nested crew to a message; `tasks` begins with the outer task, which the entry names. */
export function failureMessage(reason: string, tasks: readonly string[] = []): string {
  const within = tasks.slice(1)
  return within.length === 0 ? reason : `its task ${within.join('/')} failed: ${reason}`
}

export function failByPerson(work: FailingWork, reason: string): Promise<RepriseError> {
  const { code, reason: message, cause } = failureByPerson(work.life.state.run, reason)
  return failTask(work, { code, message, cause })
}

/** The error of a run that a person failed. */
export function failureByPerson(runId: string, reason: string): RepriseError {
  const cause = new DecidedByPerson(reason)
  return new RepriseError('TASK_FAILED', `a person's answer failed it: ${reason}`, { runId, cause })
}

/** The cause of a failure that a person decided. Such a failure is not retried. */
class DecidedByPerson {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

export function isDecidedByPerson(error: unknown): boolean {
  return error instanceof DecidedByPerson || (RepriseError.isInstance(error) && isDecidedByPerson(error.cause))
}

/** The failure of a function task or nested crew, which cannot be asked for another output. */
export function schemaFailure(reason: string): TaskFailure {
  return { code: 'OUTPUT_REFUSED', message: `its output does not fit its schema: ${reason}` }
}
