// Runs the program `reprise` in the process of the tests with what a process of its own would have: a working folder,
// variables, arguments, streams, and freshly loaded modules. One call at a time, since a process has one of each.
import { once } from 'node:events'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { runCommand } from '../../src/cli/program.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Call {
  readonly folder: string
  readonly args: readonly string[]
  readonly variables?: { readonly [name: string]: string }
  /** Output goes to a dumb terminal; the input is not a terminal. */
  readonly seen?: boolean
  /** A person at the terminal presses the keys of each pair once its text has been printed. */
  readonly presses?: readonly (readonly [text: string, keys: string])[]
}

/** The variables of this process that a test does not decide about. */
export const surroundings: { readonly [name: string]: string | undefined } = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(REPRISE_|NO_COLOR$|FORCE_COLOR$|NODE_(?!COMPILE_CACHE)|.*_(API_KEY|BASE_URL)$)/.test(name),
  ),
)

let last: Promise<unknown> = Promise.resolve()

export function callProgram(call: Call): Promise<Ended> {
  const mine = last.then(() => callAlone(call))
  last = mine.catch(() => undefined)
  return mine
}

async function callAlone({ folder, args, variables = {}, seen = false, presses }: Call): Promise<Ended> {
  const person = presses !== undefined
  const stdin = Object.assign(new PassThrough(), person ? { isTTY: true, setRawMode() {} } : {})
  if (!person) stdin.end()
  const stdout = collector(seen)
  const stderr = collector(seen || person)
  using stack = new DisposableStack()
  loadAnew(folder, stack)
  replaceFolder(folder, stack)
  replaceVariables({ ...surroundings, ...(seen ? { TERM: 'dumb' } : {}), ...variables }, stack)
  // the path that npm uses, so that printed commands begin with `npx reprise`
  replace('argv', [process.execPath, join(folder, 'node_modules/.bin/reprise'), ...args], stack)
  replace('stdin', stdin, stack)
  replace('stdout', stdout.stream, stack)
  replace('stderr', stderr.stream, stack)
  const running = runCommand(process.argv)
  for (const [text, keys] of presses ?? []) {
    await stderr.says(text, running)
    stdin.write(keys)
  }
  const code = await running
  const [said, told] = [stdout.text(), stderr.text()].map((text) => text.replaceAll(/\?call=\d+/g, ''))
  return { code, stdout: said ?? '', stderr: told ?? '' }
}

/** Collects what is written; as a terminal it has 80 columns and no colors. */
function collector(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), isTTY ? { isTTY, columns: 80, rows: 24, getColorDepth: () => 1 } : {})
  let text = ''
  let seen = 0
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  return {
    stream,
    text: () => text,
    /** Resolves once `words` were written after the last words that were awaited. */
    async says(words: string, running: Promise<unknown>): Promise<void> {
      while (!text.includes(words, seen)) {
        const ended = await Promise.race([once(stream, 'data').then(() => false), running.then(() => true)])
        if (ended && !text.includes(words, seen)) throw new Error(`ended without saying ${words}: ${text}`)
      }
      seen = text.indexOf(words, seen) + words.length
    },
  }
}

function replaceFolder(folder: string, stack: DisposableStack): void {
  const before = process.cwd()
  process.chdir(folder)
  stack.defer(() => process.chdir(before))
}

/** In place: `.env` files are loaded into the variables of the process, whatever `process.env` is. */
function replaceVariables(variables: { readonly [name: string]: string | undefined }, stack: DisposableStack): void {
  const set = (values: { readonly [name: string]: string | undefined }): void => {
    for (const name of Object.keys(process.env)) if (!(name in values)) delete process.env[name]
    Object.assign(process.env, values)
  }
  const before = { ...process.env }
  set(variables)
  stack.defer(() => set(before))
}

function replace(name: 'argv' | 'stdin' | 'stdout' | 'stderr', value: unknown, stack: DisposableStack): void {
  const before = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor
  Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true })
  stack.defer(() => Object.defineProperty(process, name, before))
}

let place = ''
let calls = 0
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return place !== '' && found.url.startsWith(place) ? { ...found, url: `${found.url}?call=${calls}` } : found
  },
})

/** Loads the modules in the folder, such as the crew file, afresh for this call. */
function loadAnew(folder: string, stack: DisposableStack): void {
  place = `${pathToFileURL(folder).href}/`
  calls += 1
  stack.defer(() => (place = ''))
}
