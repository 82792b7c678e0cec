// An error of a tool goes to the model, which works around it. Errors that look like a mistake in the tool's code are
// also logged, because otherwise no developer would see them.
import { messageOf } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import type { Life } from '../life.ts'

/** Logs nothing for errors that a tool throws on purpose, such as when a resource is missing or unreachable. */
export function warnOfMistake(life: Life, error: unknown, what: string): void {
  if (isMistake(error)) warnOfThrow(life, error, what, 'the error went to its model')
}

export function warnOfThrow({ crew, state }: Life, error: unknown, what: string, then: string): void {
  const name = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  const [where] = thrownStack(error)?.split('\n') ?? []
  const words = `run ${state.run}: ${what} threw ${name}${messageOf(error)}${where === undefined ? '' : ` ${where}`}; ${then}`
  crew.logger.warn(redact(words))
}

/** Compares names, since classes differ between realms. An error with a cause or a code is about I/O: `fetch`, Node. */
function isMistake(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { name, cause, code } = error as { readonly name?: unknown; readonly cause?: unknown; readonly code?: unknown }
  return (name === 'TypeError' || name === 'ReferenceError') && cause === undefined && code === undefined
}
