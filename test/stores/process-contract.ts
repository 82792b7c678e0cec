// The contract of stores that several processes on one machine have open: locks, appends, kills and hints.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { currentOwner, type Store } from 'reprise/stores'
import { batch, entry, row, seqsOf, started, ttlMs } from '../../src/testing/store-contract/harness.ts'
import { ended, linesFrom, otherProcess, turns } from './other-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface SharedStore {
  /** The URL of the store in a folder. */
  readonly url: (folder: string) => string
  readonly open: (folder: string) => Promise<Store>
  /** The database whose lock writers take. */
  readonly database: (folder: string) => string
}

export function processContract(name: string, { url, open, database }: SharedStore): void {
  async function opened() {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(await temporaryFolder())
    const store = await open(folder.path)
    stack.defer(() => store.close())
    const kept = stack.move()
    return Object.assign(kept, { store, url: url(folder.path), database: database(folder.path) })
  }

  describe(`${name} that several processes have open`, () => {
    for (const end of ['releases it', 'is killed'] as const) {
      test(`reads without blocking and appends once another process with the lock ${end}`, async () => {
        await using shared = await opened()
        const { store } = shared
        const lease = await started(store, 'r')
        const child = otherProcess('lock', shared.database)
        await once(child.stdout, 'data')
        let done = false
        const append = store.append(lease, 1, batch(2)).then(() => (done = true))
        await turns(50)
        assert.deepEqual(await seqsOf(store, 'r'), [1])
        assert.equal(done, false)
        // the kernel drops the lock of a killed process
        if (end === 'is killed') child.kill('SIGKILL')
        else child.stdin.end()
        await append
        assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
        await ended(child)
      })
    }

    test('has the appends of all of them', async () => {
      await using shared = await opened()
      const { store } = shared
      const children = ['a', 'b'].map((run) => otherProcess('append', shared.url, run, '100'))
      for (const child of children) child.stdout.resume()
      const lease = await started(store, 'mine')
      for (let seq = 2; seq <= 100; seq++) await store.append(lease, seq - 1, { lines: [entry(seq)] })
      assert.deepEqual(await Promise.all(children.map(ended)), [0, 0])
      for (const run of ['a', 'b', 'mine']) assert.equal((await seqsOf(store, run)).length, 100)
    })

    test('has every acknowledged entry of a killed process, and leases its run at once', async () => {
      await using shared = await opened()
      const { store } = shared
      const child = otherProcess('append', shared.url, 'r', '100000')
      let acknowledged = 0
      for await (const line of linesFrom(child)) {
        acknowledged = Number(line)
        if (acknowledged === 30) child.kill('SIGKILL')
      }
      await ended(child)
      const seqs = await seqsOf(store, 'r')
      assert.ok(seqs.length >= acknowledged)
      assert.deepEqual(
        seqs,
        Array.from(seqs, (_, index) => index + 1),
      )
      const lease = await store.acquire('r', currentOwner(), ttlMs)
      await store.append(lease, seqs.length, batch(seqs.length + 1))
    })

    test('wakes watchers for the changes of another process', async () => {
      await using shared = await opened()
      const { store } = shared
      const hints = store.watch('r', new AbortController().signal)[Symbol.asyncIterator]()
      const child = otherProcess('append', shared.url, 'r', '1')
      const keepAlive = setInterval(() => {}, 1000)
      assert.equal((await hints.next()).done, false)
      clearInterval(keepAlive)
      assert.deepEqual(await store.row('r'), row('r'))
      await ended(child)
    })
  })
}
