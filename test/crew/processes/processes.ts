// Real processes over one store in a folder of its own, and every byte that their runs have in it.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../../../src/stores/open-store.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { bundle } from '../../support/bundle.ts'
import { bytesOf } from '../verbs/diamond.ts'
import type { Order, Report } from './process-crew.ts'

export interface Started {
  /** Resolves when the process waits where it was told to hold. */
  readonly held: Promise<void>
  readonly ended: Promise<Report>
  goOn(): void
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
}

export interface Stage extends AsyncDisposable {
  readonly url: string
  start(order: Order): Started
  /** One process, from its start to its end. */
  live(order: Order): Promise<Report>
  /** Of every run there is, every line. */
  bytes(): Promise<Map<string, string>>
  parentOf(run: string | undefined): Promise<string | undefined>
  /** The claims that were really filed. */
  filed(): Promise<string[]>
}

export async function openStage(kind: 'sqlite' | 'file'): Promise<Stage> {
  const folder = await temporaryFolder()
  const url = kind === 'sqlite' ? `sqlite:${join(folder.path, 'runs.db')}` : `file:${join(folder.path, 'state')}`
  const ledger = join(folder.path, 'filed.log')
  const program = await bundle(join(import.meta.dirname, 'process-crew.ts'))
  const children: ChildProcess[] = []

  function start(order: Order): Started {
    const child = spawn(process.execPath, [program.file, url, ledger, JSON.stringify(order)], {
      env: { ...process.env, ...program.variables },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    children.push(child)
    const said = { stdout: '', stderr: '' }
    child.stdout?.on('data', (chunk: Buffer) => (said.stdout += String(chunk)))
    child.stderr?.on('data', (chunk: Buffer) => (said.stderr += String(chunk)))
    const closed = once(child, 'close')
    const ended = closed.then(() => {
      if (said.stdout === '') throw new Error(`the process said nothing: ${said.stderr}`)
      return JSON.parse(said.stdout) as Report
    })
    const held = Promise.race([once(child, 'message'), ended.then(fail)]).then(() => undefined)
    // not everybody waits for both
    for (const promise of [held, ended]) promise.catch(() => {})
    return {
      held,
      ended,
      goOn: () => void child.send('go on'),
      async kill() {
        child.kill('SIGKILL')
        await closed
      },
    }
  }

  return {
    url,
    start,
    live: (order) => start(order).ended,
    async bytes() {
      const store = await openStore(url)
      try {
        const { rows } = await store.list({}, { limit: 100 })
        return new Map(await Promise.all(rows.map(async ({ run }) => [run, await bytesOf(store, run)] as const)))
      } finally {
        await store.close()
      }
    },
    async parentOf(run = '') {
      const store = await openStore(url)
      try {
        return (await store.row(run))?.parent
      } finally {
        await store.close()
      }
    },
    async filed() {
      const text = await readFile(ledger, 'utf8').catch(() => '')
      return text.split('\n').filter((line) => line !== '')
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await folder[Symbol.asyncDispose]()
    },
  }
}

function fail(report: Report): never {
  throw new Error(`the process ended without having been held: ${JSON.stringify(report)}`)
}
