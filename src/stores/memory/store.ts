// A store that lives as long as its process, for tests and for trying things out. Every operation is done in one
// synchronous step, which makes it the plainest statement of what the port means.
import { parentRunId, rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { isOwnerDead, sameOwner } from '../owner.ts'
import { isLease, type LeaseRequest } from '../rules/lease-request.ts'
import { byClaim, isSameLane } from '../rules/claim-order.ts'
import { listPage } from '../rules/list-page.ts'
import {
  afterDeath,
  afterReturn,
  dueTime,
  neverTried,
  readyAt,
  recordsMessages,
  type DeathCount,
} from '../rules/ready.ts'
import {
  checkFree,
  checkInbox,
  checkNumbers,
  checkOpen,
  checkSeq,
  checkToken,
  checkTree,
  isLive,
  unknownRunError,
  storeClosedError,
  type Holding,
} from '../rules/refusals.ts'
import { laneCrews, claimableCount } from '../rules/claim-limits.ts'
import type { Batch, Lane, Lease, Line, Message, Owner, ReadyRun, RunId, RunRow, Store } from '../store.ts'
import { createWatchers } from '../watchers.ts'

export interface MemoryStoreOptions {
  /** The clock that leases expire by; Date.now unless a test brings its own. */
  readonly now?: () => number
  readonly url?: string
}

interface StoredRun {
  row: RunRow
  readonly lines: Line[]
  readonly blobs: Map<string, Uint8Array>
  /** In the order of posting; `taken` ones stay, since an id is unique for ever. */
  readonly messages: Map<string, { message: Message; taken: boolean }>
}

/** A root with the runs that work for it: their lease, and what decides when the root is offered to a worker. */
interface StoredTree {
  readonly root: StoredRun
  token: number
  holding: Holding | undefined
  dueAt: number | undefined
  /** How many messages of the unit nobody has recorded. */
  waiting: number
  tries: number
  deaths: number
  died: number
  readyAt: number | undefined
}

interface StoredOutput {
  readonly crew: string
  readonly task: string
  readonly fingerprint: string
  readonly run: RunId
  readonly seq: number
  readonly completedAt: number
}

export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const now = options.now ?? Date.now
  const url = options.url ?? 'memory:'
  const runs = new Map<RunId, StoredRun>()
  /** By the id of the root. */
  const units = new Map<RunId, StoredTree>()
  let outputs: StoredOutput[] = []
  // The highest token of any deleted run: a new run of an old id continues after it, so that an old holder stays fenced
  // out.
  let tokenFloor = 0
  let closed = false
  const watchers = createWatchers()

  /** Keeps the promise of promises: even a refusal comes as a rejection. */
  async function step<T>(work: () => T): Promise<T> {
    if (closed) throw storeClosedError(url)
    return work()
  }
  function existing(run: RunId): StoredRun {
    const found = runs.get(run)
    if (found === undefined) throw unknownRunError(run, url)
    return found
  }
  function unitOf(run: RunId): StoredTree {
    const unit = units.get(rootRunId(run))
    if (unit === undefined) throw unknownRunError(rootRunId(run), url)
    return unit
  }
  function change(unit: StoredTree, changes: Partial<StoredTree>): void {
    Object.assign(unit, changes)
    const { root, dueAt, waiting, tries, holding } = unit
    const { run, status } = root.row
    const expiresAt = holding?.expiresAt
    unit.readyAt = readyAt({ run, ended: isEnded(status), dueAt, messages: waiting, tries, expiresAt }, now())
  }
  function write(found: StoredRun, batch: Batch): void {
    if (batch.row !== undefined) found.row = { ...batch.row, run: found.row.run }
    for (const { seq, bytes } of batch.lines) found.lines.push({ seq, bytes: copyBytes(bytes) })
    for (const { hash, bytes } of batch.blobs ?? []) {
      if (!found.blobs.has(hash)) found.blobs.set(hash, copyBytes(bytes))
    }
    const { run, crew } = found.row
    for (const output of batch.outputs ?? []) {
      outputs.push({ ...output, crew, run, completedAt: output.completedAt ?? now() })
    }
    watchers.changed(run)
  }
  /** How many of them waited. */
  function takeMessages(found: StoredRun, ids: readonly string[]): number {
    const taken = [...new Set(ids)].flatMap((id) => found.messages.get(id) ?? []).filter((posted) => !posted.taken)
    for (const posted of taken) posted.taken = true
    return taken.length
  }
  function take(unit: StoredTree, owner: Owner, ttlMs: number, tries: number): Lease {
    const id = crypto.randomUUID()
    const died = unit.holding && !sameOwner(owner, unit.holding.owner) ? afterDeath(unit) : {}
    change(unit, { ...died, token: unit.token + 1, holding: { owner, id, expiresAt: now() + ttlMs }, tries })
    return { run: unit.root.row.run, token: unit.token, id, owner }
  }
  function acquire(run: RunId, owner: Owner, ttlMs: number): Lease {
    const unit = unitOf(run)
    checkFree(run, unit.holding, now(), owner)
    return take(unit, owner, ttlMs, Math.max(1, unit.tries))
  }
  function checkLease(lease: Lease, run: RunId): void {
    const unit = units.get(lease.run)
    checkToken(lease, unit?.token, unit?.holding)
    checkTree(lease, run)
  }
  function held({ run, token, id }: Lease): StoredTree | undefined {
    const unit = units.get(run)
    return unit?.token === token && unit.holding?.id === id ? unit : undefined
  }
  /** The lease of the root that a run is created under, which works for it. */
  function underLease(run: RunId, asked: Lease | LeaseRequest): Lease {
    if (!isLease(asked)) return acquire(run, asked.owner, asked.ttlMs)
    checkLease(asked, run)
    return asked
  }
  function createRoot(root: StoredRun, batch: Batch, asked: LeaseRequest | undefined): Lease | undefined {
    const { run } = root.row
    const unit: StoredTree = {
      root,
      token: tokenFloor,
      holding: undefined,
      dueAt: undefined,
      waiting: 0,
      ...neverTried,
      readyAt: undefined,
    }
    units.set(run, unit)
    change(unit, { dueAt: dueTime(batch, now()) })
    return asked && take(unit, asked.owner, asked.ttlMs, 0)
  }
  /** In the order in which they are claimed. */
  function readyIn(lanes: readonly Lane[], among: Iterable<StoredTree> = units.values()): ReadyRun[] {
    return [...among]
      .flatMap(({ root: { row }, readyAt: at = Infinity }) => {
        if (at > now() || !lanes.some((lane) => isSameLane(lane, row))) return []
        const { run, crew, version, format, priority } = row
        return [{ run, crew, version, format, priority, readyAt: at }]
      })
      .toSorted(byClaim)
  }

  return {
    url,
    create: (first, batch, asked) =>
      step(() => {
        const { run } = first
        if (runs.has(run)) return { created: false }
        checkNumbers(run, 0, batch)
        const found: StoredRun = {
          row: { ...(batch.row ?? first), run },
          lines: [],
          blobs: new Map(),
          messages: new Map(),
        }
        const lease =
          parentRunId(run) === undefined && !isLease(asked)
            ? createRoot(found, batch, asked)
            : asked && underLease(run, asked)
        runs.set(run, found)
        write(found, batch)
        return lease === undefined ? { created: true } : { created: true, lease }
      }),

    append: (lease, after, batch) =>
      step(() => {
        const run = batch.run ?? lease.run
        checkLease(lease, run)
        const found = existing(run)
        const unit = unitOf(run)
        checkSeq(run, found.lines.length, after, batch)
        checkOpen(run, found.row.status, batch)
        checkInbox(run, batch, () => untakenMessages(found).map(({ id }) => id))
        write(found, batch)
        const taken = takeMessages(found, batch.taken ?? [])
        const left = recordsMessages(found.row.status) ? 0 : untakenMessages(found).length
        const waiting = unit.waiting - taken - left
        const counted: Partial<DeathCount> = batch.progress ? neverTried : {}
        if (batch.row && found === unit.root) change(unit, { dueAt: dueTime(batch, now()), waiting, ...counted })
        else if (waiting !== unit.waiting || (batch.progress && unit.tries > 0)) change(unit, { waiting, ...counted })
        return unit.waiting
      }),

    async *read(run, after = 0) {
      const lines = await step(() => runs.get(run)?.lines.slice(Math.max(after, 0)) ?? [])
      for (const { seq, bytes } of lines) yield { seq, bytes: copyBytes(bytes) }
    },

    // what is in memory is there as a whole
    lastNoted: () => step(() => undefined),

    blob: (run, hash) =>
      step(() => {
        const bytes = runs.get(run)?.blobs.get(hash)
        return bytes && copyBytes(bytes)
      }),

    row: (run) => step(() => runs.get(run)?.row),

    list: (filter, page) =>
      step(() => {
        const rows = [...runs.values()].map((found) => found.row)
        return listPage(rows, filter, page)
      }),

    findOutput: (crew, task, fingerprint, since = 0) =>
      step(() => {
        const newest = outputs
          .filter((output) => output.crew === crew && output.task === task && output.fingerprint === fingerprint)
          .filter((output) => output.completedAt >= since)
          .reduce<StoredOutput | undefined>(
            (best, output) => (best !== undefined && best.completedAt > output.completedAt ? best : output),
            undefined,
          )
        return newest && { run: newest.run, seq: newest.seq, completedAt: newest.completedAt }
      }),

    acquire: (run, owner, ttlMs) =>
      step(() => {
        existing(run)
        return acquire(run, owner, ttlMs)
      }),

    claim: (owner, ttlMs, lanes, room) =>
      step(() => {
        for (const unit of units.values()) {
          if (unit.holding && isOwnerDead(unit.holding.owner)) change(unit, { ...afterDeath(unit), holding: undefined })
        }
        const has = room.exclude ?? new Set()
        const crews = laneCrews(lanes)
        const isHeld = ({ root: { row }, holding }: StoredTree): boolean =>
          crews.has(row.crew) && (has.has(row.run) || isLive(holding, now()))
        const places = claimableCount(room, () => [...units.values()].filter(isHeld).length)
        const asked =
          room.runId === undefined ? units.values() : [units.get(room.runId)].filter((unit) => unit !== undefined)
        let suspects = [...units.values()].filter(
          ({ deaths, holding }) => deaths > 0 && holding && isLive(holding, now()) && sameOwner(holding.owner, owner),
        ).length
        return readyIn(lanes, asked)
          .filter(({ run }) => !has.has(run))
          .map(({ run }) => unitOf(run))
          .filter(({ deaths }) => deaths === 0 || suspects++ === 0)
          .slice(0, places)
          .map((unit) => take(unit, owner, ttlMs, unit.tries + 1))
      }),

    ready: (lanes, limit) => step(() => readyIn(lanes).slice(0, Math.max(0, limit))),

    renew: (leases, ttlMs) =>
      step(() =>
        leases.flatMap((lease) => {
          const unit = held(lease)
          if (unit?.holding === undefined) return []
          change(unit, { holding: { ...unit.holding, expiresAt: now() + ttlMs } })
          return [{ lease, waiting: unit.waiting }]
        }),
      ),

    release: (lease) =>
      step(() => {
        const unit = held(lease)
        if (unit === undefined) {
          const taken = units.get(lease.run)
          if (taken) Object.assign(taken, afterReturn(taken, lease.token))
          return 0
        }
        change(unit, { holding: undefined })
        watchers.changed(lease.run)
        return unit.waiting
      }),

    now: () => step(now),
    tries: (run) =>
      step(() => {
        const { tries, deaths } = units.get(rootRunId(run)) ?? neverTried
        return { tries, deaths }
      }),

    holder: (run) =>
      step(() => {
        const holding = units.get(rootRunId(run))?.holding
        return isLive(holding, now()) ? holding?.owner : undefined
      }),

    post: (run, message) =>
      step(() => {
        const found = existing(run)
        const unit = unitOf(run)
        if (found.messages.has(message.id)) return 'exists'
        if (isEnded(found.row.status) || isEnded(unit.root.row.status)) return 'ended'
        found.messages.set(message.id, { message: { ...message }, taken: false })
        change(unit, { waiting: unit.waiting + 1 })
        watchers.posted(run)
        return 'posted'
      }),

    inbox: (run) =>
      step(() => {
        const found = runs.get(run)
        return found === undefined ? [] : untakenMessages(found)
      }),

    watch: (run, signal, only) => watchers.watch(run, signal, only),

    delete: (run) =>
      step(() => {
        const unit = units.get(rootRunId(run))
        checkFree(run, unit?.holding, now())
        for (const [id, found] of [...runs].filter(([each]) => isInTreeOf(each, run))) {
          runs.delete(id)
          outputs = outputs.filter((output) => output.run !== id)
          const left = recordsMessages(found.row.status) ? untakenMessages(found).length : 0
          if (unit) change(unit, { waiting: unit.waiting - left })
          watchers.changed(id)
        }
        if (units.delete(run)) tokenFloor = Math.max(tokenFloor, unit?.token ?? 0)
      }),

    async close() {
      closed = true
      watchers.close()
    },
  }
}

function untakenMessages(found: StoredRun): Message[] {
  return [...found.messages.values()].filter((posted) => !posted.taken).map((posted) => posted.message)
}

// Not slice(): a Buffer's shares its memory with the original.
function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
