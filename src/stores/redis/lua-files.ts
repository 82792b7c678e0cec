// The build replaces this module with its values (scripts/embed-values.ts).
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const folder = join(import.meta.dirname, 'scripts')

/** The text of each script, by its name without the extension. */
export const luaFiles: { readonly [name: string]: string } = Object.fromEntries(
  globSync('*.lua', { cwd: folder }).map((file) => [basename(file, '.lua'), readFileSync(join(folder, file), 'utf8')]),
)
