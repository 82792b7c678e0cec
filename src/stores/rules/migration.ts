// A step from one layout of a database to the next. A layout is known by the number of its last migration. Released
// migrations never change; until the first release there is one per database, and a change of it raises its number.
import { RepriseError } from '../../base/errors.ts'
import { storeOlderError } from './refusals.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  /** SHA-256 of the SQL. */
  readonly checksum: string
  readonly sql: string
}

/** Checksums of a database's migrations, by number. */
export type AppliedMigrations = ReadonlyMap<number, string>

/**
 * The migrations that a database lacks. STORE_INVALID if it has earlier or different ones. Later ones are accepted, as
 * long as they allow this code to write.
 */
export function migrationsToApply(
  known: readonly Migration[],
  applied: AppliedMigrations,
  { store, instead }: { readonly store: string; readonly instead: string },
): readonly Migration[] {
  const first = known[0]?.number ?? 0
  const earlier = [...applied.keys()].filter((number) => number < first)
  if (earlier.length > 0) throw storeOlderError(store, Math.max(...earlier), lastNumber(known), instead)
  const other = known.find(({ number, checksum }) => applied.has(number) && applied.get(number) !== checksum)
  if (other === undefined) return known.filter(({ number }) => !applied.has(number))
  throw new RepriseError(
    'STORE_INVALID',
    `${store} was made by another build of reprise (migration ${other.name} differs): use the build that made it, ${instead}`,
  )
}

export function lastNumber(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0
}
