// What is wrong with files is said all at once, and what they ask for in vain is said too: one look is enough to put
// a file right. Nothing is thrown while there is still something to read.
import type { Logger } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { safeLogger, quietLogger } from '../result/log.ts'

/** How many mistakes a message lists: further ones are usually the same again. */
const problemLimit = 30

export interface Problems {
  readonly count: number
  /** What `read` gives; undefined where it was refused, which is kept for the end. */
  try<T>(read: () => T): T | undefined
  /** Something that means nothing here and is no mistake: said once, with all the places that have it. */
  note(place: string, what: string, words: string): void
  /** The one mistake as it is, or one error with all of them. */
  readonly error: RepriseError | undefined
  /** One sentence for each thing that was noted. */
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

/** When all is read: throws what is wrong, and tells the logger what means nothing here. */
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
