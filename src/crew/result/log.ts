// What a crew says about its work: nothing but warnings, unless it is verbose or has a logger.
import { movedWords } from '../../engine/read/moved.ts'
import { describeTaskChanges, describeOrphan } from '../../journal/state/describe-task-changes.ts'
import type { CrewDefinition, CrewLogger, Logger, LogDetail } from '../../engine/definition.ts'
import { messageOf } from '../../base/errors.ts'
import type { Entry } from '../../journal/entries.ts'
import { isNestedAttempt, taskInPath } from '../../journal/paths.ts'
import { replyText } from '../../journal/state/state.ts'
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
  if (stepsAreShown && logger === verboseLogger) return
  const line = describeEntry(entry)
  if (line !== undefined) logger.info(`[${run}] ${line}`)
}

/** One line for an entry, or nothing for one that says little by itself. */
export function describeEntry(entry: Entry): string | undefined {
  const at = entry.path ?? ''
  switch (entry.type) {
    case 'run.resumed':
      return `resumed by ${entry.owner.label === undefined ? '' : `${entry.owner.label}, `}process ${entry.owner.pid}${entry.edited ? `; entries of the journal were missing or changed, again: ${entry.edited.tasks.join(', ') || 'nothing'}` : ''}${entry.changes ? `; its tasks have changed: ${describeTaskChanges(entry.changes)}` : ''}`
    case 'run.suspended':
      if (entry.reason === 'moved') return movedWords(entry)
      return `suspended: ${entry.reason}${entry.through === undefined ? '' : ` ${entry.through}`}${entry.orphaned ? `: ${entry.orphaned.map(describeOrphan).join('; ')}` : ''}`
    case 'run.yielded':
      return 'handed back between two steps'
    case 'run.requeued':
      return `left to a worker${entry.by === undefined ? '' : ` by ${entry.by}`}`
    case 'run.imported':
      return 'imported'
    case 'run.woken':
      return `woken by what was recorded in run ${entry.child}`
    case 'run.completed':
      return 'completed'
    case 'run.failed':
      return `failed${entry.task === undefined ? '' : ` in task ${entry.task}`}: ${entry.error.message}`
    case 'run.cancelled':
      return `cancelled${entry.by === undefined ? '' : ` by ${entry.by}`}`
    case 'task.inherited': {
      const why = entry.reasons ? `, since ${entry.reasons.join('; ')}` : ''
      return `task ${at} inherited from run ${entry.from.run}${why}${entry.stale ? ` (stale: ${entry.stale.join('; ')})` : ''}`
    }
    case 'task.started': {
      const what = isNestedAttempt(at) ? `attempt ${at} started` : `task ${taskInPath(at)} started (${at})`
      return `${what}${entry.agent === undefined ? '' : ` by ${entry.agent}`}${entry.because ? `, because ${entry.because.join('; ')}` : ''}`
    }
    case 'task.completed':
      return `${endedPart(at)} completed`
    case 'task.failed':
      return `${endedPart(at)} failed: ${entry.error.message}${entry.final ? '; the run continues without it' : ''}`
    case 'task.skipped':
      return `task ${at} skipped: ${entry.reason}`
    case 'task.edited':
      return `task ${at} edited${entry.by === undefined ? '' : ` by ${entry.by}`}`
    case 'task.invalidated':
      return `task ${at} invalidated${entry.by === undefined ? '' : ` by ${entry.by}`}`
    case 'model.replied': {
      const calls = entry.parts.flatMap((part) => (part.type === 'call' ? [part.tool] : []))
      const own = entry.parts.flatMap((part) => (part.type === 'provider-call' ? [part.tool] : []))
      const used = own.length > 0 ? `used ${own.join(', ')}; ` : ''
      const said = calls.length > 0 ? `calls ${calls.join(', ')}` : shorten(replyText(entry))
      return `model ${at} ${used}${said} (${entry.usage.input} in, ${entry.usage.output} out)`
    }
    case 'model.failed':
      return `model ${at} failed: ${entry.error.message}`
    case 'tool.called':
      return `tool ${at} ${entry.tool} called`
    case 'tool.returned':
      return `tool ${at} ${'result' in entry.outcome ? 'returned' : shorten(JSON.stringify(entry.outcome))}${entry.source === undefined ? '' : ` (${entry.source})`}`
    case 'tool.abandoned':
      return `tool ${at} abandoned: ${entry.reason}`
    case 'guardrail.judged':
      return `answer ${at} ${entry.verdict}${entry.reason === undefined ? '' : `: ${entry.reason}`}`
    case 'context.summarised':
      return `conversation of ${at} summarised up to ${entry.through}: ${shorten(entry.summary)}`
    case 'question.asked':
      return `question ${entry.question.id}: ${entry.question.text}`
    case 'question.answered':
      return `question ${entry.question} answered: ${entry.answer.decision}`
    case 'message.refused':
      return `message ${entry.message} refused: ${entry.reason}`
    case 'file.written':
      return `task ${at} written to ${entry.file}`
    case 'run.created':
    case 'task.offered':
    case 'callback.returned':
      return undefined
  }
}

/** What is part of a step ends without ending its task. */
function endedPart(path: string): string {
  return isNestedAttempt(path) ? `attempt ${path}` : `task ${taskInPath(path)}`
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}
