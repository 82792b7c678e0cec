// Queries that read no journal: rows, pages, outputs.
import assert from 'node:assert/strict'
import { runStatuses } from '../../journal/entries.ts'
import { listPage } from '../../stores/rules/listing.ts'
import type { RunFilter, RunRow, RunStatus, Store } from '../../stores/store.ts'
import { batch, check, checkIf, refused, row, started, startOfTime, type StoreUnderTest } from './harness.ts'

export function listingContract(under: StoreUnderTest): void {
  check('replaces the whole row by the row of a batch', under, async ({ store }) => {
    const { lease } = await store.create(row('r', { forkedFrom: 'p' }), batch(1), {
      owner: { host: 'h', boot: 'b', pid: 1, start: '', instance: '' },
      ttlMs: 1000,
    })
    assert.deepEqual(await store.row('r'), row('r', { forkedFrom: 'p' }))
    const changed = row('r', {
      status: 'failed',
      updatedAt: '2030-02-02T00:00:00.000Z',
      summary: '{"a":"\\"字"}',
      inputs: '',
    })
    assert.ok(lease)
    await store.append(lease, 1, batch(2, 2, { row: changed }))
    assert.deepEqual(await store.row('r'), changed)
    await store.append(lease, 3, batch(4))
    assert.deepEqual(await store.row('r'), changed)
    assert.equal(await store.row('unknown'), undefined)
  })

  check('replaces every field of a row, in lookups and in lists', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const changes: Partial<RunRow>[] = [
      { crew: 'kyc' },
      { version: '2' },
      { status: 'suspended' },
      { createdAt: at(1) },
      { updatedAt: at(2) },
      { forkedFrom: 'p' },
      { inputs: '{"a":1}' },
      { summary: '{}' },
    ]
    let expected = row('r')
    for (const [index, change] of changes.entries()) {
      expected = { ...expected, ...change }
      await store.append(lease, index + 1, batch(index + 2, 1, { row: expected }))
      assert.deepEqual(await store.row('r'), expected)
      const { crew, status, forkedFrom } = expected
      const filter: RunFilter = { crew, status: [status], ...(forkedFrom === undefined ? {} : { forkedFrom }) }
      assert.deepEqual((await store.list(filter, { limit: 2 })).rows, [expected])
    }
  })

  check('uses the row of the first batch, if it has one', under, async ({ store }) => {
    await store.create(row('r'), batch(1, 1, { row: row('r', { status: 'queued' }) }))
    assert.equal((await store.row('r'))?.status, 'queued')
  })

  check('lists newest first, then by id descending', under, async ({ store }) => {
    await fill(store)
    assert.deepEqual(await listed(store, {}), ['d', 'c', 'b', 'a', 'old'])
  })

  for (const limit of [1, 2, 3, 5, 100]) {
    check(`lists every run once in pages of ${limit}`, under, async ({ store }) => {
      await fill(store)
      assert.deepEqual(await listed(store, {}, limit), ['d', 'c', 'b', 'a', 'old'])
    })
  }

  check('skips and repeats nothing when runs come and go between two pages', under, async ({ store }) => {
    await fill(store)
    const first = await store.list({}, { limit: 2 })
    assert.ok(first.next)
    await addAt(store, 'newest', 9)
    await store.delete('c')
    const second = await store.list({}, { limit: 10, before: first.next })
    assert.deepEqual(
      second.rows.map((found) => found.run),
      ['b', 'a', 'old'],
    )
    assert.equal(second.next, undefined)
  })

  check('filters by crew, status and parent, also across pages', under, async ({ store }) => {
    await fill(store)
    assert.deepEqual(await listed(store, { crew: 'kyc' }, 1), ['c', 'a'])
    assert.deepEqual(await listed(store, { status: ['failed', 'queued'] }, 1), ['c', 'b'])
    assert.deepEqual(await listed(store, { forkedFrom: 'old' }), ['d', 'c'])
    assert.deepEqual(await listed(store, { crew: 'kyc', status: ['failed'], forkedFrom: 'old' }), ['c'])
    assert.deepEqual(await listed(store, { status: [] }), [])
    assert.deepEqual(await listed(store, { crew: 'unknown' }), [])
  })

  check('filters by root, also across pages', under, async ({ store }) => {
    const runs = ['r', 'r/a#1', 'r/a#1/b#1', 'r/a', 's/a#1', 's']
    for (const [second, run] of runs.entries()) await addAt(store, run, second)
    assert.deepEqual(await listed(store, { roots: true }, 1), ['s', 'r/a', 'r'])
    assert.deepEqual(await listed(store, { root: 'r' }, 1), ['r/a#1/b#1', 'r/a#1', 'r'])
    assert.deepEqual(await listed(store, { root: 'r/a' }), ['r/a'])
    assert.deepEqual(await listed(store, { root: 'unknown' }), [])
  })

  check('filters by time, including the start and excluding the end', under, async ({ store }) => {
    for (const second of [1, 2, 3, 4]) await addAt(store, `r${second}`, second)
    assert.deepEqual(await listed(store, { createdFrom: at(2) }, 1), ['r4', 'r3', 'r2'])
    assert.deepEqual(await listed(store, { createdTo: at(3) }, 1), ['r2', 'r1'])
    assert.deepEqual(await listed(store, { createdFrom: at(2), createdTo: at(4) }), ['r3', 'r2'])
    assert.deepEqual(await listed(store, { createdFrom: at(2.001), createdTo: at(3.001) }), ['r3'])
    assert.deepEqual(await listed(store, { createdFrom: at(3), createdTo: at(3) }), [])
  })

  check('continues after a cursor from outside the time range', under, async ({ store }) => {
    for (const second of [1, 2, 3, 4]) await addAt(store, `r${second}`, second)
    const { next } = await store.list({}, { limit: 1 })
    assert.ok(next)
    const page = await store.list({ createdTo: at(3) }, { limit: 9, before: next })
    assert.deepEqual(
      page.rows.map(({ run }) => run),
      ['r2', 'r1'],
    )
  })

  check('pages through every combination of filters without skipping or repeating', under, async ({ store }) => {
    const rows = Array.from({ length: 40 }, (_, index) =>
      row(index % 5 === 0 ? `r2/task#${index}` : `r${(index * 7) % 40}`, {
        crew: index % 3 === 0 ? 'kyc' : 'claims',
        status: runStatuses[(index * 5) % runStatuses.length] as RunStatus,
        // several runs created at the same time
        createdAt: at(Math.floor(index / 3)),
        ...(index % 4 === 0 ? { forkedFrom: index % 8 === 0 ? 'p' : 'q' } : {}),
      }),
    )
    for (const created of rows) await store.create(created, batch(1))
    for (const [index, filter] of combinations().entries()) {
      const expected = listPage(rows, filter, { limit: rows.length }).rows.map(({ run }) => run)
      // one small page size per filter, since some stores scan all runs for each page
      for (const limit of [[3, 7, 2, 5, 1][index % 5] as number, 100]) {
        assert.deepEqual(await listed(store, filter, limit), expected, `${JSON.stringify(filter)} by ${limit}`)
      }
    }
  })

  check('refuses an invalid cursor', under, async ({ store }) => {
    await refused(store.list({}, { limit: 1, before: 'nonsense' }), 'OPTION_INVALID', /nonsense/)
  })

  check('finds an output by crew, task and fingerprint', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const outputs = [
      { task: 'facts', fingerprint: 'f1', seq: 2 },
      { task: 'note', fingerprint: 'f1', seq: 3 },
    ]
    await store.append(lease, 1, batch(2, 2, { outputs }))
    await finds(store, ['claims', 'facts', 'f1'], 'r', 2)
    await finds(store, ['claims', 'note', 'f1'], 'r', 3)
    assert.equal(await store.findOutput('claims', 'facts', 'f2'), undefined)
    assert.equal(await store.findOutput('kyc', 'facts', 'f1'), undefined)
  })

  check('finds the newest of several outputs', under, async ({ store }) => {
    const lease = await started(store, 'r')
    for (const seq of [2, 3]) {
      await store.append(lease, seq - 1, batch(seq, 1, { outputs: [{ task: 'facts', fingerprint: 'f', seq }] }))
    }
    await finds(store, ['claims', 'facts', 'f'], 'r', 3)
  })

  checkIf(
    'clock',
    'finds the newest output of several runs, and none older than requested',
    under,
    async ({ store, place, pass }) => {
      for (const run of ['z', 'a']) {
        const lease = await started(store, run)
        await store.append(lease, 1, batch(2, 1, { outputs: [{ task: 'facts', fingerprint: 'f', seq: 2 }] }))
        pass(60_000)
      }
      const now = place.now()
      await finds(store, ['claims', 'facts', 'f', now - 90_000], 'a', 2)
      assert.equal(await store.findOutput('claims', 'facts', 'f', now - 30_000), undefined)
    },
  )

  check('uses the completion time of the output key', under, async ({ store }) => {
    const output = { task: 'facts', fingerprint: 'f', seq: 1 }
    for (const [run, completedAt] of [
      ['a', 1_000],
      ['newest', 3_000],
      ['b', 2_000],
    ] as const) {
      await store.create(row(run), batch(1, 1, { outputs: [{ ...output, completedAt }] }))
    }
    await finds(store, ['claims', 'facts', 'f'], 'newest', 1)
    const newest = { run: 'newest', seq: 1, completedAt: 3_000 }
    assert.deepEqual(await store.findOutput('claims', 'facts', 'f', 3_000), newest)
    assert.equal(await store.findOutput('claims', 'facts', 'f', 3_001), undefined)
  })

  check('forgets the outputs of a deleted run', under, async ({ store }) => {
    await store.create(row('r'), batch(1, 1, { outputs: [{ task: 'facts', fingerprint: 'f', seq: 1 }] }))
    await finds(store, ['claims', 'facts', 'f'], 'r', 1)
    await store.delete('r')
    assert.equal(await store.findOutput('claims', 'facts', 'f'), undefined)
  })
}

