// The cache of runs gives what a full read gives, whatever happened to a run since it was read last.
import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { memoryStore } from 'reprise/stores'
import { encodeEntry, type EncodedEntry } from '../../src/journal/codec.ts'
import type { NewEntry } from '../../src/journal/entries.ts'
import { hashBytes } from '../../src/journal/hash.ts'
import type { RunState } from '../../src/journal/state/state.ts'
import { createRunCache, type RunCache } from '../../src/read/run-cache.ts'
import { readRun } from '../../src/read/read-run.ts'
import { fileStore } from '../../src/stores/file/store.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import { sqliteStore } from '../../src/stores/sqlite/store.ts'
import type { Blob, Lease, Line, Store } from '../../src/stores/store.ts'
import { row } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'

/** Edits by hand, and damage. Undefined for a store that cannot be edited. */
interface Editor {
  change(seq: number): Promise<void>
  remove(seq: number): Promise<void>
  loseBlobs(): Promise<void>
}

interface Kind {
  open(folder: string): Promise<Store>
  readonly editor?: (folder: string) => Editor
}

const changed = (line: string): string => line.replace('"structured":false', '"structured":true')

const kinds: { readonly [name: string]: Kind } = {
  memory: { open: async () => memoryStore() },
  sqlite: {
    open: (folder) => sqliteStore(join(folder, 'runs.db')),
    editor(folder) {
      const edit = (change: (db: DatabaseSync) => void): void => {
        using db = new DatabaseSync(join(folder, 'runs.db'))
        change(db)
      }
      return {
        change: async (seq) =>
          edit((db) => {
            const { line } = db.prepare('select line from entries where seq = ?').get(seq) ?? {}
            if (!(line instanceof Uint8Array)) return
            const bytes = Buffer.from(changed(Buffer.from(line).toString()))
            db.prepare('update entries set line = ? where seq = ?').run(bytes, seq)
          }),
        remove: async (seq) => edit((db) => db.prepare('delete from entries where seq = ?').run(seq)),
        loseBlobs: async () => edit((db) => db.exec('delete from blobs')),
      }
    },
  },
  file: {
    open: (folder) => fileStore(folder),
    editor(folder) {
      const file = join(folder, 'r.jsonl')
      const edit = async (seq: number, change: (line: string) => readonly string[]): Promise<void> => {
        const lines = (await readFile(file, 'utf8')).split('\n')
        const edited = lines.flatMap((line) => (line.includes(`"seq":${seq},"at"`) ? change(line) : [line]))
        await writeFile(file, edited.join('\n'))
      }
      return {
        change: (seq) => edit(seq, (line) => [changed(line)]),
        remove: (seq) => edit(seq, () => []),
        async loseBlobs() {
          const names = await readdir(join(folder, 'r.blobs')).catch(() => [])
          for (const name of names) await rm(join(folder, 'r.blobs', name))
        },
      }
    },
  },
}

