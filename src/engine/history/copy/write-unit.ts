// Writes a run, and those that work for it, into another store, so that whatever is killed when, nobody there takes a
// part for the whole. Most units are written at once: the runs that work for it first, which are nobody's without it,
// and then the run itself in one batch. Where that cannot be (it is long, messages wait, a part of it is there already)
// it is held, marked as half there, and its last line comes at the very end, with its row and the time that it is due.
import { RepriseError } from '../../../base/errors.ts'
import { callerOf } from '../../../journal/paths.ts'
import type { Batch, Lease, Message, Owner, RunId, Store } from '../../../stores/store.ts'
import type { World } from '../../definition.ts'
import { requestLease, type LeaseKeeper, type TimedLease } from '../../lease/lease-keeper.ts'
import { halfCopied } from './half-copied.ts'
import type { Unit, UnitRun } from './read-unit.ts'
import { piecesOf, type Piece } from './run-pieces.ts'

/** Where copies come from and go to, and who makes them. */
export interface CopyPlace {
  readonly from: Store
  readonly to: Store
  readonly world: World
  /** Of the leases there. Another one than that of the runs which this process may execute there. */
  readonly owner: Owner
  readonly leases: LeaseKeeper
}

/** What was written. */
export interface Written {
  readonly entries: number
  readonly bytes: number
}

/**
 * `isStill` is asked before what makes the copy count. Undefined when the source has changed by then: whoever copies it
 * later completes what is there.
 */
export async function writeUnit(
  place: CopyPlace,
  unit: Unit,
  isStill: () => Promise<boolean>,
): Promise<Written | undefined> {
  const writer = openWriter(place)
  if (unit[0].there.is === 'absent' && unit.every(isSimple)) {
    if (!(await isStill())) return undefined
    if (await writer.atOnce(unit)) return writer.written()
  }
  return (await writer.held(unit, isStill)) ? writer.written() : undefined
}

/** Whether it can be created in one batch: nothing has to be left for it afterwards, and no lease has to be used up. */
function isSimple({ there, waiting, recorded, token }: UnitRun): boolean {
  const isNew = there.is === 'absent' || there.is === 'same'
  return isNew && waiting.length === 0 && recorded.length === 0 && token === 0
}

