// The direction of imports: a layer uses itself and what stands before it in this list. Stores, models and tools do not know one
// another; one file reads the environment; only the command line reads argv.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

const order = [
  '',
  'text',
  'secrets',
  'journal',
  'schema',
  'stores',
  'models',
  'tools',
  'engine',
  'runs',
  'crew',
  'testing',
  'cli',
]
const strangers = new Set(['stores', 'models', 'tools'])
const files = globSync('src/**/*.ts')
const layerOf = (file: string): string => (file.split('/').length > 2 ? (file.split('/')[1] as string) : '')

test('every layer imports only itself and the layers before it', () => {
  const wrong = files.flatMap((file) => {
    const from = layerOf(file)
    assert.ok(order.includes(from), `${file} is in a layer that has no place in the order`)
    // the public root re-exports from all of them
    if (file === 'src/index.ts') return []
    return importsOf(file).flatMap((target) => {
      const to = layerOf(target)
      const downwards = order.indexOf(to) > order.indexOf(from)
      return downwards || (to !== from && strangers.has(to) && strangers.has(from)) ? [`${file} imports ${target}`] : []
    })
  })
  assert.deepEqual(wrong, [])
})

test('only environment.ts reads the environment, and only the command line reads argv', () => {
  const readers = (word: RegExp) => files.filter((file) => word.test(readFileSync(file, 'utf8')))
  assert.deepEqual(
    readers(/process\.env\b/).filter((file) => !file.startsWith('src/cli/')),
    ['src/environment.ts'],
  )
  assert.deepEqual(
    readers(/process\.argv\b/).filter((file) => !file.startsWith('src/cli/')),
    [],
  )
})

test('no source file has grown past 400 lines', () => {
  const long = files.filter((file) => readFileSync(file, 'utf8').split('\n').length > 400)
  assert.deepEqual(long, [])
})

function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)
  return [...found].map((match) => relative('.', join(dirname(file), match[1] as string)))
}
