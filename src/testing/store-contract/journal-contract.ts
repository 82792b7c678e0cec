// Entries: exact bytes, order, atomicity, and fencing.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { hashBytes } from '../../journal/hash.ts'
import type { Batch } from '../../stores/store.ts'
import {
  batch,
  check,
  checkIf,
  elsewhere,
  entry,
  linesOf,
  refused,
  row,
  seqsOf,
  started,
  ttlMs,
  type StoreUnderTest,
} from './harness.ts'
import { currentOwner } from '../../stores/owner.ts'

/** A function, since every import of reprise/testing loads this module. */
const strangeBytes = (): { readonly [what: string]: Uint8Array } => ({
  'unicode text': Buffer.from('{"seq":2,"text":"Fälle 字 🧾 \u2028 e\u0301"}'),
  'NUL bytes': Buffer.from([0x7b, 0, 0, 0x7d]),
  'invalid UTF-8': Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x80]),
  'an incomplete character at the end': Buffer.from([0x7b, 0xe2, 0x82]),
  newlines: Buffer.from('{"seq":2,\n"text":"a"}\r\n\n'),
  'an empty line': new Uint8Array(0),
  'a byte order mark': Buffer.from('\ufeff{"seq":2}'),
  'space around JSON': Buffer.from('  {"seq":2} '),
  'JSON with strange spacing': Buffer.from('{ "seq" : 2 , "n" : 1.0e2, "n": 2 }'),
  'JSON of another number': Buffer.from('{"seq":7}'),
  'JSON that is a list': Buffer.from('[{"seq":2}]'),
  'names that a store may use': Buffer.from('{"seq":2,"$store":{"row":{}},"$more":true}'),
  'such names deeper inside': Buffer.from('{"seq":2,"a":{"b":1,"$store":{"row":{"status":"failed"}},"$more":true}}'),
  'such names in a string': Buffer.from(JSON.stringify({ seq: 2, text: ',"$store":{},"$more":true}' })),
  'a name that a store may use for encoded bytes': Buffer.from('{"seq":2,"base64":"AAAA"}'),
  'a prototype': Buffer.from('{"seq":2,"__proto__":{"seq":3}}'),
  '1 MB of random bytes': randomBytes(1024 * 1024),
  '1 MB of JSON': Buffer.from(JSON.stringify({ seq: 2, text: 'x'.repeat(1024 * 1024) })),
})

