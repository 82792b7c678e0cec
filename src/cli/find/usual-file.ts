// Finds the crew's file if a command names none.
import { existsSync, readFileSync } from 'node:fs'
import { messageOf } from '../../base/errors.ts'
import { UsageError } from '../exit-codes.ts'

export const usualPlaces: readonly string[] = ['crew.ts', 'crew.mts', 'crew.js', 'src/crew.ts', 'src/crew.js']

/**
 * Returns the file that package.json names as `reprise.crew`, else the first of the usual places that exists. Throws a
 * UsageError if package.json is invalid.
 */
export function usualFile(): string | undefined {
  return declaredFile() ?? usualPlaces.find((place) => existsSync(place))
}

function declaredFile(): string | undefined {
  if (!existsSync('package.json')) return undefined
  let declared: unknown
  try {
    declared = (JSON.parse(readFileSync('package.json', 'utf8')) as { reprise?: { crew?: unknown } } | null)?.reprise
      ?.crew
  } catch (error) {
    throw new UsageError(`package.json cannot be read: ${messageOf(error)}; correct it, or name the crew's file`)
  }
  if (declared === undefined || typeof declared === 'string') return declared
  throw new UsageError(`"reprise": { "crew" } in package.json is ${JSON.stringify(declared)}; give the path of a file`)
}
