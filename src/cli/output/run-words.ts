// Words and colours for the status of runs and tasks.
import type { RunResult } from '../../crew/result/result.ts'
import type { TaskFailure } from '../../journal/entries.ts'
import { namesWords, plural, someNames } from '../../text/words.ts'
import type { Channel, Format } from './terminal.ts'
import type { Commands } from '../write-command.ts'

/** `fetch: no answer (so sum was skipped)`. */
export function failureWords({ task, error, skipped }: TaskFailure): string {
  const because =
    skipped.length === 0 ? '' : ` (so ${namesWords(skipped)} ${skipped.length > 1 ? 'were' : 'was'} skipped)`
  return `${task}: ${error.message}${because}`
}

/** Names the failed tasks of a completed run, and how to retry them. */
export function printFailures(
  channel: Channel,
  commands: Commands,
  { runId, failures }: Pick<RunResult, 'runId' | 'failures'>,
): void {
  if (failures.length === 0) return
  channel.line({ text: `it continued without ${plural(failures.length, 'task')} that failed:`, format: 'yellow' })
  for (const failure of failures) channel.line({ text: `  ${failureWords(failure)}`, format: 'yellow' })
  if (canRetry(failures)) channel.line(commands.advice({ type: 'retry', runId }))
}

/**
 * Whether a retry would execute anything. It repeats no nested crew that has an output, so a failed task within one,
 * such as `research/facts`, doesn't count.
 */
export function canRetry(failures: readonly TaskFailure[]): boolean {
  return failures.some(({ task }) => !task.includes('/'))
}

/** ` with c~2, which continues it,` */
export function continuedWords(next: readonly string[]): string {
  return next.length === 0 ? '' : ` with ${someNames(next)}, which ${next.length > 1 ? 'continue' : 'continues'} it,`
}

/** How a suspended run continues. `resume`: the command that resumes it. */
export function continueWords(status: string, resume: string): string {
  return status === 'sleeping' ? `a worker continues it then; without one, ${resume}` : resume
}

export function statusFormat(status: string): Format | undefined {
  switch (status) {
    case 'completed':
    case 'executed':
      return 'green'
    case 'failed':
    case 'cancelled':
      return 'red'
    case 'waiting':
    case 'stopped':
    case 'suspended':
    case 'abandoned':
    case 'started':
      return 'yellow'
    case 'running':
    case 'sleeping':
      return 'cyan'
    default:
      return undefined
  }
}
