// Real processes over one store in its own folder, and every byte of their runs in it.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../../../src/stores/open-store.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { bundle, type Bundle } from '../../support/bundle.ts'
import { storePlace, type StoreKind } from '../../support/store-place.ts'
import { bytesOf } from '../verbs/diamond.ts'
import type { Commission, Order, Report } from './process-crew.ts'

export interface Started {
  /** Resolves once the process waits at its `hold`. */
  readonly held: Promise<void>
  readonly ended: Promise<Report>
  goOn(): void
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
}

export interface Stage extends AsyncDisposable {
  readonly url: string
  /** A process that holds. */
  start(order: Order): Started
  /** In another process than this one and the one before. */
  live(order: Order): Promise<Report>
  /** Of every run there is, every line. */
  bytes(): Promise<Map<string, string>>
  parentOf(run: string | undefined): Promise<string | undefined>
  /** The claims that were really filed. */
  filed(): Promise<string[]>
}

/** The processes that take turns: whatever one has done, the other finds. */
const standing: ChildProcess[] = []

export async function openStage(kind: StoreKind): Promise<Stage> {
  const folder = await temporaryFolder()
  const place = await storePlace(kind, folder.path)
  const { url } = place
  const ledger = join(folder.path, 'filed.log')
  const program = await bundle(join(import.meta.dirname, 'process-crew.ts'))
  const children: ChildProcess[] = []

  function start(order: Order): Started {
    const child = startProcess(program)
    children.push(child)
    const held = once(child, 'message').then(([word]) => assert.equal(word, 'held'))
    const ended = held.then(() => nextReport(child))
    ended.catch(() => {})
    child.send({ url, ledger, order } satisfies Commission)
    return {
      held,
      ended,
      goOn: () => void child.send('go on'),
      async kill() {
        child.kill('SIGKILL')
        await once(child, 'close')
      },
    }
  }

  async function live(order: Order): Promise<Report> {
    const child = standing.length < 2 ? startProcess(program) : (standing.shift() as ChildProcess)
    standing.push(child)
    child.channel?.ref()
    child.send({ url, ledger, order } satisfies Commission)
    const report = await nextReport(child)
    child.channel?.unref()
    return report
  }

  return {
    url,
    start,
    live,
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
        return (await store.row(run))?.forkedFrom
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
      await place[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function startProcess({ file, variables }: Bundle): ChildProcess {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  // ends with this process
  child.unref()
  return child
}

async function nextReport(child: ChildProcess): Promise<Report> {
  const over = new AbortController()
  const gone = once(child, 'close', over).then(() => assert.fail('the process ended before it said what came of it'))
  try {
    const [report] = (await Promise.race([once(child, 'message', over), gone])) as [Report]
    return report
  } finally {
    over.abort()
    gone.catch(() => {})
  }
}
