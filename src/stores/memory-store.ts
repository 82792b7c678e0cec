// A store that lives as long as its process, for tests and for trying things out. Every operation is done in one
// synchronous step, which makes it the plainest statement of what the port means.
import { worksFor } from '../journal/paths.ts'
import { isEnded } from '../journal/state/state.ts'
import { oldestFirst } from './cursor.ts'
import { listPage } from './list-page.ts'
import {
  checkFree,
  checkInbox,
  checkNumbers,
  checkOpen,
  checkSeq,
  checkToken,
  isLive,
  rememberGone,
  runNotFound,
  storeClosed,
  type Holding,
} from './refusals.ts'
import type { Batch, Lease, Line, Message, Owner, RunId, RunRow, Store } from './store.ts'
import { createWatchers } from './watchers.ts'

export interface MemoryStoreOptions {
  /** The clock that leases expire by; Date.now unless a test brings its own. */
  readonly now?: () => number
  readonly url?: string
}

interface StoredRun {
  row: RunRow
  token: number
  holding: Holding | undefined
  readonly lines: Line[]
  readonly blobs: Map<string, Uint8Array>
  /** In the order of posting; `taken` ones stay, since an id is unique for ever. */
  readonly messages: Map<string, { message: Message; taken: boolean }>
}

interface StoredOutput {
  readonly crew: string
  readonly task: string
  readonly fingerprint: string
  readonly run: RunId
  readonly seq: number
  readonly completedAt: number
}

