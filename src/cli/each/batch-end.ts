// Prints how the runs of `reprise run --each` ended: a line or a JSON record for each, then the sum and the next steps.
import type { ForEachResult } from '../../crew/verbs/for-each.ts'
import { messageOf } from '../../base/errors.ts'
import { viewRun } from '../../runs/run-view.ts'
import type { Store } from '../../stores/store.ts'
import { columns, shorten } from '../../text/plain-text.ts'
import type { Invocation } from '../command.ts'
import type { LiveRun } from '../live/tree.ts'
import { amount, dollars, duration, plural } from '../../text/words.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Sum } from './batch.ts'
import { statusFormat } from '../output/run-words.ts'

interface OutcomeLine {
  readonly number: number
  /** The columns of the widest number and run id. */
  readonly widths: { readonly number: number; readonly id: number }
  /** The final progress; undefined if nothing was executed. */
  readonly run: LiveRun | undefined
}

/** Number of runs by outcome, in the words of `outcomeWord`. */
export type Counts = Map<string, number>

export function countWord(counts: Counts, word: string): void {
  counts.set(word, (counts.get(word) ?? 0) + 1)
}

export function outcomeWord(result: ForEachResult, run: LiveRun | undefined): string {
  switch (result.status) {
    case 'completed':
      return run ? 'completed' : 'completed before'
    case 'suspended':
      return result.questions.length > 0 ? 'waiting' : 'stopped'
    case 'failed':
      return result.error.code === 'RUN_HELD' ? 'held' : 'failed'
    default:
      return result.status
  }
}

const widestWord = 'completed'.length
const timeWidth = 7
const tokensWidth = 14

/** Prints a line to standard output; with --json to standard error. */
export function printRunOutcome(terminal: Terminal, { number, widths, run }: OutcomeLine, result: ForEachResult): void {
  const channel = terminal.json ? terminal.err : terminal.out
  const before = result.status === 'completed' && !run
  const word = before ? 'completed' : outcomeWord(result, run)
  const id = (result.runId ?? '').padEnd(widths.id)
  const time = run ? duration(run.ms) : before ? 'before' : ''
  const took = time.padStart(timeWidth) + (run ? `${amount(run.tokens)} tokens` : '').padStart(tokensWidth)
  const head = String(number).padStart(widths.number)
  const left = columns(head) + 2 + widestWord + 2 + columns(id) + took.length + 2
  channel.line(
    { text: `${head}  `, format: 'dim' },
    { text: word.padEnd(widestWord), format: statusFormat(word) },
    `  ${id}${took}  `,
    { text: shorten(outcomeText(result), Math.max(0, channel.width - left)), format: 'dim' },
  )
}

function outcomeText(result: ForEachResult): string {
  switch (result.status) {
    case 'completed': {
      const failed = result.failures.length
      const words = failed === 0 ? '' : `${plural(failed, 'failed task')}; `
      return words + (result.raw.trimStart().split('\n', 1)[0] ?? '')
    }
    case 'suspended':
      return result.questions.length > 0 ? `waits for ${plural(result.questions.length, 'answer')}` : ''
    case 'pending':
      return ''
    default:
      return result.error.facts
  }
}

/** Prints the record of `reprise show --json`, with the number of the line. */
export async function recordOutcome(
  terminal: Terminal,
  store: Store,
  { number: line }: OutcomeLine,
  result: ForEachResult,
): Promise<void> {
  const { runId, status } = result
  const error = 'error' in result ? { code: result.error.code, message: result.error.facts } : undefined
  try {
    // after a refusal, the run may not exist, or may belong to another crew
    const refused = error !== undefined && (await store.row(runId ?? ''))?.status !== status
    terminal.record(
      refused || runId === undefined ? { line, runId, status, error } : { line, ...(await viewRun({ store }, runId)) },
    )
  } catch (cause) {
    terminal.record({ line, runId, status, error: error ?? { code: 'INTERNAL', message: messageOf(cause) } })
  }
}

export function recordPending(terminal: Terminal, line: number, { runId }: ForEachResult): void {
  terminal.record({ line, runId, status: 'pending' })
}

const order = ['completed', 'completed before', 'waiting', 'stopped', 'held', 'failed', 'cancelled', 'not started']

export function printSum(
  { terminal, options, commands }: Invocation<{ id?: string; through?: string }>,
  counts: Counts,
  sum: Sum,
): void {
  const { err, loud } = terminal
  const total = [...counts.values()].reduce((all, count) => all + count, 0)
  const parts = order.flatMap((word) => (counts.has(word) ? [`${counts.get(word)} ${word}`] : []))
  const price = sum.cost === undefined || sum.cost === 0 ? '' : `, ${dollars(sum.cost)}`
  const spent = sum.tokens === 0 ? '' : `; ${amount(sum.tokens)} tokens${price}`
  const done = counts.get('completed before') === total
  const left = ['waiting', 'stopped', 'held', 'failed', 'not started'].some((word) => counts.has(word))
  err.line(`${plural(total, 'run')}: ${parts.join(', ')}${spent}`)
  if (counts.has('waiting'))
    loud.line(commands.advice({ type: 'command', to: 'see the questions', words: ['runs', '--waiting'] }))
  // a run that stopped after --through would stop there again
  const asked = options.through !== undefined && counts.has('stopped')
  if (left)
    err.line(
      commands.advice({ type: 'again', to: 'do what is left', words: [], ...(asked && { instead: '--through' }) }),
    )
  const id = options.id === undefined ? 'again' : `${options.id}-again`
  if (done) err.line(commands.advice({ type: 'again', to: 'start them again', words: ['--id', id] }))
}
