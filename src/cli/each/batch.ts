// Progress of many runs while this process executes them: on a terminal, a line for each run in progress and one with
// the sums. They are redrawn below the lines of ended runs, which batch-end.ts prints.
import { rootRunId } from '../../journal/paths.ts'
import type { Entry } from '../../journal/entries.ts'
import { addCost, type Prices } from '../../models/cost.ts'
import type { Store } from '../../stores/store.ts'
import { createTree, type LiveRun, type Tree, type LiveTask } from '../live/tree.ts'
import type { Terminal } from '../output/terminal.ts'
import { columns } from '../../text/columns.ts'
import { shorten } from '../../text/plain-text.ts'
import { amount, dollars, duration, plural } from '../../text/words.ts'
import { spinner, type Line, type Size } from '../live/tree-lines.ts'

interface BatchRuns {
  readonly store: Store
  readonly prices: Prices | undefined
  readonly total: number
  /** Returns the line of inputs that a run is for, such as `line 3`; undefined for other runs of the store. */
  findName(runId: string): string | undefined
}

interface BatchProgress extends Disposable {
  /** Receives a recorded entry of one of the runs or of a child run. */
  onEntry(entry: Entry, run: string): Promise<void>
  /** Counts an ended run. Returns its final progress; undefined if nothing was executed. */
  onEnd(runId: string | undefined): LiveRun | undefined
  /** The sums over all ended runs. */
  sum(): Sum
}

export type Sum = Pick<LiveBatch, 'tokens' | 'cost'>

const frameMs = 100

export function openBatch(terminal: Terminal, { store, prices, total, findName }: BatchRuns): BatchProgress {
  const clock = (): number => Date.now()
  const begin = clock()
  const trees = new Map<string, Tree>()
  let past: Sum = { tokens: 0, cost: 0 }
  let ended = 0
  let frame = 0

  function look(): LiveBatch {
    const running = [...trees].flatMap(([runId, tree]) => {
      const run = tree.look(clock())
      return run ? [{ name: findName(runId) ?? '', run }] : []
    })
    const sum = running.map(({ run }) => run).reduce(add, past)
    return { total, ended, ms: clock() - begin, running, ...sum }
  }

  const block = terminal.openBlock()
  const timer =
    block &&
    setInterval(() => {
      block.draw(batchLines(look(), block.size(), frame++))
    }, frameMs)

  return {
    async onEntry(entry, run) {
      const root = rootRunId(run)
      if (findName(root) === undefined) return
      const tree = trees.get(root) ?? createTree(store, prices, clock)
      trees.set(root, tree)
      await tree.onEntry(entry, run)
    },
    onEnd(runId) {
      ended++
      const run = trees.get(runId ?? '')?.look(clock())
      trees.delete(runId ?? '')
      if (run) past = add(past, run)
      return run
    },
    sum: () => past,
    [Symbol.dispose]() {
      clearInterval(timer)
      block?.clear()
      block?.[Symbol.dispose]()
    },
  }
}

function add(sum: Sum, { tokens, cost }: Sum): Sum {
  return { tokens: sum.tokens + tokens, cost: addCost(sum.cost, cost) }
}

export interface LiveBatch {
  readonly total: number
  readonly ended: number
  readonly ms: number
  /** Sums over ended runs and runs in progress. */
  readonly tokens: number
  readonly cost: number | undefined
  readonly running: readonly { readonly name: string; readonly run: LiveRun }[]
}

const maxWidth = 120

/** Returns a line per run in progress, as far as the terminal has room, and a sum. */
export function batchLines(batch: LiveBatch, size: Size, frame: number): Line[] {
  const width = Math.min(size.width, maxWidth)
  const room = Math.max(1, size.height - 3)
  const hidden = batch.running.length - room
  const shown = hidden > 0 ? batch.running.slice(0, room - 1) : batch.running
  const nameWidth = Math.max(0, ...shown.map((one) => columns(one.name)))
  const turning = spinner[frame % spinner.length] ?? ''
  const lines = shown.map((one): Line => {
    const head = `  ${turning} ${one.name.padStart(nameWidth)}  `
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

/** Describes the first task in progress, also within a nested crew. */
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
