// The relatives of a run, from listing rows alone: ancestors, descendants, and the runs before and after it. A run that
// reuses the id of a deleted run isn't related to the forks of that run. Copied files and imported runs can make rows
// refer to one another in circles, so no run is visited twice, and a lineage over the limit is cut off, with a mark.
import { allRows } from '../read/all-rows.ts'
import { isForkedFrom } from '../read/incarnation.ts'
import { readSummary } from '../read/row-summary.ts'
import { runNotFoundError } from '../read/read-run.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { ifReadable, outlineRun, type RunOutline } from './summary.ts'

/** The most ancestors, and the most descendants, that are read by default. */
const defaultLimit = 1_000

export interface RelatedRun extends RunOutline {
  readonly deleted?: never
}

/** A deleted run that others were forked from. Another run may have its id by now. */
export interface DeletedRun {
  readonly runId: string
  readonly deleted: true
}

export interface Descendant extends RelatedRun {
  /** The forks of the run, oldest first. */
  readonly children: readonly Descendant[]
}

export interface Lineage {
  /** Oldest first. Ancestors of a deleted run are unknown. */
  readonly ancestors: readonly (RelatedRun | DeletedRun)[]
  /** The run itself, with the tree of its descendants. */
  readonly run: Descendant
  /** Flows: the run that this one continues, after `flow.again`. */
  readonly previous: RelatedRun | DeletedRun | undefined
  /** Flows: the run that continues this one. */
  readonly next: RelatedRun | DeletedRun | undefined
  /** There are more relatives than the limit, and the most distant are left out. */
  readonly cut: boolean
}

/** `limit` applies to ancestors and to descendants. Rejects with RUN_NOT_FOUND if there is no such run. */
export async function readLineage(store: Store, runId: string, limit: number = defaultLimit): Promise<Lineage> {
  const row = await store.row(runId)
  if (!row) throw runNotFoundError(store, runId)
  const above = await readAncestors(store, row, limit)
  const below = await readDescendants(store, row, limit)
  const { previous, next } = readSummary(row)
  return {
    ancestors: above.found,
    run: below.found,
    previous: await relatedRun(store, previous),
    next: await relatedRun(store, next),
    cut: above.cut || below.cut,
  }
}

async function relatedRun(store: Store, runId: string | undefined): Promise<RelatedRun | DeletedRun | undefined> {
  if (runId === undefined) return undefined
  const row = await store.row(runId)
  return row ? outlineRun(store, row) : { runId, deleted: true }
}

async function readAncestors(
  store: Store,
  row: RunRow,
  limit: number,
): Promise<{ found: (RelatedRun | DeletedRun)[]; cut: boolean }> {
  const found: (RelatedRun | DeletedRun)[] = []
  const visited = new Set([row.run])
  let last: RunRow | undefined = row
  while (last?.forkedFrom !== undefined && !visited.has(last.forkedFrom)) {
    if (found.length >= limit) return { found: found.toReversed(), cut: true }
    visited.add(last.forkedFrom)
    const parent = await findParent(store, last)
    found.push(parent ? await outlineRun(store, parent) : { runId: last.forkedFrom, deleted: true })
    last = parent
  }
  return { found: found.toReversed(), cut: false }
}

/** Reads level by level, so that the limit cuts off the most distant descendants. */
async function readDescendants(store: Store, row: RunRow, limit: number): Promise<{ found: Descendant; cut: boolean }> {
  const found = { ...(await outlineRun(store, row)), children: [] as Descendant[] }
  const visited = new Set([row.run])
  const queue = [{ row, shown: found }]
  // grows during the loop
  for (const { row: parent, shown } of queue) {
    for await (const child of allRows(store, { forkedFrom: parent.run, crew: parent.crew })) {
      if (visited.has(child.run) || !isForkedFrom(child, parent)) continue
      if (visited.size > limit) {
        shown.children.reverse()
        return { found, cut: true }
      }
      visited.add(child.run)
      const descendant = { ...(await outlineRun(store, child)), children: [] }
      shown.children.push(descendant)
      queue.push({ row: child, shown: descendant })
    }
    shown.children.reverse()
  }
  return { found, cut: false }
}

/** The run that a run was forked from; undefined if it was deleted. */
async function findParent(store: Store, row: RunRow): Promise<RunRow | undefined> {
  const parent = row.forkedFrom === undefined ? undefined : await store.row(row.forkedFrom)
  return parent && isForkedFrom(row, parent) ? parent : undefined
}

/**
 * Returns a filter for the forks of this id. It keeps those of the run that has the id now; if there is none, it keeps
 * all, since they are forks of deleted runs that had the id.
 */
export async function onlyMadeFrom(store: Store, runId: string | undefined): Promise<(row: RunRow) => boolean> {
  const parent = runId === undefined ? undefined : await ifReadable(() => store.row(runId))
  return (row) => parent === undefined || isForkedFrom(row, parent)
}
