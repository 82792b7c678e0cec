// Where a run comes from and what was made from it, from the listing rows alone: no journal is read. Rows are written by people too
// (a copied file, an imported run), so no walk trusts them to end: a run that was met before is not entered again, and a family
// larger than the limit is cut off and says so.
import type { RunStatus } from '../../journal/entries.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { allRows } from './all-rows.ts'
import { runNotFound } from '../read/run-not-found.ts'

/** How many ancestors, and how many runs made from it, are shown unless said otherwise. */
const familyLimit = 1_000

export interface FamilyMember {
  readonly id: string
  readonly crew: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly updatedAt: string
  readonly deleted?: never
}

/** A run that others were made from and of which nothing but the id is left. */
export interface DeletedMember {
  readonly id: string
  readonly deleted: true
}

export interface Descendant extends FamilyMember {
  /** The runs that were made from it, oldest first. */
  readonly children: readonly Descendant[]
}

export interface Family {
  /** Oldest first. Whatever stood before a deleted one is not known any more. */
  readonly ancestors: readonly (FamilyMember | DeletedMember)[]
  /** The run itself, with the tree of those made from it. */
  readonly run: Descendant
  /** There are more relatives than the limit, and those farthest away are left out. */
  readonly cut: boolean
}

/** `limit` counts ancestors and descendants each. RUN_NOT_FOUND. */
export async function familyOf(store: Store, run: string, limit: number = familyLimit): Promise<Family> {
  const row = await store.row(run)
  if (!row) throw runNotFound(store, run)
  const above = await ancestorsOf(store, row, limit)
  const below = await descendantsOf(store, row, limit)
  return { ancestors: above.found, run: below.found, cut: above.cut || below.cut }
}

async function ancestorsOf(
  store: Store,
  row: RunRow,
  limit: number,
): Promise<{ found: (FamilyMember | DeletedMember)[]; cut: boolean }> {
  const found: (FamilyMember | DeletedMember)[] = []
  const met = new Set([row.run])
  let next = row.parent
  while (next !== undefined && !met.has(next)) {
    if (found.length >= limit) return { found: found.toReversed(), cut: true }
    met.add(next)
    const parent = await store.row(next)
    found.push(parent ? memberOf(parent) : { id: next, deleted: true })
    next = parent?.parent
  }
  return { found: found.toReversed(), cut: false }
}

/** Level by level, so that a limit cuts off the farthest. */
async function descendantsOf(store: Store, row: RunRow, limit: number): Promise<{ found: Descendant; cut: boolean }> {
  const found = { ...memberOf(row), children: [] as Descendant[] }
  const met = new Set([row.run])
  const waiting = [found]
  // grows while it is walked
  for (const parent of waiting) {
    for await (const child of allRows(store, { parent: parent.id, crew: parent.crew })) {
      if (met.has(child.run)) continue
      if (met.size > limit) {
        parent.children.reverse()
        return { found, cut: true }
      }
      met.add(child.run)
      const member = { ...memberOf(child), children: [] }
      parent.children.push(member)
      waiting.push(member)
    }
    parent.children.reverse()
  }
  return { found, cut: false }
}

function memberOf({ run, crew, status, createdAt, updatedAt }: RunRow): FamilyMember {
  return { id: run, crew, status, createdAt, updatedAt }
}
