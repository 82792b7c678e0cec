// Brings a database up to this code's format, or refuses it: one written by newer code that says so, one of another
// program, one whose migrations are not ours. Forward only, all in one transaction under the write lock, so that of two
// processes which open a new file at once the second finds the work done.
import type { DatabaseSync } from 'node:sqlite'
import { RepriseError } from '../../../errors.ts'
import { storeNewer } from '../../rules/refusals.ts'
import { migrations } from './sqlite-migrations.ts'

/** What this code can write: the number of the last migration that it knows. */
export const formatNumber: number = migrations.at(-1)?.number ?? 0

/** Marks a file as ours ("RPRS"), so that another program's database is not filled with our tables. */
const applicationId = 0x52505253

/** STORE_NEWER or STORE_INVALID when the database is not one that this code may write. */
export function migrate(db: DatabaseSync, path: string): void {
  if (upToDate(db, path)) return
  db.exec('begin immediate')
  try {
    if (!upToDate(db, path)) apply(db)
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/**
 * Which migrations a database of ours has seen, as the number of the last; undefined for one that is empty or of
 * another program. STORE_INVALID when they are not the ones of this code.
 */
export function layoutOf(db: DatabaseSync, path: string): number | undefined {
  if (numberOf(db, 'pragma application_id') !== applicationId) return undefined
  return Math.max(...appliedTo(db, path))
}

function upToDate(db: DatabaseSync, path: string): boolean {
  const id = numberOf(db, 'pragma application_id')
  if (id !== applicationId) {
    if (id === 0 && numberOf(db, 'select count(*) from sqlite_master') === 0) return false
    throw new RepriseError(
      'STORE_INVALID',
      `${path} is the database of another program: give Reprise a file of its own, by REPRISE_STORE or \`store\``,
    )
  }
  const oldest = numberOf(db, 'select format from oldest_writer')
  if (oldest > formatNumber) throw storeNewer(path, oldest, formatNumber)
  const applied = appliedTo(db, path)
  return migrations.every(({ number }) => applied.has(number))
}

/** The numbers of the migrations that the database has seen. STORE_INVALID when one of ours was another then. */
function appliedTo(db: DatabaseSync, path: string): Set<number> {
  const rows = db.prepare('select number, checksum from migrations').all()
  const applied = new Map(rows.map((row) => [Number(row['number']), row['checksum']]))
  const other = migrations.find(({ number, checksum }) => applied.has(number) && applied.get(number) !== checksum)
  if (other === undefined) return new Set(applied.keys())
  throw new RepriseError(
    'STORE_INVALID',
    `${path} was made by another build of reprise (migration ${other.name} differs): use the build that made it, or move the file aside`,
  )
}

function apply(db: DatabaseSync): void {
  db.exec(`pragma application_id = ${applicationId}`)
  db.exec(
    'create table if not exists migrations (number integer primary key, name text not null, checksum text not null, applied_at text not null)',
  )
  const isApplied = db.prepare('select 1 from migrations where number = ?')
  const record = db.prepare('insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, ?)')
  for (const { number, name, checksum, sql } of migrations) {
    if (isApplied.get(number) !== undefined) continue
    db.exec(sql)
    record.run(number, name, checksum, new Date().toISOString())
  }
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0])
}
