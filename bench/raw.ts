// The raw limits: the time of node:sqlite for the same bytes without checks, hashes, order or leases. One table has one
// blob per row, in WAL mode with full syncing, like the store. Another table also has the minimum for finding a row:
// run and number, with a unique index.
import { DatabaseSync } from 'node:sqlite'

export interface RawTable {
  /** Inserts one row and syncs it. */
  insert(bytes: Uint8Array): void
  /** Inserts many rows, with one sync. */
  insertGroup(rows: readonly Uint8Array[]): void
  /** Reads and parses every row; returns how many there are. */
  readAndParse(): number
  close(): void
}

export function rawTable(path: string): RawTable {
  const db = openRaw(path)
  db.exec('create table if not exists lines (id integer primary key, line blob not null)')
  const insert = db.prepare('insert into lines (line) values (?)')
  const select = db.prepare('select line from lines order by id')
  select.setReturnArrays(true)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const decoder = new TextDecoder()
  return {
    insert: (bytes) => void insert.run(bytes),
    insertGroup(rows) {
      begin.run()
      for (const bytes of rows) insert.run(bytes)
      commit.run()
    },
    readAndParse() {
      let rows = 0
      for (const [line] of select.iterate() as Iterable<unknown> as Iterable<[Uint8Array]>) {
        JSON.parse(decoder.decode(line))
        rows += 1
      }
      return rows
    },
    close: () => db.close(),
  }
}

/** Row `index` of every group is the next row of run `index`; a single row is the next of the first run. */
export function indexedTable(path: string): Pick<RawTable, 'insert' | 'insertGroup' | 'close'> {
  const db = openRaw(path)
  db.exec(
    `create table lines (id integer primary key, run integer not null, seq integer not null, line blob not null);
     create unique index lines_by_seq on lines (run, seq)`,
  )
  const insert = db.prepare('insert into lines (run, seq, line) values (?, ?, ?)')
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  let seq = 0
  return {
    insert: (bytes) => void insert.run(0, ++seq, bytes),
    insertGroup(rows) {
      seq += 1
      begin.run()
      rows.forEach((bytes, run) => insert.run(run, seq, bytes))
      commit.run()
    },
    close: () => db.close(),
  }
}

function openRaw(path: string): DatabaseSync {
  const db = new DatabaseSync(path)
  // the store's page size, so that the disk has the same work
  db.exec('pragma page_size = 8192; pragma journal_mode = wal; pragma synchronous = full')
  return db
}
