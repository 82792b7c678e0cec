// Reads migrations from the .sql files of a folder, named like 0009-runs-and-entries.sql.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Migration } from './migration.ts'

export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder).filter((name) => /^\d{4}-.+\.sql$/.test(name))
  return files.toSorted().map((file) => {
    const sql = readFileSync(new URL(file, folder), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    return { number: Number(file.slice(0, 4)), name: file.slice(0, -'.sql'.length), checksum, sql }
  })
}
