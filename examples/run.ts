// Runs an example without a key, against a model server that answers from the example's fixtures.
//
//   npx node --conditions=reprise-source examples/run.ts claims.ts
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { openModelServer } from './model-server.ts'

const [file, ...args] = process.argv.slice(2)
const example = [file ?? '', join(import.meta.dirname, file ?? '')].map((path) => resolve(path)).find(isExample)
if (example === undefined) {
  console.error(`There is no example ${file ?? ''}; try: run.ts claims.ts`)
  process.exit(2)
}
await using server = await openModelServer(fixturesOf(example))
const child = spawn(process.execPath, ['--conditions=reprise-source', example, ...args], {
  stdio: 'inherit',
  env: { ...process.env, ...server.environment },
})
const [code] = (await once(child, 'exit')) as [number | null]
process.exitCode = code ?? 1

function isExample(path: string): boolean {
  return path.endsWith('.ts') && existsSync(path) && existsSync(fixturesOf(path))
}

function fixturesOf(path: string): string {
  const beside = join(dirname(path), 'fixtures.json')
  return existsSync(beside) ? beside : join(dirname(path), 'fixtures', `${basename(path, '.ts')}.json`)
}
