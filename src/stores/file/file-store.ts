// For people who read and edit state by hand: a folder with one JSON-lines file per run. A line that somebody removed
// is a gap, and the run continues after it; everything else that the store says of a run is folded from the lines that
// are left. Changes are made under the lock of leases.db, reads without it: a file only grows, and what is unfinished
// at its end is not seen.
import { join, resolve } from 'node:path'
import { worksFor } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { oldestFirst } from '../cursor.ts'
import { listPage } from '../list-page.ts'
import { makePrivateFolder } from '../private-folder.ts'
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
} from '../refusals.ts'
import type { Lease, Message, Owner, RunId, Store } from '../store.ts'
import { fileError } from './durable-files.ts'
import { leasesName } from './file-names.ts'
import { watchFolder } from './folder-watch.ts'
import { appendLines, completeRow, lastSeq, readLines, type JournalState } from './journal-file.ts'
import { openLeaseDatabase, type Leases } from './lease-database.ts'
import { runFolder } from './run-folder.ts'

export interface FileStoreOptions {
  /** The clock that leases expire by; Date.now unless a test brings its own. */
  readonly now?: () => number
}

/** Opens the folder, making it when missing. STORE_INVALID, STORE_NEWER. */
export async function fileStore(path: string, options: FileStoreOptions = {}): Promise<Store> {
  const folder = resolve(path)
  const url = `file:${folder}`
  const now = options.now ?? Date.now
  await makePrivateFolder(folder)
  const database = await openLeaseDatabase(join(folder, leasesName), url)
  const files = runFolder(folder)
  const watchers = watchFolder(folder)
  let closed = false

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw storeClosed(url)
    try {
      return await work()
    } catch (error) {
      throw fileError(error, folder)
    }
  }
  function locked<T>(work: (leases: Leases) => Promise<T>): Promise<T> {
    return guarded(() => database.locked(work))
  }
  async function undamaged(run: RunId): Promise<JournalState | undefined> {
    const state = await files.load(run)
    if (state?.damage !== undefined) throw state.damage
    return state
  }
  function take(leases: Leases, run: RunId, owner: Owner, ttlMs: number): Lease {
    const token = leases.get(run).token + 1
    leases.put(run, token, { owner, expiresAt: now() + ttlMs })
    return { run, token, owner }
  }
  async function waitingMessages(run: RunId, state: JournalState): Promise<Message[]> {
    const all = await files.messages(run)
    return all.filter((message) => !state.taken.has(message.id))
  }
  /** An id that was never posted is not taken: it stays free for a message to come. */
  async function postedAmong(run: RunId, ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return []
    const posted = new Set((await files.messages(run)).map((message) => message.id))
    return ids.filter((id) => posted.has(id))
  }
  async function waits({ row, state }: Awaited<ReturnType<typeof files.all>>[number]): Promise<boolean> {
    if (state.damage !== undefined) return false
    if (row.status === 'suspended') return (await waitingMessages(row.run, state)).length > 0
    return row.status === 'queued' || row.status === 'running'
  }

  return {
    url,

    async create(first, batch, lease) {
      const result = await locked(async (leases) => {
        if ((await files.load(first.run)) !== undefined) return { created: false }
        checkNumbers(first.run, 0, batch)
        const taken = lease && take(leases, first.run, lease.owner, lease.ttlMs)
        if (taken === undefined && leases.get(first.run).holding !== undefined) {
          leases.put(first.run, leases.get(first.run).token, undefined)
        }
        const state = await files.startOver(first.run)
        await files.addBlobs(first.run, batch.blobs ?? [])
        await appendLines(state, { ...batch, taken: [] }, { ...(batch.row ?? first), run: first.run }, now())
        await files.keep(first.run, state)
        return taken === undefined ? { created: true } : { created: true, lease: taken }
      })
      if (result.created) watchers.changed(first.run)
      return result
    },

    async append(lease, after, batch) {
      await locked(async (leases) => {
        const state = await undamaged(lease.run)
        const { token, holding } = leases.get(lease.run)
        checkToken(lease, state && token, holding)
        if (state === undefined) return
        checkSeq(lease.run, lastSeq(state), after, batch)
        checkOpen(lease.run, state.row.status, batch)
        const waiting = batch.row?.status === 'completed' ? await waitingMessages(lease.run, state) : []
        checkInbox(lease.run, batch, () => waiting.map(({ id }) => id))
        await files.addBlobs(lease.run, batch.blobs ?? [])
        const taken = await postedAmong(lease.run, batch.taken ?? [])
        await appendLines(state, { ...batch, taken }, batch.row && { ...batch.row, run: lease.run }, now())
        await files.note(state)
      })
      watchers.changed(lease.run)
    },

    async *read(run, after = 0) {
      const state = await guarded(() => undamaged(run))
      if (state === undefined) return
      try {
        yield* readLines(state, after)
      } catch (error) {
        throw fileError(error, folder)
      }
    },

    lastNoted: (run) => guarded(async () => (await files.load(run))?.noted),

    blob: (run, hash) => guarded(() => files.blob(run, hash)),

    row: (run) =>
      guarded(async () => {
        const state = await files.load(run)
        const row = state && completeRow(state)
        // A damaged journal is still listed where its lines say enough.
        if (row === undefined && state?.damage !== undefined) throw state.damage
        return row
      }),

    list: (filter, page) =>
      guarded(async () => {
        const rows = (await files.all()).map(({ row }) => row)
        return listPage(rows, filter, page)
      }),

    findOutput: (crew, task, fingerprint, since = 0) =>
      guarded(async () => {
        const [newest] = (await files.all())
          .filter(({ row }) => row.crew === crew)
          .flatMap(({ row, state }) => {
            const present = new Set(state.seqs)
            return state.outputs
              .filter((output) => output.task === task && output.fingerprint === fingerprint)
              .filter((output) => output.at >= since && present.has(output.seq))
              .map(({ at, seq }) => ({ at, seq, run: row.run }))
          })
          .toSorted((a, b) => b.at - a.at || b.seq - a.seq)
        return newest && { run: newest.run, seq: newest.seq }
      }),

    acquire: (run, owner, ttlMs) =>
      locked(async (leases) => {
        if ((await undamaged(run)) === undefined) throw runNotFound(run, url)
        checkFree(run, leases.get(run).holding, now(), owner)
        return take(leases, run, owner, ttlMs)
      }),

    claim: (owner, ttlMs, crews, limit) =>
      locked(async (leases) => {
        const gone = rememberGone()
        const served = (await files.all())
          .filter(({ row }) => crews.some(({ crew, version }) => crew === row.crew && version === row.version))
          .toSorted((a, b) => oldestFirst(a.row, b.row))
        const claimed: Lease[] = []
        for (const run of served) {
          if (claimed.length >= limit) break
          const { holding } = leases.get(run.row.run)
          if (isLive(holding, now(), gone) || !(await waits(run))) continue
          claimed.push(take(leases, run.row.run, owner, ttlMs))
        }
        return claimed
      }),

    renew: (leasesHeld, ttlMs) =>
      locked(async (leases) =>
        leasesHeld.filter((lease) => {
          if (!isHeld(leases, lease)) return false
          leases.put(lease.run, lease.token, { owner: lease.owner, expiresAt: now() + ttlMs })
          return true
        }),
      ),

    async release(lease) {
      const released = await locked(async (leases) => {
        if (!isHeld(leases, lease)) return false
        leases.put(lease.run, lease.token, undefined)
        return true
      })
      if (released) watchers.changed(lease.run)
    },

    async holder(run) {
      const { holding } = await guarded(() => database.look((leases) => leases.get(run)))
      return isLive(holding, now()) ? holding?.owner : undefined
    },

    async post(run, message) {
      const result = await locked(async () => {
        const state = await undamaged(run)
        if (state === undefined) throw runNotFound(run, url)
        const known = await files.messages(run)
        if (state.taken.has(message.id) || known.some(({ id }) => id === message.id)) return 'exists'
        if (isEnded(state.row.status)) return 'ended'
        await files.post(run, message)
        return 'posted'
      })
      if (result === 'posted') watchers.changed(run)
      return result
    },

    inbox: (run) =>
      guarded(async () => {
        const state = await undamaged(run)
        return state === undefined ? [] : waitingMessages(run, state)
      }),

    watch: (run, signal) => watchers.watch(run, signal),

    async delete(run) {
      const removed = await locked(async (leases) => {
        const within = (await files.ids()).filter((id) => id !== run && worksFor(id, run))
        // Itself first: without it, those that worked for it are nobody's, and no other run of this id takes them for
        // its own.
        const unit = [run, ...within]
        for (const id of unit) checkFree(id, leases.get(id).holding, now())
        for (const id of unit) {
          await files.remove(id)
          const { token, holding } = leases.get(id)
          // The token stays, so that a new run of this id continues after it and an old holder stays fenced out.
          if (holding !== undefined) leases.put(id, token, undefined)
        }
        return unit
      })
      for (const id of removed) watchers.changed(id)
    },

    async close() {
      closed = true
      watchers.close()
      await database.close()
    },
  }
}

function isHeld(leases: Leases, lease: Lease): boolean {
  const { token, holding } = leases.get(lease.run)
  return token === lease.token && holding !== undefined
}
