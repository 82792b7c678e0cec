// The table of roots in leases.db: the lease of each root run, and when it is offered to a worker. The journals decide
// when a run is ready. A row that may be outdated is `unsure`; the next claim refreshes it.
import type { DatabaseSync } from 'node:sqlite'
import { statementCache } from '../sqlite/open-database.ts'
import { readOwner } from '../owner.ts'
import { byClaim, highestFirst, isSameLane, type Holding } from '../rules/leases.ts'
import { neverTried, readyAt, type TryCounts } from '../rules/ready.ts'
import type { Lane, Priority, ReadyRun, RunId } from '../store.ts'

/** When a root is ready, according to the files of its tree. */
export interface Readiness {
  /** Undefined if the run doesn't exist or cannot be read. */
  readonly lane: Lane | undefined
  readonly priority: Priority
  readonly ended: boolean
  readonly dueAt: number | undefined
  readonly waiting: number
}

export interface StoredRoot extends Readiness, TryCounts {
  /** 0 if the run was never leased. */
  readonly token: number
  readonly holding: Holding | undefined
  /** The row may be outdated and must be refreshed from the files. */
  readonly unsure: boolean
}

/** The readiness of a run that doesn't exist or cannot be read. */
export const notReady: Readiness = { lane: undefined, priority: 0, ended: false, dueAt: undefined, waiting: 0 }

/** Whether the change makes the run ready sooner, or ready for other workers. */
export function isReadySooner(next: Readiness, before: Readiness, now: number): boolean {
  const at = offeredAt(next, now)
  return at < offeredAt(before, now) || (at < Infinity && !isSameLaneAndPriority(next, before))
}

/**
 * Whether the row must be written. Due times in the past count as equal: a process holds the run, so it isn't ready
 * before its lease expires. A due time counts even while a message makes the run ready, since the message will be
 * taken.
 */
export function differsFrom(next: Readiness, before: Readiness, now: number): boolean {
  return (
    dueTimeFrom(next, now) !== dueTimeFrom(before, now) ||
    next.waiting !== before.waiting ||
    next.ended !== before.ended ||
    !isSameLaneAndPriority(next, before)
  )
}

function offeredAt(readiness: Readiness, now: number): number {
  if (readiness.lane === undefined || readiness.ended) return Infinity
  return readiness.waiting > 0 ? now : dueTimeFrom(readiness, now)
}

function dueTimeFrom({ dueAt = Infinity }: Readiness, now: number): number {
  return Math.max(dueAt, now)
}

function isSameLaneAndPriority({ lane: a, priority }: Readiness, { lane: b, ...other }: Readiness): boolean {
  return priority === other.priority && (a && b ? isSameLane(a, b) : a === b)
}

/** Valid only inside the lock. */
export interface Roots {
  get(run: RunId): StoredRoot
  /** Replaces the row, and computes when the run is ready. */
  put(run: RunId, root: StoredRoot): void
  /** The roots whose lane is known. */
  knownRuns(): Set<RunId>
  unsureRuns(): RunId[]
  /** The roots whose owner is dead or unreadable. Calls `isDead` once for each owner. */
  heldByDead(isDead: (owner: Holding['owner']) => boolean): RunId[]
  /** How many roots of these crews have an unexpired lease or are in `exclude`. */
  countHeld(crews: ReadonlySet<string>, exclude: ReadonlySet<RunId>): number
  /** The ready roots according to the table, in claim order. */
  listReady(lanes: readonly Lane[], limit: number): ReadyRun[]
  /** The root that has been ready longest, according to the table, among those with at most `maxDeaths` deaths. */
  firstReady(
    lanes: readonly Lane[],
    priority: Priority,
    exclude: ReadonlySet<RunId>,
    maxDeaths: number,
  ): RunId | undefined
  /** Whether the owner holds an unexpired lease of a root that has deaths. */
  holdsSuspect(owner: Holding['owner']): boolean
  /** Whether the run is ready and in one of the lanes, according to the table. */
  isReady(lanes: readonly Lane[], run: RunId): boolean
}

export const createTable = `create table roots (
    run text primary key,
    token integer not null,
    owner text,
    expires_at integer,
    lease text,
    crew text,
    version text,
    format integer,
    priority integer not null default 0,
    ended integer not null default 0,
    due_at integer,
    waiting integer not null default 0,
    tries integer not null default 0,
    deaths integer not null default 0,
    death_token integer not null default 0,
    ready_at integer,
    unsure integer not null default 0
  );
  create index roots_ready on roots (crew, version, format, priority, ready_at) where ready_at is not null;
  create index roots_held on roots (owner) where owner is not null;
  create index roots_unsure on roots (unsure) where unsure = 1`

const columns = [
  'token',
  'owner',
  'expires_at',
  'lease',
  'crew',
  'version',
  'format',
  'priority',
  'ended',
  'due_at',
  'waiting',
  'tries',
  'deaths',
  'death_token',
  'unsure',
  'ready_at',
] as const

const selectReady = `select run, ready_at from roots
  where crew = ? and version = ? and format = ? and priority = ? and ready_at <= ? and deaths <= ?
  order by ready_at limit ?`

