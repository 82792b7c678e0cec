// Some modules only read files, or make values that take long: SQL, Lua, and the schemas of the API's responses. In
// `dist` each of them has its values instead, so that it needs no file, in a bundle either.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Without their endings, below `src` and `dist`. */
export const valueModules = [
  'stores/postgres/migrations',
  'stores/redis/lua-files',
  'stores/sqlite/migrations',
  'studio/api/response-schemas',
]

/** JavaScript with the values that a module exports. */
export async function valuesOf(path: string): Promise<string> {
  const exported = (await import(path)) as { readonly [name: string]: unknown }
  const lines = Object.entries(exported).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`)
  return lines.join('')
}

export async function embedValues(outDir: string): Promise<void> {
  for (const module of valueModules) {
    const values = await valuesOf(new URL(`../src/${module}.ts`, import.meta.url).href)
    writeFileSync(join(outDir, `${module}.js`), values)
  }
}
