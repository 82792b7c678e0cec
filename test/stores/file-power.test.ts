// Every state, by pages, that a power cut may leave of the last write to a file of a `file:` store. Until a write is
// synced, the disk may have any part of it: a missing page reads as zeros, and the file may end early. All acknowledged
// writes are there, the last one is there as a whole or not at all, and the run continues.
import assert from 'node:assert/strict'
import { cp, open, readFile, rm, stat, truncate, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { fileStore, currentOwner, type Line, type Store } from 'reprise/stores'
import {
  batch,
  entry,
  linesOf,
  refused,
  row,
  seqsOf,
  started,
  ttlMs,
} from '../../src/testing/store-contract/harness.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { temporaryFolder } from './temporary-folder.ts'

const page = 4096

/** What a power cut may leave of a write that made `before` into `after`. */
function* cuts(before: Uint8Array, after: Uint8Array): Generator<{ readonly what: string; readonly bytes: Buffer }> {
  const first = Math.floor(before.length / page)
  const pages = Math.ceil(after.length / page) - first
  const ends = Array.from({ length: pages }, (_, index) => Math.min(after.length, (first + index + 1) * page))
  for (const end of ends) {
    const present = Math.ceil(end / page) - first
    for (let lost = 0; lost < 2 ** present; lost++) {
      const bytes = Buffer.from(after.subarray(0, end))
      for (let index = 0; index < present; index++) {
        if (lost & (1 << index)) {
          const [from, to] = [(first + index) * page, (first + index + 1) * page]
          bytes.fill(0, Math.max(before.length, from), Math.min(end, to))
        }
      }
      const names = Array.from({ length: present }, (_, index) => (lost & (1 << index) ? 'lost' : 'there'))
      yield { what: `the file has ${end} bytes, its last pages: ${names.join(', ')}`, bytes }
    }
  }
}

const lines = (from: number, ...sizes: number[]): Line[] =>
  sizes.map((size, index) => entry(from + index, 'x'.repeat(size)))

async function opened(folder: string): Promise<Store & AsyncDisposable> {
  const store = await fileStore(folder)
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}

/** A store with run r of three entries, which together have about so many bytes. */
async function scene(bytes: number) {
  const folder = await temporaryFolder()
  const base = join(folder.path, 'base')
  await using store = await opened(base)
  const lease = await started(store, 'r')
  await store.append(lease, 1, {
    lines: lines(2, 40, Math.max(1, bytes - 700)),
    row: row('r', { status: 'suspended' }),
  })
  return {
    base,
    /** A copy of the folder as it is, for one state of the disk. */
    async copy(name: string): Promise<string> {
      const place = join(folder.path, name)
      await cp(base, place, { recursive: true })
      return place
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

const appends: { readonly [what: string]: readonly Line[] } = {
  'one line': lines(4, 9_000),
  'one short line': lines(4, 60),
  'a long line and two short ones': lines(4, 8_000, 80, 80),
  'two short lines and a long one': lines(4, 80, 80, 8_000),
  'three long lines': lines(4, 3_500, 3_500, 3_500),
  'many short lines': lines(4, ...Array.from({ length: 60 }, () => 90)),
}

for (const [what, added] of Object.entries(appends)) {
  for (const noted of [true, false]) {
    test(`a power cut during an append of ${what} loses nothing acknowledged${noted ? '' : ', even without the note of the last line'}`, async () => {
      // entries that end at the start, in the middle and at the end of a page
      for (const size of [700, 2_000, 4_050]) {
        await using there = await scene(size)
        const before = await readFile(join(there.base, 'r.jsonl'))
        const note = await readFile(join(there.base, 'r.end'))
        {
          await using store = await opened(there.base)
          await store.append(await store.acquire('r', currentOwner(), ttlMs), 3, { lines: added })
        }
        const after = await readFile(join(there.base, 'r.jsonl'))
        await writeFile(join(there.base, 'r.end'), note)
        if (!noted) await rm(join(there.base, 'r.end'))
        for (const { what: state, bytes } of cuts(before, after)) {
          const place = await there.copy(state)
          await writeFile(join(place, 'r.jsonl'), bytes)
          await using store = await opened(place)
          const whole = bytes.equals(after) ? added.length : 0
          const last = 3 + whole
          assert.deepEqual(
            await seqsOf(store, 'r'),
            Array.from({ length: last }, (_, index) => index + 1),
            state,
          )
          assert.equal((await store.row('r'))?.status, 'suspended', state)
          const lease = await store.acquire('r', currentOwner(), ttlMs)
          await store.append(lease, last, batch(last + 1, 2))
          await using again = await opened(place)
          assert.deepEqual(await linesOf(again, 'r', last), batch(last + 1, 2).lines, state)
        }
      }
    })
  }
}

test('a power cut during a post loses no acknowledged message', async () => {
  for (const known of [0, 1, 40]) {
    await using there = await scene(700)
    const path = join(there.base, 'r.inbox.jsonl')
    const message = (id: string, bytes: number) => ({ id, at: '', body: 'y'.repeat(bytes) })
    let before = Buffer.alloc(0)
    {
      await using store = await opened(there.base)
      for (let count = 0; count < known; count++) await store.post('r', message(`m${count}`, 90))
      if (known > 0) before = await readFile(path)
    }
    const table = await readFile(join(there.base, 'leases.db'))
    const note = await readFile(join(there.base, 'r.inbox.end')).catch(() => Buffer.alloc(0))
    {
      await using store = await opened(there.base)
      await store.post('r', message('cut', 9_000))
    }
    const after = await readFile(path)
    for (const { what: state, bytes } of cuts(before, after)) {
      const place = await there.copy(state)
      await writeFile(join(place, 'r.inbox.jsonl'), bytes)
      await writeFile(join(place, 'r.inbox.end'), note)
      await writeFile(join(place, 'leases.db'), table)
      await using store = await opened(place)
      const ids = (await store.inbox('r')).map(({ id }) => id)
      const whole = bytes.equals(after) ? ['cut'] : []
      const expected = [...Array.from({ length: known }, (_, index) => `m${index}`), ...whole]
      assert.deepEqual(ids, expected, state)
      assert.equal(await store.post('r', message('next', 50)), 'posted', state)
      await using again = await opened(place)
      assert.deepEqual(
        (await again.inbox('r')).map(({ id }) => id),
        [...expected, 'next'],
        state,
      )
      const lease = await again.acquire('r', currentOwner(), ttlMs)
      await again.append(lease, 3, batch(4, 1, { taken: expected }))
      assert.deepEqual(
        (await again.inbox('r')).map(({ id }) => id),
        ['next'],
        state,
      )
    }
  }
})

test('a lost page of an acknowledged append is damage once another append follows', async () => {
  for (const added of Object.values(appends)) {
    await using there = await scene(2_000)
    const path = join(there.base, 'r.jsonl')
    const before = (await stat(path)).size
    {
      await using store = await opened(there.base)
      const lease = await store.acquire('r', currentOwner(), ttlMs)
      await store.append(lease, 3, { lines: added })
      await store.append(lease, 3 + added.length, { lines: lines(4 + added.length, 9_000, 40) })
      await store.append(lease, 5 + added.length, { lines: lines(6 + added.length, 90) })
    }
    const bytes = await readFile(path)
    const place = await there.copy('damaged')
    // as after a power cut that took the note away, too
    await rm(join(place, 'r.end'))
    for (let start = Math.floor(before / page) * page; start < before + 500; start += page) {
      await writeFile(join(place, 'r.jsonl'), Buffer.from(bytes).fill(0, Math.max(before, start), start + page))
      await using store = await opened(place)
      await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', /line 4 of .*r\.jsonl cannot be read/)
      await refused(store.acquire('r', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', /line 4 of .*r\.jsonl cannot be read/)
    }
  }
})

test('a lost page of the last append is damage if the append is noted', async () => {
  await using there = await scene(2_000)
  const path = join(there.base, 'r.jsonl')
  const before = (await stat(path)).size
  {
    await using store = await opened(there.base)
    await store.append(await store.acquire('r', currentOwner(), ttlMs), 3, { lines: lines(4, 9_000) })
  }
  await writeFile(path, (await readFile(path)).fill(0, before, page))
  await using store = await opened(there.base)
  await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', /line 4 of .*r\.jsonl cannot be read/)
})

test('a lost page is damage if the next batch begins with a later entry', async () => {
  await using there = await scene(2_000)
  const path = join(there.base, 'r.jsonl')
  const before = (await stat(path)).size
  {
    await using store = await opened(there.base)
    const lease = await store.acquire('r', currentOwner(), ttlMs)
    await store.append(lease, 3, { lines: lines(4, 9_000) })
    await store.append(lease, 4, { lines: lines(5, 40, 40) })
  }
  await rm(join(there.base, 'r.end'))
  await writeFile(path, (await readFile(path)).fill(0, before, page))
  await using store = await opened(there.base)
  await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', /line 4 of .*r\.jsonl cannot be read/)
})

test('an acknowledged message that is lost is damage', async () => {
  for (const [name, later] of [
    ['the last one', false],
    ['one before another', true],
  ] as const) {
    await using there = await scene(700)
    await using store = await opened(there.base)
    await store.post('r', { id: 'm', at: '', body: 'y'.repeat(9_000) })
    if (later) await store.post('r', { id: 'n', at: '', body: '' })
    const path = join(there.base, 'r.inbox.jsonl')
    await writeFile(path, (await readFile(path)).fill(0, 0, page))
    // one is proven by the note of the last message, the other by the line after it
    if (later) await rm(join(there.base, 'r.inbox.end'))
    await refused(store.inbox('r'), 'JOURNAL_DAMAGED', /line 1 of .*r\.inbox\.jsonl/)
    await refused(store.post('r', { id: 'o', at: '', body: '' }), 'JOURNAL_DAMAGED', /line 1 of .*/)
    assert.ok(name)
  }
})

test('a last line without its newline survives a power cut during the next append', async () => {
  await using there = await scene(2_000)
  const path = join(there.base, 'r.jsonl')
  await truncate(path, (await stat(path)).size - 1)
  const whole = await readFile(path)
  const syncs = await syncedStates(there.base, path)
  // the newline is on disk before the append
  assert.deepEqual(syncs[0], Buffer.concat([whole, Buffer.from('\n')]))
})

test('the lines of an earlier process are synced before the next append', async (context) => {
  await using there = await scene(2_000)
  await writeFile(
    join(there.base, 'r.jsonl'),
    Buffer.concat([await readFile(join(there.base, 'r.jsonl')), Buffer.from('{"torn')]),
  )
  await using store = await opened(there.base)
  const lease = await store.acquire('r', currentOwner(), ttlMs)
  const calls = await spied(context, there.base)
  await store.append(lease, 3, batch(4))
  assert.deepEqual(calls.splice(0), ['truncate', 'datasync', 'sync', 'write', 'datasync'])
  await store.append(lease, 4, batch(5))
  assert.deepEqual(calls, ['write', 'datasync'])
})

test('a run continues after a power cut that tore its last append, with an awaited answer too', async () => {
  await using folder = await temporaryFolder()
  const model = scriptedModel([
    { when: 'Find out', reply: 'facts '.repeat(2_000) },
    { when: 'Write', reply: 'note '.repeat(2_000) },
  ])
  const asked = (index: number) => model.calls.filter(({ entry: answered }) => answered === index).length
  const clerk = new Agent({ role: 'Clerk', goal: 'g', model })
  const facts = new Task({ name: 'facts', description: 'Find out', agent: clerk })
  const note = new Task({ name: 'note', description: 'Write', agent: clerk, humanInput: true })
  const openCrew = () =>
    new Crew({ name: 'cut', tasks: [facts, note], store: `file:${folder.path}`, logger: { info() {}, warn() {} } })
  const [path, inbox] = [join(folder.path, 'r.jsonl'), join(folder.path, 'r.inbox.jsonl')]
  {
    await using crew = openCrew()
    await crew.kickoff({ id: 'r', through: 'facts' })
  }
  const size = (await stat(path)).size
  const noted = await readFile(join(folder.path, 'r.end'))
  {
    await using crew = openCrew()
    await crew.resume('r')
  }
  // the second life leaves one append that was never acknowledged, without its first page
  const bytes = await readFile(path)
  const last = bytes.subarray(bytes.lastIndexOf('{"v":', bytes.indexOf('note note')))
  await writeFile(
    path,
    Buffer.concat([bytes.subarray(0, size), Buffer.from(last.subarray(0, last.indexOf(10) + 1)).fill(0, 0, page)]),
  )
  await writeFile(join(folder.path, 'r.end'), noted)
  await using crew = openCrew()
  const waiting = await crew.resume('r')
  assert.equal(waiting.status, 'suspended')
  assert.equal(asked(0), 1)
  assert.equal(asked(1), 2)
  await writeFile(inbox, Buffer.concat([Buffer.alloc(page), Buffer.from('"}\n')]))
  await crew.run('r').answer('q1', { decision: 'approve' })
  assert.equal((await crew.resume('r')).status, 'completed')
  assert.equal(asked(1), 2)
})

/** The bytes on disk at each sync of one append. */
async function syncedStates(folder: string, path: string): Promise<Buffer[]> {
  const states: Buffer[] = []
  const handle = await open(path, 'r')
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const original = prototype.datasync
  prototype.datasync = async function (this: FileHandle) {
    await original.call(this)
    states.push(await readFile(path))
  }
  try {
    await using store = await opened(folder)
    await store.append(await store.acquire('r', currentOwner(), ttlMs), 3, { lines: lines(4, 9_000) })
  } finally {
    prototype.datasync = original
  }
  return states
}

/** The names of the calls that change or sync files, in their order. Notes are not among them. */
async function spied(context: TestContext, folder: string): Promise<string[]> {
  const calls: string[] = []
  const handle = await open(join(folder, 'r.jsonl'), 'r')
  const prototype = Object.getPrototypeOf(handle) as Record<string, (...args: unknown[]) => unknown>
  await handle.close()
  for (const name of ['truncate', 'datasync', 'sync', 'write']) {
    const original = prototype[name] as (...args: unknown[]) => unknown
    context.mock.method(prototype, name, function (this: unknown, ...args: unknown[]) {
      // a note is written as a text
      if (typeof args[0] !== 'string') calls.push(name)
      return original.apply(this, args)
    })
  }
  return calls
}
