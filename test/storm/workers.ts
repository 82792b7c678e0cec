// The processes of a storm: bundled once, so that each is quick to start, and kept ready, so that a killed one is replaced at once.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import type { Command, Reply } from './worker.ts'

export type Ended = { readonly killed: true } | ({ readonly killed: false } & Reply)

export interface Workers extends AsyncDisposable {
  /** `killAfter`: milliseconds, from outside. */
  follow(command: Command, killAfter?: number): Promise<Ended>
}

export async function openWorkers(folder: string, ready: number): Promise<Workers> {
  const bundle = await bundled(folder)
  const idle: Worker[] = []
  const all = new Set<Worker>()
  const start = (): Worker => {
    const worker = startWorker(bundle, folder)
    all.add(worker)
    return worker
  }
  const refill = (): void => {
    while (idle.length < ready) idle.push(start())
  }
  refill()
  return {
    async follow(command, killAfter) {
      const worker = idle.shift() ?? start()
      const ended = await worker.follow(command, killAfter)
      if (worker.lives()) idle.unshift(worker)
      else {
        all.delete(worker)
        refill()
      }
      return ended
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...all].map((worker) => worker.end()))
    },
  }
}

type Worker = ReturnType<typeof startWorker>

function startWorker(bundle: string, folder: string) {
  const child: ChildProcess = spawn(process.execPath, [bundle], {
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, 'code') },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const ready = lines.next()
  // what is written to one that has just been killed is lost with it
  child.stdin!.on('error', () => {})
  return {
    /** One may be killed in the very moment in which it has answered. */
    lives: (): boolean => !child.killed && child.exitCode === null && child.signalCode === null,
    async follow(command: Command, killAfter?: number): Promise<Ended> {
      await ready
      child.stdin!.write(`${JSON.stringify(command)}\n`)
      const timer = killAfter === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter)
      const { value } = (await lines.next()) as { value?: string }
      clearTimeout(timer)
      if (value !== undefined) return { killed: false, ...(JSON.parse(value) as Reply) }
      const [code, signal] = (await closed) as [number | null, string | null]
      if (signal !== 'SIGKILL') throw new Error(`a process of the storm ended with ${code ?? signal}`)
      return { killed: true }
    },
    async end(): Promise<void> {
      child.stdin!.end()
      await closed
    },
  }
}

async function bundled(folder: string): Promise<string> {
  await build({
    entryPoints: [new URL('worker.ts', import.meta.url).pathname],
    outdir: join(folder, 'bundle'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    conditions: ['reprise-source'],
    external: ['@opentelemetry/*'],
    banner: {
      js: "import { createRequire as require_ } from 'node:module'; const require = require_(import.meta.url);",
    },
    logLevel: 'error',
  })
  return join(folder, 'bundle', 'worker.mjs')
}
