// A step from one layout of a database to the next. A layout is known by the number of its last migration. Released
// migrations never change; until the first release there is one per database, and a change of it raises its number.
import { RepriseError } from '../../base/errors.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  /** SHA-256 of the SQL. */
  readonly checksum: string
  readonly sql: string
}

/** The number that each migration of a database has, with its checksum. */
export type AppliedMigrations = ReadonlyMap<number, string>

/**
 * The migrations that a database lacks. STORE_INVALID when it has some that this code does not know: it cannot be
 * brought up to date. Later ones are no reason, as long as they let this code write.
 */
export function lackingIn(
  known: readonly Migration[],
  applied: AppliedMigrations,
  { store, instead }: { readonly store: string; readonly instead: string },
): readonly Migration[] {
  const [first, ...later] = known.map(({ number }) => number)
  const numbers = [...applied.keys()].filter((number) => first !== undefined && number < first)
  if (numbers.length > 0) {
    const words = `${store} has layout ${Math.max(...numbers)}, of an earlier build, and this build has layout ${later.at(-1) ?? first}`
    throw new RepriseError(
      'STORE_INVALID',
      `${words}: finish or delete its runs with the build that made it, ${instead}`,
    )
  }
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
