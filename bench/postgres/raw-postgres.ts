// The raw limits of PostgreSQL through the same client, `pg`: one table with a key by run and number, prepared
// statements, nothing checked, hashed or leased. Rows go in alone, over a pool, or as a group, in one statement over a
// binary array.
import { Client, Pool } from 'pg'

/** The default number of connections of `pg`. */
const pooled = 10

export interface RawPostgres {
  /** Inserts one row of the first run. */
  insert(bytes: Uint8Array): Promise<void>
  /** Inserts the next row of every run, one per statement, all at once over a pool. */
  insertPooled(rows: readonly Uint8Array[]): Promise<void>
  /** Inserts the next row of every run in one statement. */
  insertGroup(rows: readonly Uint8Array[]): Promise<void>
  close(): Promise<void>
}

export async function rawPostgres(url: string): Promise<RawPostgres> {
  const client = new Client(url)
  await client.connect()
  await client.query(
    'create table lines (run bigint not null, seq bigint not null, line bytea not null, primary key (run, seq))',
  )
  const pool = new Pool({ connectionString: url, max: pooled })
  let seq = 0
  return {
    async insert(bytes) {
      await client.query({ name: 'one', text: insert, values: [0, ++seq, bytes] })
    },
    async insertPooled(rows) {
      seq += 1
      await Promise.all(rows.map((bytes, run) => pool.query({ name: 'one', text: insert, values: [run, seq, bytes] })))
    },
    async insertGroup(rows) {
      seq += 1
      await client.query({ name: 'group', text: insertAll, values: [seq, binaryArray(rows)] })
    },
    async close() {
      await pool.end()
      await client.end()
    },
  }
}

const insert = 'insert into lines (run, seq, line) values ($1, $2, $3)'
const insertAll = `insert into lines (run, seq, line)
  select given.run, $1::bigint, given.line from unnest($2::bytea[]) with ordinality as given (line, run)`

const byteaOid = 17

/** A `bytea[]` in the binary format: as text, every byte would take two. */
function binaryArray(rows: readonly Uint8Array[]): Buffer {
  // one dimension, no nulls, type of the members, their number, lower bound 1
  const head = words(1, 0, byteaOid, rows.length, 1)
  return Buffer.concat([head, ...rows.flatMap((bytes) => [words(bytes.byteLength), bytes])])
}

function words(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length)
  values.forEach((value, index) => buffer.writeInt32BE(value, 4 * index))
  return buffer
}