export function journalContract(under: StoreUnderTest): void {
  for (const [what, bytes] of Object.entries(strangeBytes())) {
    check(`returns exactly: ${what}`, under, async ({ store }) => {
      const lease = await started(store, 'r')
      const lines = [
        { seq: 2, bytes },
        { seq: 3, bytes },
      ]
      await store.append(lease, 1, { lines, row: row('r', { status: 'suspended' }), taken: ['m'] })
      const back = await linesOf(store, 'r', 1)
      assert.ok(back.every((line) => Buffer.compare(line.bytes, bytes) === 0))
      assert.deepEqual(
        back.map((line) => line.seq),
        [2, 3],
      )
    })
  }

  check('copies bytes, so that later changes of the buffer have no effect', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const bytes = Buffer.from('{"seq":2,"text":"before"}')
    const written = store.append(lease, 1, { lines: [{ seq: 2, bytes }] })
    await written
    bytes.fill(0x20)
    const [line] = await linesOf(store, 'r', 1)
    assert.equal(String(line?.bytes), '{"seq":2,"text":"before"}')
  })

  check('creates a run once and does not change it the second time', under, async ({ store }) => {
    await started(store, 'r', elsewhere('first'))
    const second = await store.create(row('r', { crew: 'other' }), batch(1, 3), { owner: currentOwner(), ttlMs })
    assert.deepEqual(second, { created: false })
    assert.deepEqual(await seqsOf(store, 'r'), [1])
    assert.equal((await store.row('r'))?.crew, 'claims')
    assert.deepEqual(await store.holder('r'), elsewhere('first'))
  })

  check('creates a run once when many callers try at the same time', under, async ({ store }) => {
    const tries = Array.from({ length: 8 }, () => store.create(row('r'), batch(1)))
    const results = await Promise.all(tries)
    assert.equal(results.filter((result) => result.created).length, 1)
    assert.deepEqual(await seqsOf(store, 'r'), [1])
  })

  check('returns no lease unless one was requested', under, async ({ store }) => {
    assert.deepEqual(await store.create(row('r'), batch(1)), { created: true })
    assert.equal(await store.holder('r'), undefined)
  })

  for (const run of ['..', 'a/b', '../up', 'x.inbox', 'Fälle 字 🧾', '%2E', 'a~b', 'n'.repeat(200), '字'.repeat(200)]) {
    check(
      `takes ${run.length > 20 ? `${run.slice(0, 3)}… of ${run.length}` : run} as a run id`,
      under,
      async ({ store }) => {
        const lease = await started(store, run)
        await store.append(lease, 1, batch(2))
        await store.post(run, { id: 'm', at: row(run).createdAt, body: '{}' })
        assert.deepEqual(await seqsOf(store, run), [1, 2])
        const { rows } = await store.list({}, { limit: 10 })
        assert.deepEqual(rows, [row(run)])
      },
    )
  }

  check('refuses an append at a wrong position and does not change the run', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.append(lease, 1, batch(2, 2))
    const blobs = [{ hash: 'h', bytes: Buffer.from('b') }]
    await refused(
      store.append(lease, 2, batch(3, 1, { row: row('r', { status: 'failed' }), blobs })),
      'SEQ_CONFLICT',
      /run r is at entry 3, not 2/,
    )
    await refused(store.append(lease, 9, batch(10)), 'SEQ_CONFLICT', /run r is at entry 3, not 9/)
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
    assert.equal((await store.row('r'))?.status, 'running')
    assert.equal(await store.blob('r', 'h'), undefined)
  })

  for (const [what, lines] of Object.entries<Batch['lines']>({
    'a gap inside': [entry(2), entry(4)],
    'a wrong first number': [entry(3)],
    'no line': [],
  })) {
    check(`refuses a batch with ${what} and writes nothing of it`, under, async ({ store }) => {
      const lease = await started(store, 'r')
      await refused(store.append(lease, 1, { lines, row: row('r', { status: 'failed' }) }), 'SEQ_CONFLICT')
      assert.deepEqual(await seqsOf(store, 'r'), [1])
      assert.equal((await store.row('r'))?.status, 'running')
    })
  }

  check('lets exactly one of many racing writers append', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => store.append(lease, 1, batch(2, 2))))
    assert.equal(tries.filter((result) => result.status === 'fulfilled').length, 1)
    for (const result of tries) {
      if (result.status === 'rejected') await refused(Promise.reject(result.reason as Error), 'SEQ_CONFLICT')
    }
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
  })

  check('keeps concurrent appends to many runs apart', under, async ({ store }) => {
    const runs = Array.from({ length: 20 }, (_, index) => `r${index}`)
    await Promise.all(
      runs.map(async (run) => {
        const lease = await started(store, run)
        for (let seq = 1; seq <= 5; seq++) await store.append(lease, seq, { lines: [entry(seq + 1, run)] })
      }),
    )
    for (const run of runs) {
      const lines = await linesOf(store, run, 1)
      assert.deepEqual(
        lines,
        Array.from({ length: 5 }, (_, index) => entry(index + 2, run)),
      )
    }
  })

  check('refuses the older token after a takeover', under, async ({ store }) => {
    const first = await started(store, 'r')
    const second = await store.acquire('r', currentOwner(), ttlMs)
    assert.ok(second.token > first.token)
    await refused(store.append(first, 1, batch(2)), 'LEASE_LOST', /run r with token/)
    await store.append(second, 1, batch(2))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
  })

  check('refuses a released lease, and a lease of a deleted run', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.release(lease)
    await refused(store.append(lease, 1, batch(2)), 'LEASE_LOST')
    await store.delete('r')
    await refused(store.append(lease, 1, batch(2)), 'LEASE_LOST')
    await started(store, 'r')
    await refused(store.append(lease, 1, batch(2)), 'LEASE_LOST')
  })

  check('appends under an expired lease that no process took', under, async ({ store, pass }) => {
    const lease = await started(store, 'r')
    pass(ttlMs + 1)
    await store.append(lease, 1, batch(2))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
  })

  for (const status of ['completed', 'cancelled'] as const) {
    check(`appends nothing to a run that is ${status}`, under, async ({ store }) => {
      const lease = await started(store, 'r')
      // a run cannot be completed while a message waits
      if (status === 'cancelled') await store.post('r', { id: 'm', at: '', body: '' })
      const waiting = await store.inbox('r')
      await store.append(lease, 1, batch(2, 1, { row: row('r', { status }) }))
      const blobs = [{ hash: 'h', bytes: Buffer.from('b') }]
      await refused(
        store.append(lease, 2, batch(3, 1, { blobs, taken: ['m'] })),
        'RUN_ENDED',
        new RegExp(`r.* ${status}`),
      )
      for (const ended of ['completed', 'cancelled'] as const) {
        await refused(store.append(lease, 2, batch(3, 1, { row: row('r', { status: ended }) })), 'RUN_ENDED')
      }
      await refused(store.append(lease, 1, batch(2)), 'SEQ_CONFLICT')
      assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
      assert.equal((await store.row('r'))?.status, status)
      assert.equal(await store.blob('r', 'h'), undefined)
      assert.deepEqual(await store.inbox('r'), waiting)
    })
  }

  check('reopens a completed run by a row with another status, but never a cancelled run', under, async ({ store }) => {
    const done = await started(store, 'done')
    await store.append(done, 1, batch(2, 1, { row: row('done', { status: 'completed' }) }))
    await store.append(done, 2, batch(3, 1, { row: row('done', { status: 'running' }) }))
    await store.append(done, 3, batch(4))
    assert.deepEqual(await seqsOf(store, 'done'), [1, 2, 3, 4])
    const over = await started(store, 'over')
    await store.append(over, 1, batch(2, 1, { row: row('over', { status: 'cancelled' }) }))
    await refused(store.append(over, 2, batch(3, 1, { row: row('over', { status: 'running' }) })), 'RUN_ENDED')
    assert.deepEqual(await seqsOf(store, 'over'), [1, 2])
  })

  check('appends to failed, queued and suspended runs', under, async ({ store }) => {
    for (const status of ['failed', 'queued', 'suspended'] as const) {
      const lease = await started(store, status)
      await store.append(lease, 1, batch(2, 1, { row: row(status, { status }) }))
      await store.append(lease, 2, batch(3))
      assert.deepEqual(await seqsOf(store, status), [1, 2, 3])
    }
  })

  check('keeps a blob once per run, the first of its hash', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await started(store, 'other')
    const bytes = randomBytes(100_000)
    await store.append(lease, 1, batch(2, 1, { blobs: [{ hash: 'sha256:ab/c', bytes }] }))
    await store.append(lease, 2, batch(3, 1, { blobs: [{ hash: 'sha256:ab/c', bytes: Buffer.from('other') }] }))
    assert.deepEqual(Buffer.from((await store.blob('r', 'sha256:ab/c')) ?? []), bytes)
    assert.equal(await store.blob('r', 'unknown'), undefined)
    assert.equal(await store.blob('other', 'sha256:ab/c'), undefined)
    assert.equal(await store.blob('unknown', 'sha256:ab/c'), undefined)
  })

  check('stores blobs of the first batch, empty ones too', under, async ({ store }) => {
    await store.create(row('r'), batch(1, 1, { blobs: [{ hash: 'h', bytes: new Uint8Array(0) }] }))
    assert.equal((await store.blob('r', 'h'))?.length, 0)
  })

  check('never notes an entry before it is stored, and notes its hash', under, async ({ store }) => {
    const noted = async (run: string): Promise<number> => {
      const { seq, hash } = (await store.lastNoted(run)) ?? { seq: 0 }
      const line = (await linesOf(store, run)).find((found) => found.seq === seq)
      assert.ok(seq === 0 || line, `entry ${seq} is noted and not there`)
      if (line && hash !== undefined) assert.equal(hash, hashBytes(line.bytes))
      return seq
    }
    assert.equal(await store.lastNoted('unknown'), undefined)
    const lease = await started(store, 'r')
    await noted('r')
    await store.append(lease, 1, batch(2, 3))
    await store.append(lease, 4, batch(5, 2, { row: row('r', { status: 'suspended' }) }))
    await refused(store.append(lease, 5, batch(6)), 'SEQ_CONFLICT')
    await noted('r')
    await store.release(lease)
    await store.delete('r')
    assert.equal(await store.lastNoted('r'), undefined)
    await started(store, 'r')
    assert.ok((await noted('r')) <= 1)
  })

  check('reads from any entry, and an unknown run as empty', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.append(lease, 1, batch(2, 4))
    assert.deepEqual(await seqsOf(store, 'r', 3), [4, 5])
    assert.deepEqual(await seqsOf(store, 'r', 5), [])
    assert.deepEqual(await seqsOf(store, 'r', 99), [])
    assert.deepEqual(await seqsOf(store, 'unknown'), [])
  })

  check('reads the journal as it is when the read begins', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.append(lease, 1, batch(2, 2))
    const seqs: number[] = []
    for await (const line of store.read('r')) {
      if (line.seq === 1) await store.append(lease, 3, batch(4))
      seqs.push(line.seq)
    }
    assert.deepEqual(seqs, [1, 2, 3])
  })

  checkIf('large', 'reads 10,000 entries in order, whole and in parts', under, async ({ store }) => {
    const lease = await started(store, 'r')
    for (let from = 2; from < 10_000; from += 1000) {
      await store.append(lease, from - 1, batch(from, Math.min(1000, 10_001 - from)))
    }
    const lines = await linesOf(store, 'r')
    assert.equal(lines.length, 10_000)
    assert.ok(lines.every((line, index) => line.seq === index + 1))
    assert.deepEqual(await seqsOf(store, 'r', 9_997), [9_998, 9_999, 10_000])
  })
}
