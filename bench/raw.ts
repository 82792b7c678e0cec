// The raw limits: what node:sqlite needs for the same bytes when nobody checks, hashes, orders or leases anything. One table, one
// blob per row, WAL with full syncing, as the store has it.
import { DatabaseSync } from 'node:sqlite'

export interface RawTable {
  /** One row, synced. */
  insert(bytes: Uint8Array): void
  /** Many rows, and one sync for all of them. */
  insertGroup(rows: readonly Uint8Array[]): void
  /** Reads every row and parses it; gives how many. */
  readAndParse(): number
  close(): void
}

export function rawTable(path: string): RawTable {
  const db = new DatabaseSync(path)
  // pages as large as the store's: the same work for the disk
  db.exec('pragma page_size = 8192; pragma journal_mode = wal; pragma synchronous = full')
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
