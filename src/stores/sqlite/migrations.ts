// The build puts the values in the place of this module: scripts/embed-values.ts.
import type { Migration } from '../rules/migration.ts'
import { readMigrations } from '../rules/read-migrations.ts'

export const migrations: readonly Migration[] = readMigrations(new URL('migrations/', import.meta.url))
