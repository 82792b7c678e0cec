// Some modules only read files or compute slow values: SQL, Lua, and the schemas of the API's responses. In `dist`,
// each of them contains the values themselves, so that it reads no file and also works in a bundle.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The paths of these modules below `src` and `dist`, without extension. */
export const valueModules = [
  'stores/postgres/migrations',
  'stores/redis/lua-files',
  'stores/sqlite/migrations',
  'studio/api/response-schemas',
]

/** Returns JavaScript that exports the values of a module. */
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
