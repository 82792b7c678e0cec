// How a command says that it could not do what it was asked: one line, which ends with what to type next.
import { shellWord } from '../engine/people/commands.ts'
import { messageOf, RepriseError, type ErrorCode } from '../errors.ts'
import { redact } from '../secrets/redact.ts'
import { exitCodeOf, UsageError, type ExitCode } from './exit-codes.ts'
import type { Invocation } from './invocation.ts'

/** Where an error is about no run that it knows by its id. */
const noRun = '<run>'

/** Added to errors of the library, which knows calls and not commands, when their own words name no command. */
const hints: { readonly [code in ErrorCode]?: (run: string) => string } = {
  INPUT_MISSING: () => 'on the command line: reprise … --input name=value',
  INPUTS_DIFFER: () => 'on the command line: another --id, or reprise replay -t <task> --input name=value',
  MODEL_KEY_MISSING: () => 'in the environment, or in a .env file in this folder',
  QUESTION_NOT_FOUND: (run) => `see: reprise show ${run}`,
  QUESTION_ANSWERED: (run) => `go on with: reprise resume ${run}`,
  OUTPUT_STALE: () => 'on the command line: reprise refresh, or --stale rerun',
  RUN_EXISTS: (run) => `on the command line: --as <id>, or reprise delete ${run}`,
  RUN_HELD: (run) => `look at it with: reprise show ${run}`,
  RUN_NOT_FOUND: (run) => (run === noRun ? 'with: reprise run' : 'see: reprise runs'),
  TASK_NOT_FOUND: () => 'see: reprise tasks',
}

/** Prints the error and gives the code to exit with. */
export function reportFailure(error: unknown, { terminal, complete }: Invocation): ExitCode {
  const known = RepriseError.isInstance(error) ? error : undefined
  const message = redact(complete(known ? withHint(known) : messageOf(error)))
  if (terminal.json) {
    const code = known?.code ?? (error instanceof UsageError ? 'USAGE' : 'INTERNAL')
    terminal.record({ error: { code, message, runId: known?.runId, task: known?.task } })
  }
  terminal.loud.line({ text: 'error:', format: 'red' }, ` ${message}`)
  const stack = stackOf(error)
  if (stack !== undefined) terminal.loud.line({ text: redact(stack), format: 'dim' })
  return exitCodeOf(error)
}

/** Of what nobody foresaw, and of what a crew's file threw when it was loaded: where and why is only said there. */
function stackOf(error: unknown): string | undefined {
  const unforeseen = error instanceof UsageError ? error.cause : error
  return unforeseen instanceof Error && !RepriseError.isInstance(unforeseen) ? unforeseen.stack : undefined
}

function withHint(error: RepriseError): string {
  const hint = error.message.includes('reprise ')
    ? undefined
    : hints[error.code]?.(error.runId === undefined ? noRun : shellWord(error.runId))
  return hint === undefined ? error.message : `${error.message} (${hint})`
}
