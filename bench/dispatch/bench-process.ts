// A process that executes runs in one of the ways, or calls functions that do. It reports when it is ready, when a
// model is called, when a task waits for permission to continue, and when a run is completed. It ends when its parent
// disconnects.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Number of model calls of a run. */
export const steps = 10

export interface ProcessPlan {
  readonly role: 'in process' | 'worker' | 'restate' | 'function' | 'caller'
  readonly url: string
  readonly concurrency: number
  /** Port at which Restate or the caller calls it. The processes of a way share it. */
  readonly port: number
  readonly ingress: readonly string[]
  readonly admin: readonly string[]
  readonly secret: string
  /** Whether it reports model calls. */
  readonly tells?: boolean
  /** Whether its crew waits in the middle of the first task. */
  readonly holds?: boolean
}

/** `at`: in ms since 1970, with fractions. */
export type Said =
  | { readonly is: 'ready' }
  | { readonly is: 'asked'; readonly at: number }
  | { readonly is: 'held'; readonly at: number }
  | { readonly is: 'completed' }

/** `go on`: continue the task that waits. */
export type Told = { readonly is: 'kick off'; readonly runs: number } | { readonly is: 'go on' }

export interface BenchProcess extends AsyncDisposable {
  hear(listener: (said: Said) => void): void
  tell(told: Told): void
  signal(name: 'SIGKILL' | 'SIGSTOP'): void
}

/** Resolves when the process is ready. Rejects if it ends before. */
export async function forkBench(
  plan: ProcessPlan,
  variables: Readonly<Record<string, string>> = {},
): Promise<BenchProcess> {
  const program = fileURLToPath(new URL('./executing.ts', import.meta.url))
  const child = fork(program, [JSON.stringify(plan)], { env: { ...process.env, ...variables } })
  const gone = once(child, 'exit')
  const listeners: ((said: Said) => void)[] = []
  const ready = new Promise<true>((resolve) => {
    child.on('message', (said: Said) => {
      if (said.is === 'ready') resolve(true)
      for (const listener of listeners) listener(said)
    })
  })
  if ((await Promise.race([ready, gone])) !== true)
    throw new Error(`a process (${plan.role}) ended before it was ready`)
  return {
    hear: (listener) => void listeners.push(listener),
    tell: (told) => void child.send(told),
    signal: (name) => void child.kill(name),
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      // a stopped process cannot end on its own, so kill it
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await gone
      clearTimeout(timer)
    },
  }
}

/** A clock that all processes of this machine share. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}
