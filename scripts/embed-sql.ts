// Puts the text of the .sql migrations into migrations.ts, so that it survives the build and any bundler. With --check it
// writes nothing and fails when the two differ.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const folder = new URL('../src/stores/sqlite/migrations/', import.meta.url)
const target = new URL('migrations.ts', folder)

/** The text that migrations.ts must have. */
export function embeddedSql(): string {
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
    '',
    'export interface Migration {',
    '  readonly number: number',
    '  readonly name: string',
    '  /** SHA-256 of the SQL. */',
    '  readonly checksum: string',
    '  readonly sql: string',
    '}',
    '',
    'export const migrations: readonly Migration[] = [',
    ...migrations,
    ']',
    '',
  ].join('\n')
}

if (import.meta.main) {
  const text = embeddedSql()
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text)
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error(
      'src/stores/sqlite/migrations/migrations.ts differs from its .sql files: run node scripts/embed-sql.ts',
    )
    process.exitCode = 1
  }
}
