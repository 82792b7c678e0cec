// Worker processes that are killed at random and replaced until the test ends them.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bundle } from '../support/bundle.ts'
import { freePort } from '../support/servers/free-port.ts'
import type { RestateCluster } from '../support/restate/restate-cluster.ts'

export interface FleetOptions {
  readonly place: string
  readonly ledger: string
  readonly processes: number
  readonly concurrency: number
  /** The dispatcher, if the workers do not claim from their store. */
  readonly restate?: Pick<RestateCluster, 'ingress' | 'admin'> | undefined
  /** The program of a worker and its further arguments. Default: worker-process.ts. */
  readonly program?: { readonly file: string; readonly args: readonly string[] } | undefined
  /** Steps of all workers between two kills. Default: no kills. */
  readonly between?: { readonly least: number; readonly most: number } | undefined
  /** Whether runs may end their process. */
  readonly crashes?: boolean | undefined
}

export interface Fleet {
  /** Steps of all workers so far. */
  steps(): number
  kills(): number
  /** Number of workers that a run has ended. */
  crashes(): number
  /** Announces that the store is away, or back. Meanwhile, workers may end at once, and are started again. */
  storeIsAway(is: boolean): void
  /** Rejects when a worker ends unexpectedly. */
  untilDone(isDone: () => Promise<boolean>): Promise<void>
}

const ownProgram = { file: join(import.meta.dirname, 'worker-process.ts'), args: [] }

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { place, ledger, processes, concurrency, between, restate, program = ownProgram, crashes = false } = options
  const port = restate ? [String(await freePort())] : []
  const parameters = [place, ledger, String(concurrency), ...port, ...program.args]
  const addresses = restate && {
    RESTATE_INGRESS_URL: restate.ingress.join(','),
    RESTATE_ADMIN_URL: restate.admin.join(','),
  }
  const { file, variables } = await bundle(program.file)
  const living = new Set<ChildProcess>()
  const over = new AbortController()
  let steps = 0
  let kills = 0
  let crashed = 0
  let away = false
  let quota = between?.least ?? Infinity

  function start(): void {
    const begunAway = away
    const child = spawn(process.execPath, [file, ...parameters], {
      env: { ...process.env, ...variables, ...addresses, REPRISE_LEASE_SECONDS: '2' },
      stdio: ['ignore', 'pipe', begunAway ? 'ignore' : 'inherit'],
    })
    living.add(child)
    child.once('close', (code, signal) => {
      living.delete(child)
      if (over.signal.aborted) return
      if (child.killed) start()
      else if (crashes && signal === 'SIGKILL') {
        crashed++
        start()
      } else if (begunAway || away) setTimeout(start, 100)
      else over.abort(new Error(`a worker ended unexpectedly, with code ${code}`))
    })
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      for (const what of text.split('\n').slice(0, -1)) heard(child, what)
    })
  }

  /** Every second kill happens within a `once` call. Each killed worker is replaced. */
  function heard(child: ChildProcess, what: string): void {
    if (what === 'step') steps++
    quota--
    if (!between || quota > 0 || child.killed || (kills % 2 === 0 && what !== 'within')) return
    quota = between.least + Math.floor(Math.random() * (between.most - between.least))
    kills++
    child.kill('SIGKILL')
  }

  for (let index = 0; index < processes; index++) start()
  return {
    steps: () => steps,
    kills: () => kills,
    crashes: () => crashed,
    storeIsAway: (is) => void (away = is),
    async untilDone(isDone) {
      try {
        while (!(await isDone())) await wait(50, undefined, { signal: over.signal })
      } finally {
        over.abort()
        const closed = [...living].map((child) => once(child, 'close'))
        for (const child of living) child.kill('SIGTERM')
        await Promise.all(closed)
      }
    },
  }
}
