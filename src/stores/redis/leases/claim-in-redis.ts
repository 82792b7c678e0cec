// Claiming: the runs of a lane that are ready are one range of a sorted set, from which one script takes them.
import { randomUUID } from 'node:crypto'
import { goneAmong, ownersHere, writtenOwner } from '../../owner.ts'
import type { Lane, Lease, Owner, Room, RunId } from '../../store.ts'
import { list } from '../batch-arguments.ts'
import type { Argument } from '../connection/redis-connection.ts'
import type { Database } from '../redis-database.ts'

/** The most that a claim gives. */
const mostAtOnce = 10_000

export async function claimRuns(
  database: Database,
  owner: Owner,
  ttlMs: number,
  lanes: readonly Lane[],
  { limit, has = new Set(), most }: Room,
): Promise<Lease[]> {
  await freeGone(database)
  const claimed = await database.script<[run: RunId, token: number, id: string][]>('claim', [
    writtenOwner(owner),
    String(Math.ceil(ttlMs)),
    randomUUID(),
    String(wholeUpTo(limit)),
    most === undefined ? '' : String(Math.ceil(most)),
    ...list([...has], (run) => [run]),
    ...laneArguments(lanes),
  ])
  return claimed.map(([run, token, id]) => ({ run, token, id, owner }))
}

/** How many a claim with room for all of them would give, up to `limit`. */
export function countReady(database: Database, lanes: readonly Lane[], limit: number): Promise<number> {
  return database.script('ready', [String(wholeUpTo(limit)), ...laneArguments(lanes)])
}

function wholeUpTo(count: number): number {
  return Math.min(Math.max(Math.ceil(count), 0), mostAtOnce)
}

function laneArguments(lanes: readonly Lane[]): Argument[] {
  return list(lanes, ({ crew, version, format }) => [crew, version, String(format)])
}

/** Takes the leases of processes of this machine that are provably gone. */
async function freeGone(database: Database): Promise<void> {
  const range = ownersHere()
  if (range === undefined) return
  const bounds = range.map((text) => `[${text}`)
  const gone = goneAmong(await database.read(['ZRANGE', `${database.prefix}owners`, ...bounds, 'BYLEX']))
  if (gone.length > 0)
    await database.script(
      'free',
      list(gone, (owner) => [owner]),
    )
}