/** The `maxDeaths` that excludes no run. */
export const anyDeaths: number = Number.MAX_SAFE_INTEGER

type Row = { readonly [column in (typeof columns)[number]]: string | number | null }

export function rootTable(db: DatabaseSync, now: () => number): Roots {
  const sql = statementCache(db)
  const upsert = `insert into roots (run, ${columns.join()}) values (?, ${columns.map(() => '?').join()})
    on conflict (run) do update set ${columns.map((column) => `${column} = excluded.${column}`).join()}`

  return {
    get(run) {
      const row = sql(`select ${columns.join()} from roots where run = ?`).get(run) as Row | undefined
      return row === undefined ? unknownRoot : toRoot(row)
    },
    put(run, root) {
      const { token, holding, lane, priority, ended, dueAt, waiting, tries, deaths, deathToken, unsure } = root
      const expiresAt = holding?.expiresAt
      const ready = lane && readyAt({ run, ended, dueAt, messages: waiting, tries, expiresAt }, now())
      sql(upsert).run(
        run,
        token,
        holding === undefined ? null : JSON.stringify(holding.owner),
        holding?.expiresAt ?? null,
        holding?.id ?? null,
        lane?.crew ?? null,
        lane?.version ?? null,
        lane?.format ?? null,
        priority,
        ended ? 1 : 0,
        dueAt ?? null,
        waiting,
        tries,
        deaths,
        deathToken,
        unsure ? 1 : 0,
        ready ?? null,
      )
    },
    knownRuns: () => new Set(runColumn(sql('select run from roots where crew is not null').all())),
    unsureRuns: () => runColumn(sql('select run from roots where unsure = 1').all()),
    heldByDead(isDead) {
      const runs: RunId[] = []
      let last = ''
      for (;;) {
        const next = sql('select owner from roots where owner > ? order by owner limit 1').get(last)
        if (next === undefined) return runs
        last = String(next['owner'])
        const owner = readOwner(last)
        if (owner === undefined || isDead(owner)) {
          runs.push(...runColumn(sql('select run from roots where owner = ?').all(last)))
        }
      }
    },
    countHeld(crews, exclude) {
      const live = runColumn(
        sql('select run, crew from roots where owner is not null and expires_at > ?')
          .all(now())
          .filter((row) => crews.has(String(row['crew']))),
      )
      const expired = exclude.difference(new Set(live))
      return live.length + [...expired].filter((run) => crews.has(this.get(run).lane?.crew ?? '')).length
    },
    listReady(lanes, limit) {
      const ready = new Map<RunId, ReadyRun>()
      const maxRows = Math.min(Math.max(Math.ceil(limit), 0), Number.MAX_SAFE_INTEGER)
      for (const { crew, version, format } of lanes) {
        for (const priority of highestFirst) {
          for (const row of sql(selectReady).all(crew, version, format, priority, now(), anyDeaths, maxRows)) {
            const run = String(row['run'])
            ready.set(run, { run, crew, version, format, priority, readyAt: Number(row['ready_at']) })
          }
        }
      }
      return [...ready.values()].toSorted(byClaim).slice(0, maxRows)
    },
    firstReady(lanes, priority, exclude, maxDeaths) {
      const maxRows = exclude.size + 1
      const [oldest] = lanes
        .flatMap(({ crew, version, format }) =>
          sql(selectReady).all(crew, version, format, priority, now(), maxDeaths, maxRows),
        )
        .filter((row) => !exclude.has(String(row['run'])))
        .toSorted((a, b) => Number(a['ready_at']) - Number(b['ready_at']))
      return oldest && String(oldest['run'])
    },
    holdsSuspect: (owner) =>
      sql('select 1 from roots where owner = ? and deaths > 0 and expires_at > ? limit 1').get(
        JSON.stringify(owner),
        now(),
      ) !== undefined,
    isReady(lanes, run) {
      const select = sql('select 1 from roots where run = ? and ready_at <= ?')
      const { lane } = this.get(run)
      const isOffered = lane !== undefined && lanes.some((each) => isSameLane(each, lane))
      return isOffered && select.get(run, now()) !== undefined
    },
  }
}

const unknownRoot: StoredRoot = { ...notReady, ...neverTried, token: 0, holding: undefined, unsure: false }

function toRoot(row: Row): StoredRoot {
  const { crew, version, format, due_at } = row
  const owner = readOwner(row.owner as string | null)
  return {
    token: Number(row.token),
    holding: owner && { owner, id: String(row.lease ?? ''), expiresAt: Number(row.expires_at) },
    lane: crew === null ? undefined : { crew: String(crew), version: String(version), format: Number(format) },
    priority: Number(row.priority) as Priority,
    ended: row.ended === 1,
    dueAt: due_at === null ? undefined : Number(due_at),
    waiting: Number(row.waiting),
    tries: Number(row.tries),
    deaths: Number(row.deaths),
    deathToken: Number(row.death_token),
    unsure: row.unsure === 1,
  }
}

function runColumn(rows: readonly { readonly [column: string]: unknown }[]): RunId[] {
  return rows.map((row) => String(row['run']))
}
