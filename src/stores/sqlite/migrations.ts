// The build replaces this module by its values: scripts/embed-values.ts.
import type { Migration } from '../rules/migration.ts'
import { readMigrations } from '../rules/read-migrations.ts'

export const migrations: readonly Migration[] = readMigrations(new URL('migrations/', import.meta.url))
