// For people who read and edit state by hand: a folder with one JSON-lines file per run. A line that somebody removed
// is a gap, and the run continues after it; everything else that the store says of a run is folded from the lines that
// are left. Changes are made under the lock of leases.db, reads without it: a file only grows, and what is unfinished
// at its end is not seen.
import { resolve } from 'node:path'
import { rootRun, worksFor } from '../../journal/paths.ts'
import { makePrivateFolder } from '../private-folder.ts'
import { listPage } from '../rules/list-page.ts'
import { afterReturn, neverTried } from '../rules/ready.ts'
import { checkFree, isLive } from '../rules/refusals.ts'
import type { Lease, Store } from '../store.ts'
import { fileError } from './durable-files.ts'
import { openFolder } from './folder-access.ts'
import { watchFolder } from './folder-watch.ts'
import { acquireRoot, appendBatch, createRun, postMessage } from './folder-writes.ts'
import { completeRow, readLines } from './journal-file.ts'
import { claimRoots } from './roots/claim-roots.ts'
import { nothingSaid, type Roots, type StoredRoot } from './roots/root-table.ts'
import { settle, waitingMessages } from './roots/said-by-files.ts'

export interface FileStoreOptions {
  /** The clock that leases expire by; Date.now unless a test brings its own. */
  readonly now?: () => number
}

/** Opens the folder, making it when missing. STORE_INVALID, STORE_NEWER. */
export async function fileStore(path: string, options: FileStoreOptions = {}): Promise<Store> {
  const folder = resolve(path)
  await makePrivateFolder(folder)
  const access = await openFolder(folder, options.now ?? Date.now)
  const { url, files, now, guarded, locked } = access
  const watchers = watchFolder(folder)

  return {
    url,

    async create(first, batch, lease) {
      const result = await createRun(access, first, batch, lease)
      if (result.created) watchers.changed(first.run)
      return result
    },

    async append(lease, after, batch) {
      const waiting = await appendBatch(access, lease, after, batch)
      watchers.changed(batch.run ?? lease.run)
      return waiting
    },

    async *read(run, after = 0) {
      const state = await guarded(() => access.undamaged(run))
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
        return newest && { run: newest.run, seq: newest.seq, completedAt: newest.at }
      }),

    acquire: (run, owner, ttlMs) =>
      locked(async (roots) => {
        await access.existing(run)
        return acquireRoot(access, roots, run, owner, ttlMs)
      }),

    claim: (owner, ttlMs, lanes, room) =>
      locked((roots) => claimRoots(files, roots, { owner, ttlMs, lanes, room }, now)),

    ready: (lanes, limit) => access.look((roots) => roots.ready(lanes, limit)),

    renew: (leases, ttlMs) =>
      locked((roots) =>
        leases.flatMap((lease) => {
          const root = heldRoot(roots, lease)
          if (root?.holding === undefined) return []
          roots.put(lease.run, { ...root, holding: { ...root.holding, expiresAt: now() + ttlMs } })
          return [{ lease, waiting: root.waiting }]
        }),
      ),

    async release(lease) {
      const released = await locked(async (roots) => {
        if (heldRoot(roots, lease) === undefined) {
          const root = roots.get(lease.run)
          const alive = afterReturn(root, lease.token)
          if (alive.deaths !== undefined) roots.put(lease.run, { ...root, ...alive })
          return undefined
        }
        const root = await settle(files, roots, lease.run)
        roots.put(lease.run, { ...root, holding: undefined })
        return root
      })
      if (released !== undefined) watchers.changed(lease.run)
      return released?.waiting ?? 0
    },

    now: async () => now(),

    tries: (run) =>
      access.look((roots) => {
        const { tries, deaths } = roots.get(rootRun(run))
        return { tries, deaths }
      }),

    async holder(run) {
      const { holding } = await access.look((roots) => roots.get(rootRun(run)))
      return isLive(holding, now()) ? holding?.owner : undefined
    },

    async post(run, message) {
      const result = await postMessage(access, run, message)
      if (result === 'posted') watchers.posted(run)
      return result
    },

    inbox: (run) =>
      guarded(async () => {
        const state = await access.undamaged(run)
        return state === undefined ? [] : waitingMessages(files, run, state)
      }),

    watch: (run, signal, only) => watchers.watch(run, signal, only),

    async delete(run) {
      const removed = await locked(async (roots) => {
        const root = roots.get(rootRun(run))
        checkFree(run, root.holding, now())
        const there = (await files.ids()).filter((id) => worksFor(id, run))
        // Itself first: without it, those that worked for it are nobody's, and no other run of this id takes them for
        // its own.
        const unit = [run, ...there.filter((id) => id !== run)]
        for (const id of unit) await files.remove(id)
        // The token stays, so that a new run of this id continues after it and an old holder stays fenced out.
        if (rootRun(run) !== run && there.length > 0) await settle(files, roots, rootRun(run))
        else if (rootRun(run) === run && (root.token > 0 || root.lane !== undefined))
          roots.put(run, { ...root, ...nothingSaid, ...untried })
        return unit
      })
      for (const id of removed) watchers.changed(id)
    },

    async close() {
      watchers.close()
      await access.close()
    },
  }
}

const untried = { ...neverTried, holding: undefined, unsure: false } as const

function heldRoot(roots: Roots, { run, token, id }: Lease): StoredRoot | undefined {
  const root = roots.get(run)
  return root.token === token && root.holding?.id === id ? root : undefined
}
