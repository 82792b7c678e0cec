// The build replaces this module with its values (scripts/embed-values.ts).
import { type Migration, readMigrations } from '../rules/driver.ts'

export const migrations: readonly Migration[] = readMigrations(new URL('migrations/', import.meta.url))
