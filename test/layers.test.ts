// The direction of imports: a layer uses itself and earlier layers of this list. Stores, models and tools do not import
// one another, one file reads the environment, and only the command line reads argv.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

const order = [
  'base',
  'text',
  'secrets',
  'journal',
  'schema',
  'stores',
  'models',
  'tools',
  'read',
  'engine',
  'runs',
  'crew',
  'ui',
  'workers',
  'testing',
  'studio',
  'cli',
  // src/index.ts
  '',
]
const strangers = new Set(['stores', 'models', 'tools'])
const files = globSync('src/**/*.ts')
const layerOf = (file: string): string => (file.split('/').length > 2 ? (file.split('/')[1] as string) : '')

test('every layer imports only itself and the layers before it', () => {
  const wrong = files.flatMap((file) => {
    const from = layerOf(file)
    assert.ok(order.includes(from), `${file} is in a layer that has no place in the order`)
    return importsOf(file).flatMap((target) => {
      const to = layerOf(target)
      const downwards = order.indexOf(to) > order.indexOf(from)
      return downwards || (to !== from && strangers.has(to) && strangers.has(from)) ? [`${file} imports ${target}`] : []
    })
  })
  assert.deepEqual(wrong, [])
})

test('the studio and the command line import no module of the engine', () => {
  const surfaces = files.filter((file) => ['studio', 'cli'].includes(layerOf(file)))
  const wrong = surfaces.flatMap((file) =>
    importsOf(file).flatMap((target) => (layerOf(target) === 'engine' ? [`${file} imports ${target}`] : [])),
  )
  assert.deepEqual(wrong, [])
})

test('the studio and the command line use no hidden member, which users could not use either', () => {
  const surfaces = files.filter((file) => ['studio', 'cli'].includes(layerOf(file)))
  const wrong = surfaces.flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines.flatMap((line, index) => (/['"`]~\w/.test(line) ? [`${file}:${index + 1}`] : []))
  })
  assert.deepEqual(wrong, [])
})

test('only base/environment.ts reads the environment, and only the command line reads argv', () => {
  const readers = (word: RegExp) => files.filter((file) => word.test(readFileSync(file, 'utf8')))
  assert.deepEqual(
    readers(/process\.env\b/).filter((file) => !file.startsWith('src/cli/')),
    ['src/base/environment.ts'],
  )
  assert.deepEqual(
    readers(/process\.argv\b/).filter((file) => !file.startsWith('src/cli/')),
    [],
  )
})

/** Where the real clock is the default of a function that users or tests call by themselves. */
const realClockUsers = ['src/crew/queue/dispatcher.ts', 'src/engine/history/export-run.ts', 'src/models/call-model.ts']

test('below the surfaces only engine/world.ts reads clocks, chance and ids; drivers of stores have their own', () => {
  const below = /^src\/(engine|crew|models|workers|stores\/patient-store)[./]/
  const real =
    /\b(setTimeout|setInterval|setImmediate|Date\.now|Math\.random|randomUUID|performance\.now)\b|new Date\(\)|timers\/promises/
  const inCode = (file: string): string => readFileSync(file, 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '')
  const read = files.filter((file) => below.test(file) && real.test(inCode(file)))
  assert.deepEqual(read, ['src/engine/world.ts'])
  const used = files.filter((file) => below.test(file) && /\brealClock\b/.test(inCode(file)))
  assert.deepEqual(used.toSorted(), [...realClockUsers, 'src/engine/world.ts'].toSorted())
})

test('no source file has grown past 400 lines', () => {
  const long = globSync('src/**/*.{ts,sql,lua}').filter((file) => readFileSync(file, 'utf8').split('\n').length > 400)
  assert.deepEqual(long, [])
})

test('no file imports itself by way of others, types aside', () => {
  const imports = new Map(files.map((file) => [file, valuesFrom(file)]))
  const circular = files.filter((file) => reaches(imports, file))
  assert.deepEqual(circular, [])
})

test('no comment is wider than 120 columns, but for what a linter reads', () => {
  const wide = files.flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines.flatMap((line, index) =>
      line.length > 120 && /^\s*(\/\/ (?!oxlint-)|\/\*|\*)/.test(line) ? [`${file}:${index + 1}`] : [],
    )
  })
  assert.deepEqual(wide, [])
})

function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)
  return [...found].map((match) => relative('.', join(dirname(file), match[1] as string)))
}

/** The modules loaded with a file, without types and those that it loads later by `import()`. */
function valuesFrom(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )([^']*?) ?from '(\.[^']+)'/gm)
  return [...found]
    .filter(([, names = '']) => !/^\{(\s*type [^,}]+,?)+\s*\}$/.test(names))
    .map((match) => relative('.', join(dirname(file), match[2] as string)))
}

function reaches(imports: ReadonlyMap<string, readonly string[]>, file: string): boolean {
  const seen = new Set<string>()
  const left = [...(imports.get(file) ?? [])]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next === file) return true
    if (!seen.has(next)) left.push(...(imports.get(next) ?? []))
    seen.add(next)
  }
  return false
}