function openWriter({ from, to, world, owner, leases }: CopyPlace) {
  let entries = 0
  let bytes = 0
  /** Runs that are there as a whole. */
  const done = new Set<RunId>()

  function count(piece: Piece): void {
    entries += piece.lines.length
    bytes += piece.bytes
  }

  async function create(run: UnitRun, batch: Batch, piece: Piece, lease?: Parameters<Store['create']>[2]) {
    const made = await to.create(batch.row ?? run.row, batch, lease)
    if (!made.created) throw madeMeanwhile(run.row.run, to)
    count(piece)
    return made.lease
  }

  async function append(lease: Lease, after: number, { row: { run } }: UnitRun, batch: Batch, piece: Piece) {
    await to.append(lease, after, callerOf(run) === undefined ? batch : { ...batch, run })
    count(piece)
  }

  /** Those that work for it first. False when one of them does not fit into one batch. */
  async function atOnce(unit: readonly UnitRun[]): Promise<boolean> {
    for (const run of unit.toReversed()) {
      if (run.there.is === 'same') continue
      const piece = await firstPiece(from, run)
      if (piece.lines.length < run.entries) return false
      await create(run, lastBatch(run, piece), piece)
      done.add(run.row.run)
    }
    return true
  }

  async function held([root, ...others]: Unit, isStill: () => Promise<boolean>): Promise<boolean> {
    // a root of one entry has no last line to be held back: it is there at once, and held until the rest is
    if (root.there.is === 'absent' && root.entries === 1 && !(await isStill())) return false
    const begun = await begin(root)
    let lease: Lease = begun.lease
    const kept = leases.keep(begun.lease, { lost() {}, waiting() {} })
    try {
      await continueTo(lease, root, begun.after)
      for (const run of others) {
        if (done.has(run.row.run)) continue
        const { after } = await begin(run, begun.lease)
        await continueTo(lease, run, after)
        await finish(lease, run)
      }
      if (!(await isStill())) return false
      await finish(lease, root)
      lease = await passTokens(lease, Math.max(...[root, ...others].map(({ token }) => token)))
      return true
    } finally {
      kept.stop()
      await to.release(lease)
    }
  }

  /** Holds it, with all but its last line at most, and says which entry is the last one there. */
  async function begin(run: UnitRun, root?: TimedLease): Promise<{ lease: TimedLease; after: number }> {
    const { there, row, entries: last } = run
    if (there.is !== 'absent') {
      const lease = root ?? (await requestLease(world, () => to.acquire(row.run, owner, world.leaseMs)))
      return { lease, after: there.is === 'behind' ? there.after : last }
    }
    const piece = await firstPiece(from, run, Math.max(1, last - 1))
    const batch = last === 1 ? lastBatch(run, piece) : { ...batchOf(run, piece), row: halfCopied(row) }
    const asked = root ?? { owner, ttlMs: world.leaseMs }
    const lease = await requestLease(world, () => create(run, batch, piece, asked))
    return { lease: lease as TimedLease, after: piece.lines.length }
  }

  /** What is missing between `after` and its last line. From the first of it on it counts as half there. */
  async function continueTo(lease: Lease, run: UnitRun, after: number): Promise<void> {
    let last = after
    for await (const piece of piecesOf(from, run.row.run, after, run.entries - 1)) {
      await append(lease, last, run, { ...batchOf(run, piece), row: halfCopied(run.row) }, piece)
      last += piece.lines.length
    }
  }

  /** Its messages, and the last line. */
  async function finish(lease: Lease, run: UnitRun): Promise<void> {
    const isWhole = run.there.is === 'same' || run.entries === 1
    await leaveMessages(to, run, isWhole ? run.waiting : [...run.recorded, ...run.waiting])
    if (isWhole) return
    for await (const piece of piecesOf(from, run.row.run, run.entries - 1, run.entries)) {
      const taken = run.recorded.map(({ id }) => id)
      await append(lease, run.entries - 1, run, { ...lastBatch(run, piece), taken }, piece)
    }
  }

  /**
   * Entries tell by their token whether the process that wrote the one before was still at work. So the next token that
   * is given there should not be that of the last entry. Tokens that are far away are never met.
   */
  async function passTokens(given: Lease, last: number): Promise<Lease> {
    let lease = given
    while (lease.token < last && last - lease.token < 100) {
      lease = await to.acquire(lease.run, owner, world.leaseMs)
    }
    return lease
  }

  return { written: (): Written => ({ entries, bytes }), atOnce, held }
}

async function firstPiece(from: Store, { row, entries }: UnitRun, last = entries): Promise<Piece> {
  for await (const piece of piecesOf(from, row.run, 0, last)) return piece
  throw new Error(`run ${row.run} has no entries`)
}

/** Lines, with what belongs to them. */
function batchOf({ outputs }: UnitRun, { lines, blobs }: Piece): Batch {
  const seqs = new Set(lines.map(({ seq }) => seq))
  return { lines, blobs, outputs: outputs.filter(({ seq }) => seqs.has(seq)) }
}

/** With which the run is whole. */
function lastBatch(run: UnitRun, piece: Piece): Batch {
  const { row, due } = run
  return { ...batchOf(run, piece), row, ...(due === undefined ? {} : { due }) }
}

/** One that was ever left for the run there stays what became of it. */
export async function leaveMessages(
  to: Store,
  { row: { run }, inbox }: Pick<UnitRun, 'row' | 'inbox'>,
  messages: readonly Message[],
): Promise<void> {
  const known = new Set(inbox.map(({ id }) => id))
  for (const message of messages) if (!known.has(message.id)) await to.post(run, message)
}

function madeMeanwhile(run: RunId, { url }: Store): RepriseError {
  const words = `somebody made run ${run} in ${url} while it was copied; copy it again to see whether it is the same`
  return new RepriseError('RUN_EXISTS', words, { runId: run })
}
