// Collects the problems of files, so that reading continues after a problem, and reports them together with warnings
// about unsupported fields.
import type { Logger } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { safeLogger, quietLogger } from '../open-crew.ts'

/** Maximum number of mistakes in a message. Further ones are usually consequences of these. */
const problemLimit = 30

export interface Problems {
  readonly count: number
  /** Returns the result of `read`. If it throws a RepriseError, collects the error and returns undefined. */
  try<T>(read: () => T): T | undefined
  /** Adds a warning. A repeated warning is reported once, with its first place. */
  note(place: string, what: string, words: string): void
  /** The only error, or an error that combines all; undefined if there are none. */
  readonly error: RepriseError | undefined
  /** The warnings, one sentence each. */
  readonly notes: readonly string[]
}

export function newProblems(): Problems {
  const errors: RepriseError[] = []
  const noted = new Map<string, { readonly places: string[]; readonly words: string }>()
  return {
    get count() {
      return errors.length
    },
    try(read) {
      try {
        return read()
      } catch (error) {
        if (!RepriseError.isInstance(error)) throw error
        errors.push(error)
        return undefined
      }
    },
    note(place, what, words) {
      const known = noted.get(what)
      if (known) known.places.push(place)
      else noted.set(what, { places: [place], words })
    },
    get error() {
      return errors.length > 1 ? combineErrors(errors) : errors[0]
    },
    get notes() {
      return [...noted].map(([what, { places, words }]) => {
        const more = places.length - 1
        const also = more === 0 ? '' : ` (and in ${more} other ${more === 1 ? 'place' : 'places'})`
        return `${places[0]}${also}: ${what}: ${words}`
      })
    },
  }
}

/** Throws the errors, if there are any, and logs the warnings. */
export function reportProblems(problems: Problems, given: Logger | undefined): void {
  if (problems.error) throw problems.error
  const logger = given ? safeLogger(given) : quietLogger
  for (const note of problems.notes) logger.warn(note)
}

function combineErrors(errors: readonly RepriseError[]): RepriseError {
  const lines = errors.slice(0, problemLimit).map((error) => `\n  ${error.facts}`)
  const rest = errors.length - lines.length
  const words = `there are ${errors.length} mistakes:${lines.join('')}${rest > 0 ? `\n  and ${rest} more` : ''}`
  const codes = [...new Set(errors.map(({ code }) => code))]
  const code = codes.length === 1 ? codes[0] : undefined
  return new RepriseError(code ?? 'CREW_INVALID', words, { cause: new AggregateError(errors, words) })
}
