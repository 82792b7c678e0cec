// A second implementation of the ready rule, around a store whose own result is ignored, so that it can be broken in
// the ways in which a store could be.
import type { Lease, Store } from 'reprise/stores'
import { rootRunId } from '../../src/journal/paths.ts'

interface Columns {
  ended: boolean
  dueAt: number | undefined
  waiting: number
  /** The token of the current lease. */
  lease: string | undefined
  expiresAt: number | undefined
  readyAt: number | undefined
}

const unknown: Columns = {
  ended: false,
  dueAt: undefined,
  waiting: 0,
  lease: undefined,
  expiresAt: undefined,
  readyAt: undefined,
}

export const mutants = {
  'a held run has no mark': {},
  'a suspension clears the mark': {},
  'a release forgets': {},
  "a child's message does not wake the root": {},
  "a child's message makes the root due instead of counting for it": {},
} as const

export type Mutant = keyof typeof mutants

export function withReadyRule(inner: Store, now: () => number, mutant?: Mutant): Store {
  const roots = new Map<string, Columns>()
  const of = (run: string): Columns => roots.get(rootRunId(run)) ?? unknown

  function change(run: string, changes: Partial<Columns>): void {
    const root = { ...of(run), ...changes }
    const due = root.ended ? undefined : root.waiting > 0 ? now() : root.dueAt
    const isUnmarked = mutant === 'a held run has no mark' && root.expiresAt !== undefined
    root.readyAt = due === undefined || isUnmarked ? undefined : Math.max(due, root.expiresAt ?? 0)
    roots.set(rootRunId(run), root)
  }
  function leased(lease: Lease, ttlMs: number): Lease {
    change(lease.run, { lease: lease.id, expiresAt: now() + ttlMs })
    return lease
  }

  return {
    ...inner,
    async create(first, batch, lease) {
      const created = await inner.create(first, batch, lease)
      if (rootRunId(first.run) === first.run) change(first.run, { dueAt: batch.due === 'now' ? now() : batch.due })
      return created
    },
    async append(lease, after, batch) {
      const waiting = await inner.append(lease, after, batch)
      const { row } = batch
      const isRoot = (batch.run ?? lease.run) === lease.run
      const counts = mutant === "a child's message makes the root due instead of counting for it" && !isRoot
      const taken = counts ? 0 : (batch.taken?.length ?? 0)
      change(lease.run, { waiting: Math.max(0, of(lease.run).waiting - taken) })
      if (isRoot && row) {
        const ended = row.status === 'completed'
        change(lease.run, { ended, dueAt: batch.due === 'now' ? now() : batch.due })
        if (mutant === 'a suspension clears the mark' && row.status === 'suspended' && batch.due === undefined) {
          roots.set(lease.run, { ...of(lease.run), readyAt: undefined, waiting: 0 })
        }
      }
      return waiting
    },
    async post(run, message) {
      const posted = await inner.post(run, message)
      const isChild = rootRunId(run) !== run
      if (posted !== 'posted') return posted
      if (isChild && mutant === "a child's message makes the root due instead of counting for it") {
        change(run, { dueAt: now() })
      } else if (!isChild || mutant !== "a child's message does not wake the root") {
        change(run, { waiting: of(run).waiting + 1 })
      }
      return posted
    },
    acquire: async (run, owner, ttlMs) => leased(await inner.acquire(run, owner, ttlMs), ttlMs),
    async claim(owner, ttlMs, _lanes, { limit, runId: only }) {
      const asked = [...roots].filter(([run]) => only === undefined || run === only)
      const ready = asked.filter(([, { readyAt = Infinity }]) => readyAt <= now()).slice(0, limit)
      return Promise.all(ready.map(async ([run]) => leased(await inner.acquire(run, owner, ttlMs), ttlMs)))
    },
    async release(lease) {
      const waiting = await inner.release(lease)
      if (of(lease.run).lease !== lease.id) return waiting
      change(lease.run, { lease: undefined, expiresAt: undefined })
      if (mutant === 'a release forgets') roots.set(lease.run, { ...of(lease.run), readyAt: undefined })
      return waiting
    },
  }
}
