// Claims ready runs. The ready runs of a lane are one range of a sorted set, which one script searches and leases.
import { randomUUID } from 'node:crypto'
import { deadOwners, localOwnerRange, encodeOwner } from '../owner.ts'
import { wholeLimit } from '../rules/leases.ts'
import type { Lane, Priority, ReadyRun, RunId, Store } from '../store.ts'
import { listArguments } from './batch-arguments.ts'
import type { Argument } from './connection.ts'
import type { Database } from './database.ts'

/** Maximum number of runs that one claim or listing returns. */
const readyLimit = 10_000

export async function claimRuns(
  database: Database,
  ...[owner, ttlMs, lanes, { limit, exclude = new Set<RunId>(), crewLimit, runId }]: Parameters<Store['claim']>
): ReturnType<Store['claim']> {
  await freeDeadLeases(database)
  const claimed = await database.script<[run: RunId, token: number, id: string][]>('claim', [
    encodeOwner(owner),
    String(Math.ceil(ttlMs)),
    randomUUID(),
    String(wholeLimit(limit, readyLimit)),
    crewLimit === undefined ? '' : String(Math.ceil(crewLimit)),
    ...listArguments([...exclude], (run) => [run]),
    ...laneArguments(lanes),
    ...listArguments(runId === undefined ? [] : [runId], (run) => [run]),
  ])
  return claimed.map(([run, token, id]) => ({ run, token, id, owner }))
}

export async function listReady(database: Database, lanes: readonly Lane[], limit: number): Promise<ReadyRun[]> {
  const found = await database.script<[run: RunId, crew: string, version: string, ...numbers: string[]][]>('ready', [
    String(wholeLimit(limit, readyLimit)),
    ...laneArguments(lanes),
  ])
  return found.map(([run, crew, version, format, priority, readyAt]) => ({
    run,
    crew,
    version,
    format: Number(format),
    priority: Number(priority) as Priority,
    readyAt: Number(readyAt),
  }))
}

function laneArguments(lanes: readonly Lane[]): Argument[] {
  return listArguments(lanes, ({ crew, version, format }) => [crew, version, String(format)])
}

/** Frees the leases of processes of this machine that provably no longer run. */
async function freeDeadLeases(database: Database): Promise<void> {
  const range = localOwnerRange()
  if (range === undefined) return
  const bounds = range.map((text) => `[${text}`)
  const gone = deadOwners(await database.read(['ZRANGE', `${database.prefix}owners`, ...bounds, 'BYLEX']))
  if (gone.length > 0)
    await database.script(
      'free',
      listArguments(gone, (owner) => [owner]),
    )
}
