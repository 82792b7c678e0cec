// Names of steps: `pay`, or `pay[c7]` with a key. The name is the identity of a step, so it must be the same whenever
// the function of the flow is called.
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { digest } from '../../journal/hash.ts'
import { itemName, nameProblem } from '../../journal/paths.ts'

export type StepKey = string | number

/** Returns the name with the key. Throws OPTION_INVALID. */
export function stepName(name: unknown, key: unknown): string {
  const problem = typeof name === 'string' ? (nameProblem(name) ?? bracketIn(name)) : 'is not a string'
  if (problem !== undefined) {
    const words = `the name of a step is ${describe(name)}, which ${problem}; give up to 100 characters, without /, #, [ or ]`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return key === undefined
    ? (name as string)
    : itemName(name as string, keyInName(`the key of step ${name as string}`, key))
}

export function bracketIn(name: string): string | undefined {
  const bracket = /[[\]]/.exec(name)?.[0]
  return bracket === undefined ? undefined : `contains ${bracket}`
}

const keyLength = 80

/** Escapes the characters that have a meaning in names, and shortens a long key. */
export function keyInName(what: string, key: unknown): string {
  const fits = (typeof key === 'string' && key !== '' && key.isWellFormed()) || Number.isFinite(key)
  if (!fits) {
    const words = `${what} is ${describe(key)}; give a text that is not empty, or a number`
    throw new RepriseError('OPTION_INVALID', words)
  }
  const text = String(key).replaceAll(/[%/#[\]\p{C}]/gu, encodeURIComponent)
  return text.length <= keyLength ? text : `${text.slice(0, 60).toWellFormed()}~${digest(text).slice(0, 12)}`
}
