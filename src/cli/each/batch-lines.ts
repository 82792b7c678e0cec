// The runs in progress, as lines for a terminal of a given size: a line per run, and a sum. Ended runs are printed
// above, and stay.
import { columns } from '../../text/columns.ts'
import { shorten } from '../../text/plain-text.ts'
import { amount, dollars, duration, plural } from '../output/words.ts'
import { spinner, type Line, type Size } from '../live/tree-lines.ts'
import type { LiveRun, LiveTask } from '../live/tree.ts'

export interface LiveBatch {
  readonly total: number
  readonly ended: number
  readonly ms: number
  /** Sums over ended runs and runs in progress. */
  readonly tokens: number
  readonly cost: number | undefined
  readonly running: readonly { readonly name: string; readonly run: LiveRun }[]
}

const widest = 120

export function batchLines(batch: LiveBatch, size: Size, frame: number): Line[] {
  const width = Math.min(size.width, widest)
  const room = Math.max(1, size.height - 3)
  const hidden = batch.running.length - room
  const shown = hidden > 0 ? batch.running.slice(0, room - 1) : batch.running
  const name = Math.max(0, ...shown.map((one) => columns(one.name)))
  const turning = spinner[frame % spinner.length] ?? ''
  const lines = shown.map((one): Line => {
    const head = `  ${turning} ${one.name.padStart(name)}  `
    const tokens = one.run.tokens === 0 ? '' : `${amount(one.run.tokens)} tokens`
    // a narrow terminal has room for the names only
    const numbers = width >= 60 ? `${duration(one.run.ms).padStart(8)}${tokens.padStart(13)}` : ''
    const space = Math.max(1, width - 1 - columns(head) - numbers.length)
    const id = shorten(one.run.runId, space)
    const left = space - columns(id) - 2
    const words = left > 0 ? `  ${shorten(runActivity(one.run), left)}` : ''
    const gap = ' '.repeat(space - columns(id) - columns(words))
    return [{ text: head, format: 'cyan' }, id, { text: words, format: 'dim' }, gap + numbers]
  })
  const more: Line[] = hidden > 0 ? [[{ text: `  … ${plural(hidden + 1, 'more run')} under way`, format: 'dim' }]] : []
  return [...lines, ...more, sumLine(batch, width)]
}

/** The first task in progress, also within a nested crew. */
function runActivity({ tasks }: Pick<LiveRun, 'tasks'>): string {
  const busy = tasks.find(({ status }) => status === 'running' || status === 'waiting')
  if (!busy) return ''
  const within = runActivity(busy)
  return within === '' ? taskActivity(busy) : `${busy.name}: ${within}`
}

function taskActivity({ name, activity: doing }: LiveTask): string {
  return [name, doing].filter(Boolean).join(' · ')
}

function sumLine({ total, ended, ms, tokens, cost }: LiveBatch, width: number): Line {
  const sum = [`${ended} of ${plural(total, 'run')}`, duration(ms), `${amount(tokens)} tokens`]
  const price = cost === undefined || cost === 0 ? [] : [dollars(cost)]
  return [{ text: `  ${shorten([...sum, ...price, 'Ctrl-C stops'].join(' · '), width - 3)}`, format: 'dim' }]
}
