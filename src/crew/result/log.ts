// What a crew says about its work: nothing but warnings, unless it is verbose or has a logger.
import type { CrewDefinition, CrewLogger, Logger, LogDetail } from '../../engine/definition.ts'
import { messageOf } from '../../base/errors.ts'
import type { Entry } from '../../journal/entries.ts'
import { describeEntry } from '../../journal/table/entry-table.ts'
import { nextWords, type NextStep } from '../../base/next.ts'
import { redact } from '../../secrets/redact.ts'

// what a model or a tool said must not steer the terminal
const print = (message: string): void => void process.stderr.write(`${message.replaceAll(/[\p{Cc}]+/gu, ' ')}\n`)

let advice: (next: NextStep) => string = nextWords

/**
 * The command line names its commands where the library names methods, also in what crews without a logger of their own
 * print.
 */
export function setAdvice(words: (next: NextStep) => string): void {
  advice = words
}

let stepsAreShown = false

/** For as long as the command line prints each step itself: a crew that is verbose would print them once more. */
export function muteStepLog(): Disposable {
  stepsAreShown = true
  return {
    [Symbol.dispose]() {
      stepsAreShown = false
    },
  }
}

const warn = (message: string, told?: LogDetail): void =>
  print(`warning: ${told ? `${told.facts}; ${advice(told.next)}` : message}`)

export const verboseLogger: CrewLogger = { info: print, warn }
export const quietLogger: CrewLogger = { info: () => {}, warn: verboseLogger.warn }

/** A logger of somebody else: one that throws must not be taken for a store or a run that fails. */
export function safeLogger(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (message: string): void => {
      try {
        logger[level](message)
      } catch (error) {
        process.emitWarning(`the logger of a crew threw: ${redact(messageOf(error))}`)
      }
    }
  return { info: guard('info'), warn: guard('warn') }
}

/** Logged before the first append, so that a run can be traced to wherever it stopped. */
export function logStart(crew: CrewDefinition, run: string, what: string): void {
  const tasks = crew.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  crew.logger.info(`[${run}] crew ${crew.name}: ${what}; tasks: ${tasks}`)
}

export function logEntry({ logger }: CrewDefinition, run: string, entry: Entry): void {
  if (logger === quietLogger || (stepsAreShown && logger === verboseLogger)) return
  const line = describeEntry(entry)
  if (line !== undefined) logger.info(`[${run}] ${line}`)
}
