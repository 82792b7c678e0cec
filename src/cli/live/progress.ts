// Progress of a run while this process executes it: a tree that changes in place on a terminal, a line per entry
// elsewhere, nothing with --quiet. It observes the store, so kickoff, resume and fork need no code for it, and all that
// it shows is recorded, except the text of replies in progress.
import { muteStepLog } from '../../crew/open-crew.ts'
import { describeEntry, statusAfter } from '../../journal/table/entry-table.ts'
import type { Run } from '../../crew/run.ts'
import type { Entry } from '../../journal/entries.ts'
import type { Prices } from '../../models/cost.ts'
import type { Store, Batch } from '../../stores/store.ts'
import { treeLines } from './tree-lines.ts'
import { createTree } from './tree.ts'
import type { Block } from '../output/block.ts'
import type { Channel, Terminal } from '../output/terminal.ts'
import { duration } from '../../text/words.ts'
import { decodeEntry } from '../../journal/codec.ts'

export interface Progress extends Disposable {
  /** Receives a recorded entry of the run or of a child run. */
  onEntry(entry: Entry, run: string): void | Promise<void>
  /** Shows what the run's models write from now on. */
  follow(run: Run): void
  /** Keeps the terminal free for as long as `work` takes. */
  whileAsking<T>(work: () => Promise<T>): Promise<T>
}

export function openProgress(
  terminal: Terminal,
  { store, prices }: { readonly store: Store; readonly prices: Prices | undefined },
): Progress {
  const block = terminal.openBlock()
  if (block)
    return liveProgress(
      block,
      createTree(store, prices, () => Date.now()),
    )
  if (terminal.quiet) return { onEntry() {}, ...withoutBlock, [Symbol.dispose]() {} }
  const muted = muteStepLog()
  return { onEntry: progressLines(terminal.err), ...withoutBlock, [Symbol.dispose]: () => muted[Symbol.dispose]() }
}

/** For printed lines, which are not redrawn. */
const withoutBlock: Pick<Progress, 'follow' | 'whileAsking'> = { follow() {}, whileAsking: (work) => work() }

const frameMs = 100

function liveProgress(block: Block, tree: ReturnType<typeof createTree>): Progress {
  let frame: number | undefined = 0
  let asking = 0
  const draw = (): void => {
    const seen = tree.look(Date.now())
    if (seen && asking === 0) block.draw(treeLines(seen, block.size(), frame))
  }
  const timer = setInterval(() => {
    frame = (frame ?? 0) + 1
    draw()
  }, frameMs)
  return {
    onEntry: (entry, run) => tree.onEntry(entry, run),
    follow(run) {
      const listen = async (): Promise<void> => {
        for await (const event of run.events()) if (!('seq' in event)) tree.onDelta(event)
      }
      // the result of the run reports its failure
      listen().catch(() => undefined)
    },
    async whileAsking(work) {
      if (asking++ === 0) block.clear()
      try {
        return await work()
      } finally {
        asking--
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      // the last frame stays
      frame = undefined
      asking = 0
      draw()
      block[Symbol.dispose]()
    },
  }
}

/** Prints a line per entry, with the time since the first one. The command itself prints how the run ended. */
function progressLines(channel: Channel): (entry: Entry, run: string) => void {
  let begin: number | undefined
  return (entry, run) => {
    begin ??= performance.now()
    const words = progressWords(entry, run)
    if (words !== undefined) channel.shortLine(`${duration(performance.now() - begin).padStart(6)}  `, words)
  }
}

function progressWords(entry: Entry, run: string): string | undefined {
  if (entry.type === 'run.created') {
    const origin = entry.parent ? `, made from ${entry.parent.run}` : ''
    const what = entry.flow ? 'flow' : 'crew'
    const tasks = entry.tasks.length === 0 ? '' : `: ${entry.tasks.map((task) => task.name).join(', ')}`
    return `run ${run} of ${what} ${entry.crew}${origin}${tasks}`
  }
  const words = describeEntry(entry)
  switch (statusAfter(entry)) {
    case 'running':
      return `run ${run} ${words ?? ''}`
    case undefined:
    case 'queued':
      return words
    default:
      return undefined
  }
}

interface ObservedStore {
  readonly store: Store
  /** Resolves when the listener has received everything that was written so far. */
  delivered(): Promise<void>
}

/** Wraps a store: the listener receives each entry that is written through it, in order. */
export function observeStore(
  store: Store,
  onEntry: (entry: Entry, run: string) => void | Promise<void>,
): ObservedStore {
  let queue = Promise.resolve()
  const notify = (run: string, { lines }: Batch): void => {
    for (const { bytes, seq } of lines) {
      const decoded = decodeEntry(bytes, (hash) => store.blob(run, hash), `entry ${seq} of run ${run}`)
      // showing progress must not fail a run
      queue = queue.then(async () => onEntry(await decoded, run)).catch(() => {})
    }
  }
  const append: Store['append'] = async (lease, after, batch) => {
    const waiting = await store.append(lease, after, batch)
    notify(batch.run ?? lease.run, batch)
    return waiting
  }
  const create: Store['create'] = async (row, batch, ...more) => {
    const result = await store.create(row, batch, ...more)
    if (result.created) notify(row.run, batch)
    return result
  }
  const observed = new Proxy(store, {
    get(target, key) {
      if (key === 'append') return append
      if (key === 'create') return create
      const member: unknown = Reflect.get(target, key, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
  return { store: observed, delivered: () => queue }
}
