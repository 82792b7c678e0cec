// Progress of many runs while this process executes them: a line for each ended run, and on a terminal the runs in
// progress below.
import { rootRunId } from '../../journal/paths.ts'
import type { Entry } from '../../journal/entries.ts'
import { addCost } from '../../models/cost.ts'
import type { Prices } from '../../models/prices.ts'
import type { Store } from '../../stores/store.ts'
import { batchLines, type LiveBatch } from './batch-lines.ts'
import { createTree, type LiveRun, type Tree } from '../live/tree.ts'
import type { Terminal } from '../output/terminal.ts'

export interface BatchRuns {
  readonly store: Store
  readonly prices: Prices | undefined
  readonly total: number
  /** The name of the run's line; undefined for other runs of the store. */
  findName(runId: string): string | undefined
}

export interface BatchProgress extends Disposable {
  /** Receives a recorded entry of one of the runs or of a child run. */
  onEntry(entry: Entry, run: string): Promise<void>
  /** Returns the progress that was seen; undefined if the run had nothing to do. */
  onEnd(runId: string | undefined): LiveRun | undefined
  /** The sums over all ended runs. */
  sum(): Sum
}

export type Sum = Pick<LiveBatch, 'tokens' | 'cost'>

const frameMs = 100

export function openBatch(terminal: Terminal, { store, prices, total, findName: nameOf }: BatchRuns): BatchProgress {
  const clock = (): number => Date.now()
  const begin = clock()
  const trees = new Map<string, Tree>()
  let past: Sum = { tokens: 0, cost: 0 }
  let ended = 0
  let frame = 0

  function look(): LiveBatch {
    const running = [...trees].flatMap(([runId, tree]) => {
      const run = tree.look(clock())
      return run ? [{ name: nameOf(runId) ?? '', run }] : []
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
      if (nameOf(root) === undefined) return
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
