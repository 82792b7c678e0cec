// What a run does, line by line, while this process executes it. It looks at the journal through the store: a line is said
// when its entry is on disk, and a kickoff, a resume and a replay need nothing of their own.
import { describeEntry } from '../crew/log.ts'
import { decodeEntry } from '../journal/codec.ts'
import type { Entry } from '../journal/entries.ts'
import type { Batch, Store } from '../stores/store.ts'
import { duration } from './terminal/words.ts'
import type { Channel } from './terminal/terminal.ts'

export interface ObservedStore {
  readonly store: Store
  /** Resolves when everything that was written so far has been heard. */
  heard(): Promise<void>
}

/** The same store, but `hear` gets each entry, in order, once it is written. */
export function observe(store: Store, hear: (entry: Entry, run: string) => void): ObservedStore {
  let queue = Promise.resolve()
  const tell = (run: string, { lines }: Batch): void => {
    for (const { bytes, seq } of lines) {
      const decoded = decodeEntry(bytes, (hash) => store.blob(run, hash), `entry ${seq} of run ${run}`)
      // progress is only told: what cannot be shown must not stop a run
      queue = queue.then(async () => hear(await decoded, run)).catch(() => {})
    }
  }
  const append: Store['append'] = async (lease, after, batch) => {
    await store.append(lease, after, batch)
    tell(lease.run, batch)
  }
  const create: Store['create'] = async (row, batch, lease) => {
    const made = await store.create(row, batch, lease)
    if (made.created) tell(row.run, batch)
    return made
  }
  const observed = new Proxy(store, {
    get(target, key) {
      if (key === 'append') return append
      if (key === 'create') return create
      const member: unknown = Reflect.get(target, key, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
  return { store: observed, heard: () => queue }
}

/** Prints a line per entry, with the time since the first one before it. How the run ended is not for here: the command says that. */
export function progressLines(channel: Channel): (entry: Entry, run: string) => void {
  let begin: number | undefined
  return (entry, run) => {
    begin ??= performance.now()
    const words = wordsOf(entry, run)
    if (words !== undefined) channel.shortLine(`${duration(performance.now() - begin).padStart(6)}  `, words)
  }
}

function wordsOf(entry: Entry, run: string): string | undefined {
  switch (entry.type) {
    case 'run.created': {
      const origin = entry.parent ? `, made from ${entry.parent.run}` : ''
      return `run ${run} of crew ${entry.crew}${origin}: ${entry.tasks.map((task) => task.name).join(', ')}`
    }
    case 'run.resumed':
      return `run ${run} ${describeEntry(entry) ?? ''}`
    case 'run.completed':
    case 'run.failed':
    case 'run.suspended':
    case 'run.cancelled':
      return undefined
    default:
      return describeEntry(entry)
  }
}
