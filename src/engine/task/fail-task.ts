// Failures of tasks. A failure ends the attempt and is journaled before it is reported; a resume starts a new attempt.
import { defined } from '../../base/options.ts'
import { RepriseError, type ErrorCode } from '../../base/errors.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import { onceCalls } from '../calls/once.ts'
import type { Life, ActiveAttempt } from '../life.ts'
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

/** Records the failure and returns the error to throw. */
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

export function failByPerson(work: Pick<ActiveAttempt, 'life' | 'task'>, reason: string): Promise<RepriseError> {
  const cause = new DecidedByPerson(reason)
  return failTask(work, { code: 'TASK_FAILED', message: `a person's answer failed it: ${reason}`, cause })
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
