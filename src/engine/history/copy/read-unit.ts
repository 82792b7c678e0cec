// A run and those that work for it, as they are to be copied, with what there is of each in the other store.
import type { Message, RunRow, Store } from '../../../stores/store.ts'
import type { World } from '../../definition.ts'
import { compareRuns, type Standing } from './compare-runs.ts'
import { isHalfCopied } from './half-copied.ts'
import { readSource, type SourceRun } from './source-run.ts'

interface Places {
  readonly from: Store
  readonly to: Store
  readonly world: Pick<World, 'now'>
}

/** The root first. */
export type Unit = readonly [UnitRun, ...UnitRun[]]

export interface UnitRun extends SourceRun {
  readonly there: Standing
  /** The messages that wait for it there. */
  readonly inbox: readonly Message[]
  /** One of them that doesn't come from here. */
  readonly strange: Message | undefined
  /** Only a part of it was written there. */
  readonly half: boolean
}

/**
 * Follows the entries, which name the runs of tasks: some were never made. JOURNAL_DAMAGED and BLOB_MISSING for what is
 * not whole here.
 */
export async function readUnit(place: Places, row: RunRow): Promise<Unit> {
  const root = await readOne(place, row)
  const others: UnitRun[] = []
  const named = [...root.children]
  // grows during the loop
  for (const id of named) {
    const child = await place.from.row(id)
    if (!child) continue
    const read = await readOne(place, child)
    others.push(read)
    named.push(...read.children)
  }
  return [root, ...others]
}

async function readOne({ from, to, world }: Places, row: RunRow): Promise<UnitRun> {
  const source = await readSource(from, row, world.now().getTime())
  const theirs = await to.row(row.run)
  if (!theirs) return { ...source, there: { is: 'absent' }, inbox: [], strange: undefined, half: false }
  const inbox = await to.inbox(row.run)
  const ours = new Map([...source.waiting, ...source.recorded].map(({ id, body }) => [id, body]))
  const strange = inbox.find(({ id, body }) => ours.get(id) !== body)
  return { ...source, there: await compareRuns(from, to, row.run), inbox, strange, half: isHalfCopied(theirs) }
}