/** A run that is written entry by entry, and replaced by others. */
function writer(store: Store) {
  const blobs = new Map<string, Blob>()
  let lease: Lease | undefined
  let last = { seq: 0, hash: '' }
  let incarnations = 0

  function encode(entries: readonly NewEntry[]): EncodedEntry[] {
    return entries.map((entry) => {
      const stamp = { seq: last.seq + 1, at: '2026-01-01T00:00:00.000Z', token: 1, prev: last.hash }
      const encoded = encodeEntry(entry, stamp)
      for (const blob of encoded.blobs) blobs.set(blob.hash, blob)
      last = { seq: stamp.seq, hash: encoded.hash }
      return encoded
    })
  }
  const toLine = ({ entry, bytes, hash }: EncodedEntry): Line => ({ seq: entry.seq, bytes, hash })

  async function createWith(lines: readonly Line[]): Promise<void> {
    if (lease) await store.release(lease)
    await store.delete('r')
    const batch = { lines, blobs: [...blobs.values()] }
    lease = (await store.create(row('r'), batch, { owner: currentOwner(), ttlMs: 1_000_000 })).lease
  }
  return {
    async create(entries: readonly NewEntry[]): Promise<void> {
      last = { seq: 0, hash: '' }
      await createWith(encode([created(`i${incarnations++}`), ...entries]).map(toLine))
    },
    async append(entries: readonly NewEntry[]): Promise<void> {
      // sqlite forgets the number of a removed line that no row was written with
      const end = (await Array.fromAsync(store.read('r'))).at(-1)
      const issued = Math.max(end?.seq ?? 0, (await store.lastNoted('r'))?.seq ?? 0)
      if (end && issued < last.seq) last = { seq: issued, hash: hashBytes(end.bytes) }
      const after = last.seq
      const encoded = encode(entries)
      const lines = encoded.map(toLine)
      await store.append(lease as Lease, after, { lines, blobs: encoded.flatMap((one) => one.blobs) })
    },
    /** Replaces the run by an older copy of itself. */
    async restore(count: number): Promise<void> {
      const lines = (await Array.fromAsync(store.read('r'))).slice(0, count)
      const end = lines.at(-1)
      // a person removed lines: no backup is that old
      if (!end || lines.some(({ seq }, index) => seq !== index + 1)) return
      last = { seq: end.seq, hash: hashBytes(end.bytes) }
      await createWith(lines)
    },
    async remove(): Promise<void> {
      if (lease) await store.release(lease)
      await store.delete('r')
    },
    seq: () => last.seq,
  }
}

function created(incarnation: string): NewEntry {
  const owner = { host: 'h', boot: 'b', pid: 1, start: 's', instance: 'i' }
  return {
    type: 'run.created',
    run: 'r',
    incarnation,
    crew: 'c',
    version: '1',
    inputs: {},
    tasks: [],
    owner,
    flow: true,
  }
}

const path = fc.constantFrom('a[1]#1', 'a[2]#1', 'b#1', 'b#2')
const entry: fc.Arbitrary<NewEntry> = fc.oneof(
  path.map((at): NewEntry => ({ type: 'task.started', path: at, fingerprint: {}, after: 0, code: true, input: 1 })),
  fc.tuple(path, fc.constantFrom('"x"', '"y"', `"${'long'.repeat(20_000)}"`)).map(([at, raw]): NewEntry => {
    return { type: 'task.completed', path: at, raw, structured: false, returned: true }
  }),
  path.map((at): NewEntry => ({ type: 'task.failed', path: at, error: { code: 'TASK_FAILED', message: 'no' } })),
  fc.tuple(path, fc.constantFrom('q1', 'q2')).map(([at, id]): NewEntry => {
    return { type: 'question.asked', path: at, question: { id, path: at, kind: 'value', text: '?', schema: {} } }
  }),
  fc.constant<NewEntry>({ type: 'run.suspended', reason: 'questions' }),
)
const entries = fc.array(entry, { minLength: 1, maxLength: 5 })
const nth = fc.nat(12)

type Event =
  | { readonly type: 'append' | 'create'; readonly entries: readonly NewEntry[] }
  | { readonly type: 'restore' | 'change' | 'remove'; readonly at: number }
  | { readonly type: 'loseBlobs' }

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: entries.map((list): Event => ({ type: 'append', entries: list })) },
  entries.map((list): Event => ({ type: 'create', entries: list })),
  fc.record({ type: fc.constantFrom('restore', 'change', 'remove'), at: nth }),
  fc.constant<Event>({ type: 'loseBlobs' }),
)

async function outcome<T>(work: Promise<T>): Promise<T | object> {
  return work.catch((error: unknown) => {
    const { code, message } = error as { code: string; message: string }
    return { code, message }
  })
}

async function checkRead(cache: RunCache, store: Store): Promise<void> {
  const full = await outcome(readRun(store, 'r').then(({ state }) => structuredClone(state)))
  assert.deepEqual(await outcome(cache.use('r', (state) => state)), full)
}

