// Reports a failed command: one line, which ends with the next command to type if there is one, and below it the stack
// of the user's own code, if that threw.
import { messageOf, RepriseError, type ErrorCode } from '../base/errors.ts'
import { redact } from '../secrets/redact.ts'
import { thrownStack } from '../secrets/thrown-stack.ts'
import { exitCodeOf, UsageError, type ExitCode } from './exit-codes.ts'
import type { Invocation } from './command.ts'
import { printStack } from './output/print-block.ts'
import type { CommandNext } from './write-command.ts'

/** Next steps for library errors that have none: a command, or advice in words. */
const hints: { readonly [code in ErrorCode]?: CommandNext | string } = {
  MODEL_KEY_MISSING: 'set it in the environment, or in a .env file in this folder',
  RUN_NOT_FOUND: { type: 'runs' },
}

/** Prints the error and returns the exit code. */
export function reportFailure(error: unknown, { terminal, commands }: Invocation): ExitCode {
  const facts = redact(messageOf(error))
  const known = RepriseError.isInstance(error) ? error : undefined
  const stack = known ? thrownStack(known) : unexpectedStack(error)
  const next = known ? (known.next ?? hints[known.code]) : error instanceof UsageError ? error.next : undefined
  if (terminal.json) {
    const { code } = error instanceof UsageError ? error : (known ?? { code: 'INTERNAL' })
    const { runId, task } = known ?? {}
    const step = typeof next === 'object' && !commands.isGone(next) ? next : undefined
    const command = step && redact(commands.command(step))
    terminal.record({ error: { code, message: facts, runId, task, next: known?.next && step, command, stack } })
  }
  const advice = typeof next === 'object' ? `; ${redact(commands.advice(next))}` : next === undefined ? '' : `; ${next}`
  terminal.loud.line({ text: 'error:', format: 'red' }, ` ${facts}${advice}`)
  if (stack !== undefined) printStack(terminal.loud, known ? '    ' : '', stack)
  return exitCodeOf(error)
}

/** Returns the stack of an unexpected error, or of an error that the crew's file threw while it was loaded. */
function unexpectedStack(error: unknown): string | undefined {
  const thrown = error instanceof UsageError ? error.cause : error
  return thrown instanceof Error && !RepriseError.isInstance(thrown)
    ? redact(thrown.stack ?? '') || undefined
    : undefined
}
