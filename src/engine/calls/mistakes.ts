// What a tool throws is told to its model, which works around it, so that nobody else would ever hear of a mistake in
// the tool's code. Such mistakes are logged too.
import { messageOf } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import type { Life } from '../life.ts'

/** Nothing is logged of what a tool throws on purpose: that something isn't there, or cannot be reached. */
export function warnOfMistake(life: Life, error: unknown, what: string): void {
  if (isMistake(error)) warnOfThrow(life, error, what, 'its model was told')
}

export function warnOfThrow({ crew, state }: Life, error: unknown, what: string, then: string): void {
  const name = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  const [where] = thrownStack(error)?.split('\n') ?? []
  const words = `run ${state.run}: ${what} threw ${name}${messageOf(error)}${where === undefined ? '' : ` ${where}`}; ${then}`
  crew.logger.warn(redact(words))
}

/** By name, which holds in other realms. With a cause or a code, as from `fetch` and Node, it is about the world. */
function isMistake(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { name, cause, code } = error as { readonly name?: unknown; readonly cause?: unknown; readonly code?: unknown }
  return (name === 'TypeError' || name === 'ReferenceError') && cause === undefined && code === undefined
}
