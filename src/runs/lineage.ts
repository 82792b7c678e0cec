// The ancestors and descendants of a run, from listing rows alone. A run that reuses the id of a deleted one is not
// related to the runs made from that one. People write rows too (copied files, imported runs), so no walk relies on
// them to end: no run is entered twice, and a lineage over the limit is cut off and says so.
import { allRows } from '../read/all-rows.ts'
import { isForkedFrom } from '../read/incarnation.ts'
import { runNotFoundError } from '../read/read-run.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { ifReadable, outlineRun, type RunOutline } from './summary.ts'

/** How many ancestors, and how many descendants, are shown by default. */
const usualLimit = 1_000

export interface RelatedRun extends RunOutline {
  readonly deleted?: never
}

/** A deleted run that others were made from. Another run may have its id by now. */
export interface DeletedRun {
  readonly runId: string
  readonly deleted: true
}

export interface Descendant extends RelatedRun {
  /** The runs made from it, oldest first. */
  readonly children: readonly Descendant[]
}

export interface Lineage {
  /** Oldest first. Ancestors of a deleted run are unknown. */
  readonly ancestors: readonly (RelatedRun | DeletedRun)[]
  /** The run itself, with the tree of its descendants. */
  readonly run: Descendant
  /** There are more relatives than the limit, and the most distant are left out. */
  readonly cut: boolean
}

/** `limit` counts ancestors and descendants each. RUN_NOT_FOUND. */
export async function readLineage(store: Store, runId: string, limit: number = usualLimit): Promise<Lineage> {
  const row = await store.row(runId)
  if (!row) throw runNotFoundError(store, runId)
  const above = await readAncestors(store, row, limit)
  const below = await readDescendants(store, row, limit)
  return { ancestors: above.found, run: below.found, cut: above.cut || below.cut }
}

async function readAncestors(
  store: Store,
  row: RunRow,
  limit: number,
): Promise<{ found: (RelatedRun | DeletedRun)[]; cut: boolean }> {
  const found: (RelatedRun | DeletedRun)[] = []
  const met = new Set([row.run])
  let last: RunRow | undefined = row
  while (last?.forkedFrom !== undefined && !met.has(last.forkedFrom)) {
    if (found.length >= limit) return { found: found.toReversed(), cut: true }
    met.add(last.forkedFrom)
    const parent = await findSource(store, last)
    found.push(parent ? await outlineRun(store, parent) : { runId: last.forkedFrom, deleted: true })
    last = parent
  }
  return { found: found.toReversed(), cut: false }
}

/** Level by level, so that a limit cuts off the most distant. */
async function readDescendants(store: Store, row: RunRow, limit: number): Promise<{ found: Descendant; cut: boolean }> {
  const found = { ...(await outlineRun(store, row)), children: [] as Descendant[] }
  const met = new Set([row.run])
  const waiting = [{ row, shown: found }]
  // grows while it is walked
  for (const { row: parent, shown } of waiting) {
    for await (const child of allRows(store, { forkedFrom: parent.run, crew: parent.crew })) {
      if (met.has(child.run) || !isForkedFrom(child, parent)) continue
      if (met.size > limit) {
        shown.children.reverse()
        return { found, cut: true }
      }
      met.add(child.run)
      const made = { ...(await outlineRun(store, child)), children: [] }
      shown.children.push(made)
      waiting.push({ row: child, shown: made })
    }
    shown.children.reverse()
  }
  return { found, cut: false }
}

/** Undefined if it was deleted. */
async function findSource(store: Store, row: RunRow): Promise<RunRow | undefined> {
  const parent = row.forkedFrom === undefined ? undefined : await store.row(row.forkedFrom)
  return parent && isForkedFrom(row, parent) ? parent : undefined
}

/** Filters rows by their parent: the run that has this id now, or, if there is none, any deleted run that had it. */
export async function onlyMadeFrom(store: Store, runId: string | undefined): Promise<(row: RunRow) => boolean> {
  const parent = runId === undefined ? undefined : await ifReadable(() => store.row(runId))
  return (row) => parent === undefined || isForkedFrom(row, parent)
}