async function finds(store: Store, asked: Parameters<Store['findOutput']>, run: string, seq: number): Promise<void> {
  const found = await store.findOutput(...asked)
  assert.deepEqual(found && { run: found.run, seq: found.seq }, { run, seq })
}

async function fill(store: Store): Promise<void> {
  await addAt(store, 'b', 1, { status: 'failed' })
  await addAt(store, 'd', 1, { forkedFrom: 'old' })
  await addAt(store, 'old', 0)
  await addAt(store, 'c', 1, { crew: 'kyc', status: 'failed', forkedFrom: 'old' })
  await addAt(store, 'a', 1, { crew: 'kyc' })
}

async function addAt(store: Store, run: string, second: number, fields: Parameters<typeof row>[1] = {}): Promise<void> {
  await store.create(row(run, { createdAt: at(second), ...fields }), batch(1))
}

function at(second: number): string {
  return new Date(startOfTime + second * 1000).toISOString()
}

function combinations(): RunFilter[] {
  const choices: readonly (readonly RunFilter[])[] = [
    [{}, { crew: 'claims' }],
    [{}, { status: ['failed'] }, { status: ['suspended', 'running', 'failed'] }],
    [{}, { forkedFrom: 'p' }],
    [{}, { roots: true }, { root: 'r2' }],
    [{}, { createdFrom: at(4) }],
    [{}, { createdTo: at(10) }],
  ]
  return choices.reduce<RunFilter[]>(
    (filters, choice) => filters.flatMap((filter) => choice.map((more) => ({ ...filter, ...more }))),
    [{}],
  )
}

async function listed(store: Store, filter: RunFilter, limit = 100): Promise<string[]> {
  const runs: string[] = []
  let before: string | undefined
  do {
    const page = await store.list(filter, before === undefined ? { limit } : { limit, before })
    assert.ok(page.rows.length <= limit)
    runs.push(...page.rows.map((found) => found.run))
    before = page.next
  } while (before !== undefined)
  return runs
}
