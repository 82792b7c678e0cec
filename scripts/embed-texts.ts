// Puts the text of the .sql migrations of each database, and of the .lua scripts of Redis, into a module beside them, so that it
// survives the build and any bundler. With --check it writes nothing and fails when the two differ.
import { createHash } from 'node:crypto'
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const stores = new URL('../src/stores/', import.meta.url)

/** The text that each of these modules must have. */
export const embedded: { readonly [target: string]: (folder: URL) => string } = {
  'sqlite/migrations/sqlite-migrations.ts': migrationsIn,
  'postgres/migrations/postgres-migrations.ts': migrationsIn,
  'redis/scripts/redis-scripts.ts': scriptsIn,
}

export function embeddedText(target: string): string {
  return embedded[target]?.(new URL('.', new URL(target, stores))) ?? ''
}

function migrationsIn(folder: URL): string {
  const files = readdirSync(folder)
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .toSorted()
  const migrations = files.map((name) => {
    const sql = readFileSync(new URL(name, folder), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    return [
      '  {',
      `    number: ${Number(name.slice(0, 4))},`,
      `    name: '${name.slice(0, -'.sql'.length)}',`,
      `    checksum: '${checksum}',`,
      `    sql: ${literal(sql)},`,
      '  },',
    ].join('\n')
  })
  return [
    ...generatedFrom('.sql'),
    "import type { Migration } from '../../rules/migration.ts'",
    '',
    'export const migrations: readonly Migration[] = [',
    ...migrations,
    ']',
    '',
  ].join('\n')
}

/** What several of them begin with is there once. */
function scriptsIn(folder: URL): string {
  const text = (name: string): string => literal(readFileSync(new URL(name, folder), 'utf8'))
  const files = globSync('{*,leases/*}.lua', { cwd: fileURLToPath(folder) })
    .filter((name) => !['common.lua', 'batch.lua'].includes(name))
    .toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1))
  const names = files.map((name) => basename(name, '.lua'))
  return [
    ...generatedFrom('.lua'),
    `export type ScriptName =${names.map((name) => `\n  | '${name}'`).join('')}`,
    '',
    `const common = ${text('common.lua')}`,
    '',
    `const batch = ${text('batch.lua')}`,
    '',
    'export const scripts: { readonly [name in ScriptName]: string } = {',
    ...files.map((file, index) => {
      const parts = ['common', ...(file.startsWith('leases') ? [] : ['batch']), text(file)]
      return `  ${names[index]}:\n    ${parts.join(' +\n    ')},`
    }),
    '}',
    '',
  ].join('\n')
}

function generatedFrom(kind: string): string[] {
  return [`// Generated from the ${kind} files beside it by scripts/embed-texts.ts: change those, and run it again.`]
}

function literal(text: string): string {
  return `\`${text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\``
}

if (import.meta.main) {
  for (const target of Object.keys(embedded)) {
    const text = embeddedText(target)
    const file = new URL(target, stores)
    if (!process.argv.includes('--check')) {
      writeFileSync(file, text)
    } else if (readFileSync(file, 'utf8') !== text) {
      console.error(`src/stores/${target} differs from the files beside it: run node scripts/embed-texts.ts`)
      process.exitCode = 1
    }
  }
}
