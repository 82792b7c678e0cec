// Puts the text of the .sql migrations of each database into a module beside them, so that it survives the build and any
// bundler. With --check it writes nothing and fails when the two differ.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const stores = new URL('../src/stores/', import.meta.url)

export const embedded: readonly string[] = [
  'sqlite/migrations/sqlite-migrations.ts',
  'postgres/migrations/postgres-migrations.ts',
]

/** The text that one of them must have. */
export function embeddedSql(target: string): string {
  const folder = new URL('.', new URL(target, stores))
  const files = readdirSync(folder)
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .toSorted()
  const migrations = files.map((name) => {
    const sql = readFileSync(new URL(name, folder), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    const literal = sql.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
    return [
      '  {',
      `    number: ${Number(name.slice(0, 4))},`,
      `    name: '${name.slice(0, -'.sql'.length)}',`,
      `    checksum: '${checksum}',`,
      `    sql: \`${literal}\`,`,
      '  },',
    ].join('\n')
  })
  return [
    '// Generated from the .sql files beside it by scripts/embed-sql.ts: change those, and run it again.',
    "import type { Migration } from '../../rules/migration.ts'",
    '',
    'export const migrations: readonly Migration[] = [',
    ...migrations,
    ']',
    '',
  ].join('\n')
}

if (import.meta.main) {
  for (const target of embedded) {
    const text = embeddedSql(target)
    const file = new URL(target, stores)
    if (!process.argv.includes('--check')) {
      writeFileSync(file, text)
    } else if (readFileSync(file, 'utf8') !== text) {
      console.error(`src/stores/${target} differs from its .sql files: run node scripts/embed-sql.ts`)
      process.exitCode = 1
    }
  }
}
