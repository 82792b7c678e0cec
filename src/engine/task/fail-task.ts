// A task that fails ends its attempt, and the journal records that before anybody is told: a resume starts a new one.
import { defined } from '../../defined.ts'
import { RepriseError, type ErrorCode } from '../../errors.ts'
import type { NewEntry } from '../../journal/entries.ts'
import type { Work } from '../life.ts'

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
  { life, task }: Pick<Work, 'life' | 'task'>,
  { code, message, cause, stack, entries = [] }: TaskFailure,
): Promise<RepriseError> {
  const path = life.state.tasks.get(task.name)?.attempts.at(-1) ?? task.name
  await life.append([...entries, { type: 'task.failed', path, error: { code, message, ...defined({ stack }) } }])
  return new RepriseError(code, message, { runId: life.state.run, task: task.name, cause })
}

export function failByPerson(work: Pick<Work, 'life' | 'task'>, reason: string): Promise<RepriseError> {
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

export function isDecided(error: unknown): boolean {
  return error instanceof DecidedByPerson || (RepriseError.isInstance(error) && isDecided(error.cause))
}

/** Of a function or a crew, which nobody can ask for another output. */
export function unfitting(reason: string): TaskFailure {
  return { code: 'OUTPUT_REFUSED', message: `what it gave does not fit its schema: ${reason}` }
}
