// Migrates a database to this code's layout. Refuses a database of another program, a database that newer code has
// reserved, and one whose migrations differ. All in one transaction under the write lock, so that of two processes that
// open a new file at once the second finds the work done.
import type { DatabaseSync } from 'node:sqlite'
import { RepriseError } from '../../base/errors.ts'
import { migrationsToApply, lastNumber, type AppliedMigrations, type Migration } from '../rules/migration.ts'
import { storeNewerError } from '../rules/refusals.ts'
import { migrations } from './migrations.ts'

/** The layout that this code writes: the number of its last migration. */
export const formatNumber: number = lastNumber(migrations)

/** Identifies our files ("RPRS"), so that no tables are created in the database of another program. */
const applicationId = 0x52505253

/** STORE_NEWER or STORE_INVALID if this code cannot write the database. */
export function migrate(db: DatabaseSync, path: string, known: readonly Migration[] = migrations): void {
  if (pendingIn(db, path, known).length === 0) return
  db.exec('begin immediate')
  try {
    apply(db, pendingIn(db, path, known))
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/**
 * The database's layout number; undefined if it is empty or of another program. STORE_INVALID if this code cannot
 * migrate it.
 */
export function layoutOf(db: DatabaseSync, path: string): number | undefined {
  if (numberOf(db, 'pragma application_id') !== applicationId) return undefined
  const applied = appliedTo(db)
  migrationsToApply(migrations, applied, named(path))
  return Math.max(...applied.keys())
}

function pendingIn(db: DatabaseSync, path: string, known: readonly Migration[]): readonly Migration[] {
  const id = numberOf(db, 'pragma application_id')
  if (id !== applicationId) {
    if (id === 0 && numberOf(db, 'select count(*) from sqlite_master') === 0) return known
    throw new RepriseError(
      'STORE_INVALID',
      `${path} is the database of another program: give Reprise a file of its own, by REPRISE_STORE or \`store\``,
    )
  }
  const oldest = numberOf(db, 'select format from oldest_writer')
  if (oldest > lastNumber(known)) throw storeNewerError(path, oldest, lastNumber(known))
  return migrationsToApply(known, appliedTo(db), named(path))
}

function named(path: string): { readonly store: string; readonly instead: string } {
  return { store: path, instead: 'or move the file aside' }
}

function appliedTo(db: DatabaseSync): AppliedMigrations {
  const rows = db.prepare('select number, checksum from migrations').all()
  return new Map(rows.map((row) => [Number(row['number']), String(row['checksum'])]))
}

function apply(db: DatabaseSync, pending: readonly Migration[]): void {
  db.exec(`pragma application_id = ${applicationId}`)
  db.exec(
    'create table if not exists migrations (number integer primary key, name text not null, checksum text not null, applied_at text not null)',
  )
  const record = db.prepare('insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, ?)')
  for (const { number, name, checksum, sql } of pending) {
    db.exec(sql)
    record.run(number, name, checksum, new Date().toISOString())
  }
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0])
}
