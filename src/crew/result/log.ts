// What a crew logs: only warnings, unless it is verbose or has a logger.
import type { CrewDefinition, CrewLogger, Logger, LogDetail } from '../../engine/definition.ts'
import { messageOf } from '../../base/errors.ts'
import type { Entry } from '../../journal/entries.ts'
import { describeEntry } from '../../journal/table/entry-table.ts'
import { nextWords, type NextStep } from '../../base/next.ts'
import { redact } from '../../secrets/redact.ts'

// texts of models and tools must not send control sequences to the terminal
const print = (message: string): void => void process.stderr.write(`${message.replaceAll(/[\p{Cc}]+/gu, ' ')}\n`)

let advice: (next: NextStep) => string = nextWords

/** Lets the command line name its commands where the library names methods, also in the output of built-in loggers. */
export function setAdvice(words: (next: NextStep) => string): void {
  advice = words
}

let stepsAreShown = false

/** Used while the command line prints each step itself, which a verbose crew would print again. */
export function muteStepLog(): Disposable {
  stepsAreShown = true
  return {
    [Symbol.dispose]() {
      stepsAreShown = false
    },
  }
}

const warn = (message: string, detail?: LogDetail): void =>
  print(`warning: ${detail ? `${detail.facts}; ${advice(detail.next)}` : message}`)

export const verboseLogger: CrewLogger = { info: print, warn }
export const quietLogger: CrewLogger = { info: () => {}, warn: verboseLogger.warn }

/** Guards against a user's logger that throws: the error must not look like a failure of the store or the run. */
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

/** Logged before the first append, so that the log names every run, however early it stops. */
export function logStart(crew: CrewDefinition, run: string, what: string): void {
  const tasks = crew.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  crew.logger.info(`[${run}] crew ${crew.name}: ${what}; tasks: ${tasks}`)
}

export function logEntry({ logger }: CrewDefinition, run: string, entry: Entry): void {
  if (logger === quietLogger || (stepsAreShown && logger === verboseLogger)) return
  const line = describeEntry(entry)
  if (line !== undefined) logger.info(`[${run}] ${line}`)
}
