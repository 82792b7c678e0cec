// What the tests of the command line share: a folder with a crew, and the program, in this process or in one of its
// own.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { callProgram, surroundings, type Call, type Ended } from './call-program.ts'

const root = new URL('../../', import.meta.url)
const main = fileURLToPath(new URL('src/cli/main.ts', root))

export type { Ended } from './call-program.ts'

export interface Started {
  readonly child: ChildProcess
  /** Resolves once stderr has the text, after the text that was awaited before. */
  says(text: string): Promise<void>
  ended(): Promise<Ended>
}

export interface Project extends AsyncDisposable {
  readonly path: string
  write(name: string, text: string): Promise<void>
  /** The program in this process, which takes a fraction of the time that a process takes to start. */
  reprise(...args: string[]): Promise<Ended>
  call(args: readonly string[], how: Omit<Call, 'folder' | 'args'>): Promise<Ended>
  /** At a terminal: the keys of each pair are pressed when the text before them was printed. */
  press(args: readonly string[], ...pairs: readonly (readonly [text: string, keys: string])[]): Promise<Ended>
  /** A process of its own: for signals, and for how the process ends. */
  start(
    args: readonly string[],
    environment?: { readonly [name: string]: string },
    nodeOptions?: readonly string[],
  ): Started
}

/** Makes the program believe that its stdin, whose bytes are keys, is a terminal of 80 columns without colors. */
export const terminal: readonly string[] = [
  '--import',
  `data:text/javascript,${encodeURIComponent(`
    Object.assign(process.stdin, { isTTY: true, setRawMode() {} })
    Object.assign(process.stderr, { isTTY: true, columns: 80, rows: 24, getColorDepth: () => 1 })`)}`,
]

function atTerminal(nodeOptions: readonly string[]): boolean {
  return terminal.every((option) => nodeOptions.includes(option))
}

/** What every crew file of these tests begins with. */
export const imports = `
import { Agent, Crew, Flow, Task, tool } from ${JSON.stringify(new URL('src/index.ts', root).href)}
import { scriptedModel } from ${JSON.stringify(new URL('src/testing/scripted-model.ts', root).href)}
import { z } from ${JSON.stringify(import.meta.resolve('zod'))}
`

/**
 * Two tasks: facts, which has a schema and a tool, and note, whose text has escapes in it when the notes ask for them.
 */
export const claims = `${imports}
const model = scriptedModel([
  { when: 'the model is down', error: 'the provider is down' },
  { when: 'Write a triage note', reply: (text) => 'Urgent' + (/tone (\\w+)/.exec(text)?.[1] ?? '') + (text.includes('escape') ? '\\u001b]0;owned\\u0007\\u001b[31m!' : '') + '\\nSecond line' },
  { when: 'Extract', calls: [{ tool: 'lookup', input: { number: 'P-77' } }] },
  { when: 'Extract', reply: (text) => ({ policy: 'P-77', issue: text.includes('escape') ? 'escape' : 'water' }) },
])
const lookup = tool({ name: 'lookup', description: 'Look a policy up', effect: 'read', input: z.object({ number: z.string() }), run: () => 'Ada' })
const analyst = new Agent({ role: 'Analyst', goal: 'Help', model, tools: [lookup] })
const facts = new Task({ name: 'facts', description: 'Extract the facts from: {notes}', output: z.object({ policy: z.string(), issue: z.string() }) })
const note = new Task({ name: 'note', description: 'Write a triage note in tone {tone}', context: [facts] })
export const crew = new Crew({ name: 'claims', agents: [analyst], tasks: [facts, note] })
`

/** One task with a \`once\` tool, which hangs when the environment says so. */
export const filing = `${imports}
const model = scriptedModel([
  { when: 'File', calls: [{ tool: 'file_claim', input: { policy: 'P-77' } }] },
  { when: 'File', reply: (text) => 'Filed: ' + (/C-\\d+/.exec(text)?.[0] ?? 'nothing') },
])
const hang = () => new Promise(() => void setInterval(() => {}, 60_000))
const file = tool({ name: 'file_claim', description: 'File a claim', input: z.object({ policy: z.string() }), run: () => process.env.HANG ? hang() : { claim: 'C-1' } })
const clerk = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [file] })
export const crew = new Crew({ name: 'filing', tasks: [new Task({ name: 'file', description: 'File the claim', agent: clerk })] })
`

/** A folder of its own with this crew in crew.ts. */
export async function project(crew?: string): Promise<Project> {
  const folder = await temporaryFolder()
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder.path, name), text)
  await write('package.json', '{ "type": "module" }')
  if (crew !== undefined) await write('crew.ts', crew)
  // the path that npm uses, so that printed commands begin with `npx reprise`
  const command = join(folder.path, 'node_modules/.bin/reprise')
  await mkdir(dirname(command), { recursive: true })
  await symlink(main, command)
  const start: Project['start'] = (args, environment = {}, nodeOptions = []) => {
    const child = spawn(process.execPath, ['--conditions=reprise-source', ...nodeOptions, command, ...args], {
      cwd: folder.path,
      env: { ...surroundings, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    if (!atTerminal(nodeOptions)) child.stdin.end()
    return follow(child)
  }
  return {
    path: folder.path,
    write,
    start,
    reprise: (...args) => callProgram({ folder: folder.path, args }),
    call: (args, how) => callProgram({ folder: folder.path, args, ...how }),
    press: (args, ...presses) => callProgram({ folder: folder.path, args, presses }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

/** The id of the run that the progress lines are about. */
export function runIn({ stderr }: Ended): string {
  const id = /\brun (\S+) of crew/.exec(stderr)?.[1]
  if (id === undefined) throw new Error(`no run is named in: ${stderr}`)
  return id
}

export function records({ stdout }: Ended): { [field: string]: unknown }[] {
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { [field: string]: unknown }]))
}

function follow(child: ReturnType<typeof spawn>): Started {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  let seen = 0
  const closed = once(child, 'close')
  return {
    child,
    async says(text) {
      while (!stderr.includes(text, seen)) {
        const more = await Promise.race([
          once(child.stderr as NodeJS.ReadableStream, 'data'),
          closed.then(() => undefined),
        ])
        if (more === undefined && !stderr.includes(text, seen))
          throw new Error(`ended without saying ${text}: ${stderr}`)
      }
      seen = stderr.indexOf(text, seen) + text.length
    },
    async ended() {
      const [code] = (await closed) as [number | null]
      return { code, stdout, stderr }
    },
  }
}
