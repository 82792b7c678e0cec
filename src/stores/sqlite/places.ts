// Where the entries of a run are. Entries are in the order of commits, without an index: one would have a page or more for each
// run, and a commit of a hundred runs would write them all. So their places are noted in bulk, some thousands of entries at a time,
// and every connection remembers those of the newest, which are not noted yet. What others have written since it last looked it
// reads from the entries themselves: SQLite tells by a number whether another connection has committed.
import type { StatementSync } from 'node:sqlite'
import { parseObject } from '../../journal/json.ts'
import { damagedRow } from './records.ts'

/**
 * So many entries are left before their places are noted. More of them make the pages of a run's places be written less often, and
 * whoever opens the database looks through the pages of as many.
 */
const newestLimit = 4_096

/** Entries of a run that follow each other: the number of the first, and where each of them is. */
export interface Piece {
  readonly first: number
  readonly entries: readonly number[]
}

export interface Places {
  /** Makes up for what others have written. To be called when a transaction has begun: nobody else writes while it lasts. */
  refresh(): void
  /** The number of the run's last entry; 0 when it has none. */
  last(run: number): number
  /** The piece of the run that the entry is in. */
  find(run: number, seq: number): Piece | undefined
  /** To be called with every entry that is written. */
  add(run: number, seq: number, entry: number): void
  /** Notes all places, so that everything there is to know of them is in the database. */
  note(): void
  /** When anything was rolled back, or may have been. */
  undone(): void
}

/** `changed` is called when others may have written since the last look. */
export function openPlaces(sql: (text: string) => StatementSync, changed: () => void): Places {
  /** Of every run the piece that is not noted. It comes behind all others of the run. */
  const newest = new Map<number, { first: number; entries: number[] }>()
  let count = 0
  /** The last entry that was looked at. */
  let seen = 0
  let version: unknown
  /** How often places were noted, or entries deleted, when the entries were looked at; undefined when all must be read anew. */
  let changes: number | undefined

  function refresh(): void {
    const now = sql('pragma data_version').get()?.['data_version']
    if (now === version && changes !== undefined) return
    changed()
    const noted = sql('select upto, changes from noted').get() as unknown as { upto: number; changes: number }
    if (noted.changes !== changes) {
      forget()
      seen = noted.upto
    }
    const unseen = sql('select id, run_id, seq from entries where id > ? order by id')
    unseen.setReturnArrays(true)
    for (const [entry, run, seq] of unseen.all(seen) as unknown as [number, number, number][]) remember(run, seq, entry)
    changes = noted.changes
    version = now
  }

  function forget(): void {
    newest.clear()
    count = 0
    changes = undefined
  }

  function remember(run: number, seq: number, entry: number): void {
    const piece = newest.get(run)
    if (piece) {
      // no entry has the id 0: it stands for a line that was lost
      while (piece.first + piece.entries.length < seq) piece.entries.push(0)
      piece.entries.push(entry)
    } else newest.set(run, { first: seq, entries: [entry] })
    seen = entry
    count += 1
  }

  function note(): void {
    refresh()
    if (count === 0) return
    const insert = sql('insert into places (run_id, first, last, entries) values (?, ?, ?, ?)')
    // in the order of the table: each of its pages is looked for once
    for (const [run, { first, entries }] of [...newest].toSorted(([a], [b]) => a - b)) {
      insert.run(run, first, first + entries.length - 1, JSON.stringify(entries))
    }
    sql('update noted set upto = ?, changes = changes + 1').run(seen)
    forget()
  }

  return {
    refresh,
    last(run) {
      refresh()
      const piece = newest.get(run)
      if (piece) return piece.first + piece.entries.length - 1
      // not max(last), which reads all of the run's places
      const noted = sql('select last from places where run_id = ? order by first desc limit 1').get(run)
      return Number(noted?.['last'] ?? 0)
    },
    find(run, seq) {
      refresh()
      const piece = newest.get(run)
      if (piece && piece.first <= seq) return piece
      const found = sql(
        'select first, entries from places where run_id = ? and first <= ? order by first desc limit 1',
      ).get(run, seq) as { first: number; entries: string } | undefined
      return found && { first: found.first, entries: readIds(found.entries) }
    },
    add(run, seq, entry) {
      remember(run, seq, entry)
      if (count >= newestLimit) note()
    },
    note,
    undone: forget,
  }
}

function readIds(text: string): number[] {
  const ids = parseObject(`{"ids":${text}}`)?.['ids']
  if (Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id))) return ids as number[]
  throw damagedRow('the list of where the entries of a run are')
}