export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const now = options.now ?? Date.now
  const url = options.url ?? 'memory:'
  const runs = new Map<RunId, StoredRun>()
  let outputs: StoredOutput[] = []
  // The highest token of any deleted run: a new run of an old id continues after it, so that an old holder stays fenced
  // out.
  let tokenFloor = 0
  let closed = false
  const watchers = createWatchers()

  /** Keeps the promise of promises: even a refusal comes as a rejection. */
  async function step<T>(work: () => T): Promise<T> {
    if (closed) throw storeClosed(url)
    return work()
  }
  function existing(run: RunId): StoredRun {
    const found = runs.get(run)
    if (found === undefined) throw runNotFound(run, url)
    return found
  }
  function store(found: StoredRun, batch: Batch): void {
    if (batch.row !== undefined) found.row = { ...batch.row, run: found.row.run }
    for (const { seq, bytes } of batch.lines) found.lines.push({ seq, bytes: copy(bytes) })
    for (const { hash, bytes } of batch.blobs ?? []) {
      if (!found.blobs.has(hash)) found.blobs.set(hash, copy(bytes))
    }
    const { run, crew } = found.row
    for (const output of batch.outputs ?? []) {
      outputs.push({ ...output, crew, run, completedAt: output.completedAt ?? now() })
    }
    for (const id of batch.taken ?? []) {
      const posted = found.messages.get(id)
      if (posted !== undefined) posted.taken = true
    }
    watchers.changed(run)
  }
  function take(found: StoredRun, owner: Owner, ttlMs: number): Lease {
    found.token++
    found.holding = { owner, expiresAt: now() + ttlMs }
    return { run: found.row.run, token: found.token, owner }
  }
  function held(lease: Lease): StoredRun | undefined {
    const found = runs.get(lease.run)
    return found?.token === lease.token && found.holding !== undefined ? found : undefined
  }
  function waits(found: StoredRun): boolean {
    const { status } = found.row
    if (status === 'suspended') return waiting(found).length > 0
    return status === 'queued' || status === 'running'
  }

  return {
    url,
    create: (first, batch, lease) =>
      step(() => {
        if (runs.has(first.run)) return { created: false }
        checkNumbers(first.run, 0, batch)
        const found: StoredRun = {
          row: { ...first },
          token: tokenFloor,
          holding: undefined,
          lines: [],
          blobs: new Map(),
          messages: new Map(),
        }
        runs.set(first.run, found)
        const taken = lease && take(found, lease.owner, lease.ttlMs)
        store(found, batch)
        return taken === undefined ? { created: true } : { created: true, lease: taken }
      }),

    append: (lease, after, batch) =>
      step(() => {
        const found = runs.get(lease.run)
        checkToken(lease, found?.token, found?.holding)
        if (found === undefined) return
        checkSeq(lease.run, found.lines.length, after, batch)
        checkOpen(lease.run, found.row.status, batch)
        checkInbox(lease.run, batch, () => waiting(found).map(({ id }) => id))
        store(found, batch)
      }),

    async *read(run, after = 0) {
      const lines = await step(() => runs.get(run)?.lines.slice(Math.max(after, 0)) ?? [])
      for (const { seq, bytes } of lines) yield { seq, bytes: copy(bytes) }
    },

    // what is in memory is there as a whole
    lastNoted: () => step(() => undefined),

    blob: (run, hash) =>
      step(() => {
        const bytes = runs.get(run)?.blobs.get(hash)
        return bytes && copy(bytes)
      }),

    row: (run) => step(() => runs.get(run)?.row),

    list: (filter, page) =>
      step(() => {
        const rows = [...runs.values()].map((found) => found.row)
        return listPage(rows, filter, page)
      }),

    findOutput: (crew, task, fingerprint, since = 0) =>
      step(() => {
        const newest = outputs
          .filter((output) => output.crew === crew && output.task === task && output.fingerprint === fingerprint)
          .filter((output) => output.completedAt >= since)
          .reduce<StoredOutput | undefined>(
            (best, output) => (best !== undefined && best.completedAt > output.completedAt ? best : output),
            undefined,
          )
        return newest && { run: newest.run, seq: newest.seq }
      }),

    acquire: (run, owner, ttlMs) =>
      step(() => {
        const found = existing(run)
        checkFree(run, found.holding, now(), owner)
        return take(found, owner, ttlMs)
      }),

    claim: (owner, ttlMs, crews, limit) =>
      step(() => {
        const gone = rememberGone()
        return [...runs.values()]
          .filter(({ row }) => crews.some(({ crew, version }) => crew === row.crew && version === row.version))
          .filter((found) => waits(found) && !isLive(found.holding, now(), gone))
          .toSorted((a, b) => oldestFirst(a.row, b.row))
          .slice(0, Math.max(limit, 0))
          .map((found) => take(found, owner, ttlMs))
      }),

    renew: (leases, ttlMs) =>
      step(() =>
        leases.filter((lease) => {
          const found = held(lease)
          if (found?.holding === undefined) return false
          found.holding = { owner: found.holding.owner, expiresAt: now() + ttlMs }
          return true
        }),
      ),

    release: (lease) =>
      step(() => {
        const found = held(lease)
        if (found === undefined) return
        found.holding = undefined
        watchers.changed(lease.run)
      }),

    holder: (run) =>
      step(() => {
        const holding = runs.get(run)?.holding
        return isLive(holding, now()) ? holding?.owner : undefined
      }),

    post: (run, message) =>
      step(() => {
        const found = existing(run)
        if (found.messages.has(message.id)) return 'exists'
        if (isEnded(found.row.status)) return 'ended'
        found.messages.set(message.id, { message: { ...message }, taken: false })
        watchers.changed(run)
        return 'posted'
      }),

    inbox: (run) =>
      step(() => {
        const found = runs.get(run)
        return found === undefined ? [] : waiting(found)
      }),

    watch: (run, signal) => watchers.watch(run, signal),

    delete: (run) =>
      step(() => {
        const unit = [...runs.keys()].filter((id) => worksFor(id, run))
        for (const id of unit) checkFree(id, existing(id).holding, now())
        for (const id of unit) {
          tokenFloor = Math.max(tokenFloor, existing(id).token)
          runs.delete(id)
          outputs = outputs.filter((output) => output.run !== id)
          watchers.changed(id)
        }
      }),

    async close() {
      closed = true
      watchers.close()
    },
  }
}

function waiting(found: StoredRun): Message[] {
  return [...found.messages.values()].filter((posted) => !posted.taken).map((posted) => posted.message)
}

// Not slice(): a Buffer's shares its memory with the original.
function copy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
