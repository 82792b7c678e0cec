// The processes of the demo: starts crew.ts in a process, and reads from the store what it writes meanwhile.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Store } from 'reprise/stores'
import type { Entry } from 'reprise/journal'
import type { ModelServer } from './model-server.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
}

const children = new Set<ChildProcess>()
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')))

/** The run that crew.ts starts, continues and replays. */
export const runId = 'claim-4711'

/** Runs crew.ts against a model server, with the runs and the ledger in a folder. */
export function start(server: ModelServer, folder: string, args: readonly string[] = []): Started {
  // crew.js in the package
  const script = join(import.meta.dirname, `crew${extname(import.meta.filename)}`)
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...server.environment,
      REPRISE_STORE: `file:${folder}/runs`,
      CLAIMS_LEDGER: join(folder, 'ledger.txt'),
    },
  })
  children.add(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const ended = once(child, 'close').then(([code, signal]) => {
    children.delete(child)
    return { code: code as number | null, signal: signal as string | null, ...output }
  })
  return { child, ended }
}

/** Resolves with what a process printed. Rejects if it fails. */
export async function completed({ ended }: Started): Promise<string> {
  const { code, signal, stdout, stderr } = await ended
  if (code !== 0) throw new Error(`a process ended with ${signal ?? `code ${code}`}${stderr && `: ${stderr.trim()}`}`)
  return stdout.trim()
}

/** Yields the entries of a run after entry `after` as a process writes them, until that process ends. */
export async function* follow(store: Store, run: string, child: ChildProcess, after = 0): AsyncGenerator<Entry> {
  for (let last = after; ; await wait(10)) {
    const over = hasEnded(child)
    for await (const { seq, bytes } of store.read(run, last)) {
      last = seq
      yield JSON.parse(Buffer.from(bytes).toString('utf8')) as Entry
    }
    if (over) return
  }
}

/** Waits for the fork that a process makes of a run, and returns its id. */
export async function forkOf(store: Store, parent: string, child: ChildProcess): Promise<string> {
  for (; ; await wait(10)) {
    const over = hasEnded(child)
    const { rows } = await store.list({ forkedFrom: parent }, { limit: 1 })
    if (rows[0]) return rows[0].run
    if (over) return ''
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
