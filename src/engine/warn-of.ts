// Logs a warning with its next step: as text for users' loggers, and as data for the built-in ones.
import { nextWords } from '../base/next.ts'
import type { CrewDefinition, LogDetail } from './definition.ts'

export function warnOf({ logger }: Pick<CrewDefinition, 'logger'>, { facts, next }: LogDetail): void {
  logger.warn(`${facts}; ${nextWords(next)}`, { facts, next })
}
