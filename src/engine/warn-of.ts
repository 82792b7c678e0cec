// A warning that says what to do next: in the library's words, and as data for our own loggers.
import { nextWords } from '../base/next.ts'
import type { CrewDefinition, LogDetail } from './definition.ts'

export function warnOf({ logger }: Pick<CrewDefinition, 'logger'>, { facts, next }: LogDetail): void {
  logger.warn(`${facts}; ${nextWords(next)}`, { facts, next })
}
