import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

const imports =
  /^(?:import|export) (?!type )(?:[\w\s{},*]+ from )?'([^']+)'|\bimport(?:\.meta\.resolve)?\('([^']+)'\)/gm

/**
 * Returns which of `packages` a file imports, directly or through other files of tests, examples and scripts. Files in
 * src import such packages only on demand.
 */
export function importedPackages(file: string, packages: readonly string[], seen: Set<string> = new Set()): string[] {
  if (seen.has(file) || file.startsWith('src/') || !statSync(file, { throwIfNoEntry: false })?.isFile()) return []
  seen.add(file)
  const specifiers = [...readFileSync(file, 'utf8').matchAll(imports)].map(([, named, called]) => named ?? called ?? '')
  const found = specifiers.flatMap((specifier) =>
    specifier.startsWith('.')
      ? importedPackages(join(dirname(file), specifier), packages, seen)
      : packages.filter((name) => specifier === name || specifier.startsWith(`${name}/`)),
  )
  return [...new Set(found)]
}