for (const [name, { open, editor }] of Object.entries(kinds))
  test(`a cached run of a ${name} store equals a full read after random appends and edits`, async () => {
    const property = fc.asyncProperty(fc.array(event, { minLength: 3, maxLength: 10 }), async (events) => {
      await using folder = await temporaryFolder()
      await using store = Object.assign(await open(folder.path), { [Symbol.asyncDispose]: () => store.close() })
      const cache = createRunCache(store)
      const run = writer(store)
      const edits = editor?.(folder.path)
      await run.create([])
      await checkRead(cache, store)
      for (const one of events) {
        // the first entry has the data of the run
        const seq = 'at' in one ? 2 + (one.at % Math.max(1, run.seq() - 1)) : 0
        if (one.type === 'append' || one.type === 'create') await run[one.type](one.entries)
        else if (one.type === 'restore') await run.restore(seq)
        else if (one.type === 'loseBlobs') await edits?.loseBlobs()
        else await edits?.[one.type](seq)
        await checkRead(cache, store)
      }
    })
    await fc.assert(property, { numRuns: name === 'memory' ? 300 : 60 })
  })

describe('a cached run', () => {
  const started: NewEntry = { type: 'task.started', path: 'a#1', fingerprint: {}, after: 0, code: true }
  const failed: NewEntry = { type: 'task.failed', path: 'a#1', error: { code: 'TASK_FAILED', message: 'no' } }

  /** Whether the next read continues the state of the last one. */
  async function continues(cache: RunCache, change: () => Promise<unknown>): Promise<boolean> {
    const states: RunState[] = []
    const note = (state: RunState): void => void states.push(state)
    await cache.use('r', note)
    await change()
    await cache.use('r', note)
    return states[0] === states[1]
  }

  test('is continued after an append, and read again after anything else', async () => {
    const store = memoryStore()
    const run = writer(store)
    const cache = createRunCache(store)
    await run.create([started])
    assert.equal(await continues(cache, async () => {}), true)
    assert.equal(await continues(cache, () => run.append([failed])), true)
    assert.equal(await continues(cache, () => run.restore(2)), false)
    assert.equal(await continues(cache, () => run.create([started])), false)
    await store.close()
  })

  test('is read as a whole while entries are missing', async () => {
    await using folder = await temporaryFolder()
    const { open, editor } = kinds['file'] as Kind
    await using store = Object.assign(await open(folder.path), { [Symbol.asyncDispose]: () => store.close() })
    const run = writer(store)
    const cache = createRunCache(store)
    await run.create([started, failed])
    assert.equal(await continues(cache, async () => editor?.(folder.path).remove(2)), false)
    assert.equal(await continues(cache, async () => {}), false)
  })

  test('is dropped when others need its room', async () => {
    const store = memoryStore()
    const run = writer(store)
    await run.create([started])
    const { bytes } = await Array.fromAsync(store.read('r')).then((lines) => ({
      bytes: lines.reduce((sum, line) => sum + line.bytes.length, 0),
    }))
    assert.equal(await continues(createRunCache(store, bytes), async () => {}), true)
    assert.equal(await continues(createRunCache(store, bytes - 1), async () => {}), false)
    await store.close()
  })

  test('that was deleted is not found, and the result of a read does not change with the next one', async () => {
    const store = memoryStore()
    const run = writer(store)
    const cache = createRunCache(store)
    await run.create([started])
    const before = await cache.use('r', ({ tasks }) => tasks)
    await run.append([failed])
    assert.equal((await cache.use('r', ({ tasks }) => tasks)).get('a')?.status, 'failed')
    assert.equal(before.get('a')?.status, 'running')
    await run.remove()
    await assert.rejects(
      cache.use('r', () => 0),
      { code: 'RUN_NOT_FOUND' },
    )
    await store.close()
  })

  test('is read by one user at a time', async () => {
    const store = memoryStore()
    const run = writer(store)
    const cache = createRunCache(store)
    await run.create([started])
    const [begun, used] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = cache.use('r', async (state) => {
      begun.resolve()
      await used.promise
      return [state.seq, state.tasks.get('a')?.status]
    })
    await begun.promise
    await run.append([failed])
    const second = cache.use('r', (state) => [state.seq, state.tasks.get('a')?.status])
    used.resolve()
    assert.deepEqual(await first, [2, 'running'])
    assert.deepEqual(await second, [3, 'failed'])
    await store.close()
  })
})
