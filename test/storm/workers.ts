// The processes of a storm. The program is bundled once, so that processes start quickly, and spare ones are kept
// ready, so that a killed one is replaced at once.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { bundle, type Bundle } from '../support/bundle.ts'
import type { Command, Reply } from './worker.ts'

export type Ended = { readonly killed: true } | ({ readonly killed: false } & Reply)

export interface Workers extends AsyncDisposable {
  /** `killAfter`: kill the process after this many milliseconds. */
  follow(command: Command, killAfter?: number): Promise<Ended>
}

export async function openWorkers(ready: number): Promise<Workers> {
  const program = await bundle(join(import.meta.dirname, 'worker.ts'))
  const idle: Worker[] = []
  const all = new Set<Worker>()
  const start = (): Worker => {
    const worker = startWorker(program)
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

function startWorker({ file, variables }: Bundle) {
  const child: ChildProcess = spawn(process.execPath, [file], {
    env: { ...process.env, ...variables },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const ready = lines.next()
  // a write to a process that was just killed is lost
  child.stdin!.on('error', () => {})
  return {
    /** A process may be killed just after it has answered. */
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
