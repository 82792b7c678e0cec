// Copies one run, with those that work for it, from one store to another: byte for byte, and as due, as waiting and as
// suspended as it is. The source is only read. What is there already is left alone, or completed where it is the
// beginning of the same; anything else that has its id stays as it is.
import { RepriseError } from '../../../base/errors.ts'
import type { Owner } from '../../../journal/entries.ts'
import { isEnded } from '../../../journal/state/state.ts'
import type { RunId, RunRow, Store } from '../../../stores/store.ts'
import { runNotFound } from '../../read/run-not-found.ts'
import { compareRuns } from './compare-runs.ts'
import { readUnit, type Unit, type UnitRun } from './read-unit.ts'
import { piecesOf } from './run-pieces.ts'
import { leaveMessages, writeUnit, type CopyPlace, type Written } from './write-unit.ts'

/** What became of a run and those that work for it. */
export type CopiedUnit = { readonly row: RunRow } & (
  | ({ readonly is: 'copied'; readonly runs: number } & Written)
  /** All of it was there, or more. */
  | { readonly is: 'present'; readonly runs: number }
  /** Somebody executes it where it comes from, or did so while it was copied. */
  | { readonly is: 'held'; readonly owner: Owner | undefined }
)

/**
 * RUN_EXISTS when the other store has another run of this id. JOURNAL_DAMAGED and BLOB_MISSING when it isn't whole in
 * the first one; RUN_NOT_FOUND. RUN_HELD when a part of it is there, and somebody holds that.
 */
export async function copyUnit(place: CopyPlace, run: RunId, dryRun: boolean): Promise<CopiedUnit> {
  const { from, to } = place
  const row = await from.row(run)
  if (!row) throw runNotFound(from, run)
  const owner = await from.holder(run)
  if (owner) return { is: 'held', row, owner }
  const unit = await readUnit(place, row)
  const runs = unit.length
  if (isThere(to, unit)) {
    if (!dryRun) for (const each of unit) await leaveMessages(to, each, each.waiting)
    return { is: 'present', row, runs }
  }
  if (dryRun) return { is: 'copied', row, runs, ...(await missing(from, unit)) }
  const written = await writeUnit(place, unit, () => isStill(from, unit))
  if (!written) return { is: 'held', row, owner: await from.holder(run) }
  for (const each of unit) await verify(place, each)
  return { is: 'copied', row, runs, ...written }
}

/** Whether nothing is missing there. RUN_EXISTS when it cannot be completed. */
function isThere(to: Store, unit: Unit): boolean {
  for (const each of unit) checkFits(to, each)
  const isNew = unit.find(({ there }) => there.is === 'absent' || there.is === 'behind')
  const ahead = unit.find(({ there, strange }) => there.is === 'ahead' || strange !== undefined)
  if (isNew && ahead) throw exists(to, ahead, `was continued there, and run ${isNew.row.run} where it comes from`)
  return !isNew
}

function checkFits(to: Store, run: UnitRun): void {
  const { there, half, strange } = run
  if (there.is === 'other') throw exists(to, run, `differs from entry ${there.at} on`)
  if (half && there.is !== 'behind') throw exists(to, run, 'is partly there, with entries that are not in the first')
  if (there.is === 'behind' && strange) throw exists(to, run, `has fewer entries, and a message there, ${strange.id}`)
}

function exists({ url }: Store, { row: { run } }: UnitRun, how: string): RepriseError {
  const words = `${url} has a run ${run} already, which ${how}; nothing of it was changed: delete the one that you do not want`
  return new RepriseError('RUN_EXISTS', words, { runId: run })
}

async function missing(from: Store, unit: Unit): Promise<Written> {
  let entries = 0
  let bytes = 0
  for (const { row, there, entries: last } of unit) {
    const after = there.is === 'absent' ? 0 : there.is === 'behind' ? there.after : last
    for await (const piece of piecesOf(from, row.run, after, last)) bytes += piece.bytes
    entries += last - after
  }
  return { entries, bytes }
}

/** Whether the source is as it was read. Without a holder nobody can have been in the middle of something. */
async function isStill(from: Store, unit: Unit): Promise<boolean> {
  const { status, run: root } = unit[0].row
  if (isEnded(status)) return true
  if (await from.holder(root)) return false
  for (const { row, entries } of unit) for await (const _ of from.read(row.run, entries)) return false
  return true
}

/** JOURNAL_DAMAGED when the other store does not give back what it was given. Somebody may have continued it there. */
async function verify({ from, to }: CopyPlace, { row: { run } }: UnitRun): Promise<void> {
  const { is } = await compareRuns(from, to, run)
  if (is === 'same' || is === 'ahead') return
  const words = `run ${run} was copied to ${to.url}, and what that gives back is not the same: check that store`
  throw new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
}
