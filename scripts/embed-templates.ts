// Puts the files of templates/ into templates.ts, so that `reprise create` has them wherever it is built, packed or bundled. With
// --check it writes nothing and fails when the two differ.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../templates/', import.meta.url))
const target = new URL('../src/cli/create/templates.ts', import.meta.url)

/** The text that templates.ts must have. */
export function embeddedTemplates(): string {
  return [
    '// Generated from the files of templates/ by scripts/embed-templates.ts: change those, and run it again.',
    '',
    'export interface Template {',
    '  readonly path: string',
    '  readonly text: string',
    '}',
    '',
    ...['typescript', 'yaml'].flatMap((kind) => [
      `export const ${kind}: readonly Template[] = [`,
      ...entriesOf(kind),
      ']',
      '',
    ]),
  ].join('\n')
}

function entriesOf(kind: string): string[] {
  const root = join(folder, kind)
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((file) => relative(root, join(file.parentPath, file.name)).replaceAll('\\', '/')).toSorted()
  return paths.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    const literal = text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
    return ['  {', `    path: '${path}',`, `    text: \`${literal}\`,`, '  },']
  })
}

if (import.meta.main) {
  const text = embeddedTemplates()
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text)
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error('src/cli/create/templates.ts differs from templates/: run node scripts/embed-templates.ts')
    process.exitCode = 1
  }
}
