// Deletes the declarations of internal modules: those that no entry point of the package imports, directly or
// indirectly.
import { globSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Manifest {
  readonly exports: { readonly [entry: string]: string | { readonly types: string } }
}

export function pruneDeclarations(root: string): void {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.types]))
  const kept = new Set(entries.map((file) => join(root, file)))
  // iterating a set includes items added meanwhile
  for (const file of kept) for (const imported of importsOf(file)) kept.add(imported)
  for (const name of globSync('dist/**/*.d.ts', { cwd: root })) {
    if (!kept.has(join(root, name))) rmSync(join(root, name))
  }
}

function importsOf(file: string): string[] {
  const paths = readFileSync(file, 'utf8').matchAll(/\b(?:from |import\s*\(?)['"](\.[^'"]+)['"]/g)
  return [...paths].map(([, path = '']) => join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
}
