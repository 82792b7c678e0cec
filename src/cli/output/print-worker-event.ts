// Prints what a worker does, a line per event, for people and for logs.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { WorkerEvent } from '../../workers/report/events.ts'
import { duration, plural } from '../../text/words.ts'
import type { Format, Terminal } from './terminal.ts'

export function printWorkerEvent(terminal: Terminal, event: WorkerEvent): void {
  const at = new Date().toISOString()
  if (terminal.json) {
    const error = 'error' in event && event.error !== undefined ? { error: errorRecord(event.error) } : {}
    terminal.record({ at, ...event, ...error })
    return
  }
  // too many for people: every worker reports every run that wakes up
  if (event.type === 'woken') return
  const { text, format } = eventWords(event)
  // problems are printed even with --quiet
  const channel = format === 'yellow' || format === 'red' ? terminal.loud : terminal.err
  channel.line({ text: `${second(at)} `, format: 'dim' }, { text, format })
}

/** Without milliseconds: `2026-11-16T15:51:22Z`. */
function second(at: string): string {
  return `${at.slice(0, 19)}Z`
}

interface Words {
  readonly text: string
  readonly format?: Format
}

function eventWords(event: Exclude<WorkerEvent, { type: 'woken' }>): Words {
  switch (event.type) {
    case 'started': {
      const { name, crews, stores, concurrency, maxRuns = {}, dispatcher, url } = event
      const limits = crews.map((crew) =>
        Object.hasOwn(maxRuns, crew) ? `${crew} (at most ${maxRuns[crew]} in all workers)` : crew,
      )
      const who = `${name === undefined ? '' : ` as ${name}`}${dispatcher === undefined ? '' : ` for ${dispatcher}`}`
      const served = `serving ${limits.join(', ')} from ${stores.join(', ')}${who}, up to ${plural(concurrency, 'run')} at once`
      return { text: url === undefined ? served : `${served}; health and metrics: ${url}` }
    }
    case 'claimed':
      return { text: `run ${event.runId} of crew ${event.crew}: claimed` }
    case 'left':
      return leftWords(event)
    case 'limited': {
      const others = `${plural(event.maxRuns, 'run')} ${event.maxRuns === 1 ? 'is' : 'are'} in progress elsewhere`
      return { text: `crew ${event.crew}: runs wait, since ${others}, as many as its maxRuns allows` }
    }
    case 'refused':
      return {
        text: `run ${event.runId}: cannot be advanced, and is tried again later: ${errorWords(event.error)}`,
        format: 'red',
      }
    case 'scheduled':
      return { text: `run ${event.runId} of crew ${event.crew}: queued for ${second(event.time)}` }
    case 'unscheduled':
      return {
        text: `schedule ${event.schedule} of crew ${event.crew}: not queued: ${errorWords(event.error)}`,
        format: 'red',
      }
    case 'store-away':
      return { text: `${event.store} is away: ${errorWords(event.error)}`, format: 'yellow' }
    case 'store-back':
      return { text: `${event.store} is back after ${duration(event.seconds * 1_000)}`, format: 'yellow' }
    case 'dispatcher':
      return { text: `${event.dispatcher}: ${event.message}` }
    case 'dispatcher-away':
      return {
        text: `${event.dispatcher} is unreachable, and will be notified again: ${errorWords(event.error)}`,
        format: 'yellow',
      }
    case 'dispatcher-back':
      return { text: `${event.dispatcher} is back`, format: 'yellow' }
    case 'stopping':
      return { text: `stopping: ${plural(event.inProgress, 'run')} to hand back` }
    case 'cut-off':
      return { text: `handed back in the middle of a step: ${event.runs.join(', ')}`, format: 'yellow' }
    case 'stopped':
      return { text: 'stopped' }
  }
}

const outcomes = {
  completed: { text: 'completed', format: 'green' },
  cancelled: { text: 'cancelled' },
  more: { text: 'handed back' },
  waiting: { text: 'suspended', why: 'it waits until a person answers or resumes it' },
  failed: { text: 'failed', format: 'red' },
  held: { text: 'left', why: 'another process is executing it' },
  other: { text: 'left', why: 'it needs another version of the crew' },
} as const satisfies { readonly [outcome: string]: Words & { readonly why?: string } }

function leftWords(event: Extract<WorkerEvent, { type: 'left' }>): Words {
  const { runId, crew, outcome, seconds, at, error } = event
  const { text, why, ...look }: Words & { readonly why?: string } = outcomes[outcome]
  // a run that waits for a time needs no person
  const fixed = at === undefined ? (event.why ?? why) : undefined
  const reason = error === undefined ? fixed : errorWords(error)
  const left = `run ${runId} of crew ${crew}: ${text} after ${duration(seconds * 1_000)}`
  const again = at === undefined ? '' : `; next try at ${second(at)}`
  return { text: `${left}${reason === undefined ? '' : `: ${reason}`}${again}`, ...look }
}

function errorWords(error: unknown): string {
  return redact(messageOf(error)).replaceAll('\n', ' ')
}

function errorRecord(error: unknown): object {
  const known = RepriseError.isInstance(error)
    ? { code: error.code, ...(error.task === undefined ? {} : { task: error.task }) }
    : {}
  return { ...known, message: errorWords(error) }
}
