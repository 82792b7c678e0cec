// Invariant 5 for workers, with real processes: another worker continues a run, at once if its process is provably
// gone, and a process that slept past its lease can no longer write.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { openStore } from 'reprise/stores'
import { linesOf } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { bundle, type Bundle } from '../support/bundle.ts'
import { kindsHere, storePlace, type StoreKind } from '../support/store-place.ts'
import { holdingCrew } from './holding-worker.ts'

const program = await bundle(join(import.meta.dirname, 'holding-worker.ts'))

for (const { kind, skip } of await kindsHere('sqlite', 'postgres', 'redis')) {
  test(
    `a worker on ${kind} that sleeps past its lease cannot append afterwards, and its run is continued`,
    { skip },
    async () => {
      await using stage = await openStage(kind)
      const slept = stage.start({ leaseSeconds: 2 })
      await slept.says('begun')
      slept.process.kill('SIGSTOP')
      const next = stage.start({ leaseSeconds: 2 })
      await next.says('begun')
      next.process.stdin?.write('go on\n')
      await next.says('left completed')
      const before = await stage.lines()
      assert.match(before.at(-1) ?? '', /"type":"run.completed"/)
      slept.process.stdin?.write('go on\n')
      slept.process.kill('SIGCONT')
      await slept.says('left held')
      assert.deepEqual(await stage.lines(), before)
    },
  )

  test(
    `the run of a killed worker on ${kind} is continued at once on the same machine, even under a long lease`,
    { skip },
    async () => {
      await using stage = await openStage(kind)
      const killed = stage.start({ leaseSeconds: 3_600 })
      await killed.says('begun')
      killed.process.kill('SIGKILL')
      await once(killed.process, 'close')
      // a pending result() waits for the next worker
      const asked = stage.run.result()
      const next = stage.start({ leaseSeconds: 3_600 })
      await Promise.race([asked, next.says('begun')])
      next.process.stdin?.write('go on\n')
      await next.says('left completed')
      assert.match((await stage.lines()).at(-1) ?? '', /"type":"run.completed"/)
      assert.equal((await asked).status, 'completed')
    },
  )
}

/** A store with one queued run, and workers on it. */
async function openStage(kind: StoreKind) {
  const stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const place = stack.use(await storePlace(kind, folder.path))
  const crew = stack.use(holdingCrew(place.url))
  const run = await crew.enqueue({ id: 'r' })
  return {
    run,
    start({ leaseSeconds }: { readonly leaseSeconds: number }) {
      const started = startWorker(program, place.url, leaseSeconds)
      stack.defer(() => started.end())
      return started
    },
    async lines(): Promise<string[]> {
      const store = await openStore(place.url)
      const lines = await linesOf(store, 'r')
      await store.close()
      return lines.map(({ bytes }) => Buffer.from(bytes).toString())
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

function startWorker({ file, variables }: Bundle, url: string, leaseSeconds: number) {
  const child: ChildProcess = spawn(process.execPath, [file, url], {
    env: { ...process.env, ...variables, REPRISE_LEASE_SECONDS: String(leaseSeconds) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  return {
    process: child,
    /** Resolves when the worker has printed this. */
    async says(wanted: string): Promise<void> {
      for (let next = await lines.next(); next.value !== wanted; next = await lines.next())
        assert.ok(!next.done, `the worker ended before it said ${wanted}`)
    },
    async end(): Promise<void> {
      child.kill('SIGKILL')
      await closed
    },
  }
}
