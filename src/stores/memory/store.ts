// A store that lives as long as its process, for tests and experiments. Every operation is synchronous and therefore
// atomic, which makes this the simplest implementation of the port.
import { parentRunId, rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { isOwnerDead, sameOwner } from '../owner.ts'
import {
  isLease,
  type LeaseRequest,
  checkFree,
  checkToken,
  checkTree,
  isLive,
  type Holding,
  byClaim,
  isSameLane,
  laneCrews,
  claimableCount,
} from '../rules/leases.ts'
import { listPage } from '../rules/listing.ts'
import {
  afterDeath,
  afterReturn,
  dueTime,
  neverTried,
  readyAt,
  recordsMessages,
  type TryCounts,
} from '../rules/ready.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, unknownRunError, storeClosedError } from '../rules/refusals.ts'
import type { Batch, Lane, Lease, Line, Message, Owner, ReadyRun, RunId, RunRow, Store } from '../store.ts'
import { createWatchers } from '../watchers.ts'

export interface MemoryStoreOptions {
  /** The clock by which leases expire. Default: Date.now. */
  readonly now?: () => number
  readonly url?: string
  /** Generates the ids of leases. Default: crypto.randomUUID. */
  readonly uuid?: () => string
  /** Whether the process of an owner provably no longer runs. Default: asks the operating system. */
  readonly isGone?: (owner: Owner) => boolean
}

interface StoredRun {
  row: RunRow
  readonly lines: Line[]
  readonly blobs: Map<string, Uint8Array>
  /** In the order of posting. Taken messages stay, since ids are unique forever. */
  readonly messages: Map<string, { message: Message; taken: boolean }>
}

/** A run tree: its lease, and what decides when its root is offered to a worker. */
interface StoredTree extends TryCounts {
  readonly root: StoredRun
  token: number
  holding: Holding | undefined
  dueAt: number | undefined
  /** Number of unrecorded messages to the tree. */
  waiting: number
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
  const { now = Date.now, url = 'memory:', uuid = () => crypto.randomUUID(), isGone = isOwnerDead } = options
  const runs = new Map<RunId, StoredRun>()
  /** By id of the root. */
  const trees = new Map<RunId, StoredTree>()
  let outputs: StoredOutput[] = []
  /**
   * The highest token of any deleted run. New runs continue from it, so that holders of deleted runs stay fenced out.
   */
  let tokenFloor = 0
  let closed = false
  const watchers = createWatchers()

  /** Executes an operation. An exception becomes a rejection. */
  async function guarded<T>(work: () => T): Promise<T> {
    if (closed) throw storeClosedError(url)
    return work()
  }
  function existing(run: RunId): StoredRun {
    const found = runs.get(run)
    if (found === undefined) throw unknownRunError(run, url)
    return found
  }
  function existingTree(run: RunId): StoredTree {
    const tree = trees.get(rootRunId(run))
    if (tree === undefined) throw unknownRunError(rootRunId(run), url)
    return tree
  }
  function change(tree: StoredTree, changes: Partial<StoredTree>): void {
    Object.assign(tree, changes)
    const { root, dueAt, waiting, tries, holding } = tree
    const { run, status } = root.row
    const expiresAt = holding?.expiresAt
    tree.readyAt = readyAt({ run, ended: isEnded(status), dueAt, messages: waiting, tries, expiresAt }, now())
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
  /** Returns how many of the messages were waiting. */
  function takeMessages(found: StoredRun, ids: readonly string[]): number {
    const taken = [...new Set(ids)].flatMap((id) => found.messages.get(id) ?? []).filter((posted) => !posted.taken)
    for (const posted of taken) posted.taken = true
    return taken.length
  }
  function grantLease(tree: StoredTree, owner: Owner, ttlMs: number, tries: number): Lease {
    const id = uuid()
    const death = tree.holding && !sameOwner(owner, tree.holding.owner) ? afterDeath(tree) : {}
    change(tree, { ...death, token: tree.token + 1, holding: { owner, id, expiresAt: now() + ttlMs }, tries })
    return { run: tree.root.row.run, token: tree.token, id, owner }
  }
  function acquire(run: RunId, owner: Owner, ttlMs: number): Lease {
    const tree = existingTree(run)
    checkFree(run, tree.holding, now(), owner, isGone)
    return grantLease(tree, owner, ttlMs, Math.max(1, tree.tries))
  }
  function checkLease(lease: Lease, run: RunId): void {
    const tree = trees.get(lease.run)
    checkToken(lease, tree?.token, tree?.holding)
    checkTree(lease, run)
  }
  function treeHeldBy({ run, token, id }: Lease): StoredTree | undefined {
    const tree = trees.get(run)
    return tree?.token === token && tree.holding?.id === id ? tree : undefined
  }
  /** The lease of the root, under which a child run is created. */
  function leaseOfRoot(run: RunId, lease: Lease | LeaseRequest): Lease {
    if (!isLease(lease)) return acquire(run, lease.owner, lease.ttlMs)
    checkLease(lease, run)
    return lease
  }
  function createRoot(root: StoredRun, batch: Batch, request: LeaseRequest | undefined): Lease | undefined {
    const { run } = root.row
    const tree: StoredTree = {
      root,
      token: tokenFloor,
      holding: undefined,
      dueAt: undefined,
      waiting: 0,
      ...neverTried,
      readyAt: undefined,
    }
    trees.set(run, tree)
    change(tree, { dueAt: dueTime(batch, now()) })
    return request && grantLease(tree, request.owner, request.ttlMs, 0)
  }
  /** Lists the ready roots of these lanes in claim order. */
  function listReady(lanes: readonly Lane[], among: Iterable<StoredTree> = trees.values()): ReadyRun[] {
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
    create: (row, batch, lease) =>
      guarded(() => {
        const { run } = row
        if (runs.has(run)) return { created: false }
        checkNumbers(run, 0, batch)
        const found: StoredRun = {
          row: { ...(batch.row ?? row), run },
          lines: [],
          blobs: new Map(),
          messages: new Map(),
        }
        const granted =
          parentRunId(run) === undefined && !isLease(lease)
            ? createRoot(found, batch, lease)
            : lease && leaseOfRoot(run, lease)
        runs.set(run, found)
        write(found, batch)
        return granted === undefined ? { created: true } : { created: true, lease: granted }
      }),

    append: (lease, after, batch) =>
      guarded(() => {
        const run = batch.run ?? lease.run
        checkLease(lease, run)
        const found = existing(run)
        const tree = existingTree(run)
        checkSeq(run, found.lines.length, after, batch)
        checkOpen(run, found.row.status, batch)
        checkInbox(run, batch, () => untakenMessages(found).map(({ id }) => id))
        write(found, batch)
        const taken = takeMessages(found, batch.taken ?? [])
        const unrecorded = recordsMessages(found.row.status) ? 0 : untakenMessages(found).length
        const waiting = tree.waiting - taken - unrecorded
        const counts: Partial<TryCounts> = batch.progress ? neverTried : {}
        if (batch.row && found === tree.root) change(tree, { dueAt: dueTime(batch, now()), waiting, ...counts })
        else if (waiting !== tree.waiting || (batch.progress && tree.tries > 0)) change(tree, { waiting, ...counts })
        return tree.waiting
      }),

    async *read(run, after = 0) {
      const lines = await guarded(() => runs.get(run)?.lines.slice(Math.max(after, 0)) ?? [])
      for (const { seq, bytes } of lines) yield { seq, bytes: copyBytes(bytes) }
    },

    // memory loses no lines
    lastNoted: () => guarded(() => undefined),

    blob: (run, hash) =>
      guarded(() => {
        const bytes = runs.get(run)?.blobs.get(hash)
        return bytes && copyBytes(bytes)
      }),

    row: (run) => guarded(() => runs.get(run)?.row),

    list: (filter, page) =>
      guarded(() => {
        const rows = [...runs.values()].map((found) => found.row)
        return listPage(rows, filter, page)
      }),

    findOutput: (crew, task, fingerprint, since = 0) =>
      guarded(() => {
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
      guarded(() => {
        existing(run)
        return acquire(run, owner, ttlMs)
      }),

    claim: (owner, ttlMs, lanes, limits) =>
      guarded(() => {
        for (const tree of trees.values()) {
          if (tree.holding && isGone(tree.holding.owner)) change(tree, { ...afterDeath(tree), holding: undefined })
        }
        const { exclude = new Set(), runId } = limits
        const crews = laneCrews(lanes)
        const isHeld = ({ root: { row }, holding }: StoredTree): boolean =>
          crews.has(row.crew) && (exclude.has(row.run) || isLive(holding, now(), isGone))
        const count = claimableCount(limits, () => [...trees.values()].filter(isHeld).length)
        const candidates =
          runId === undefined ? trees.values() : [trees.get(runId)].filter((tree) => tree !== undefined)
        let suspects = [...trees.values()].filter(
          ({ deaths, holding }) =>
            deaths > 0 && holding && isLive(holding, now(), isGone) && sameOwner(holding.owner, owner),
        ).length
        return listReady(lanes, candidates)
          .filter(({ run }) => !exclude.has(run))
          .map(({ run }) => existingTree(run))
          .filter(({ deaths }) => deaths === 0 || suspects++ === 0)
          .slice(0, count)
          .map((tree) => grantLease(tree, owner, ttlMs, tree.tries + 1))
      }),

    ready: (lanes, limit) => guarded(() => listReady(lanes).slice(0, Math.max(0, limit))),

    renew: (leases, ttlMs) =>
      guarded(() =>
        leases.flatMap((lease) => {
          const tree = treeHeldBy(lease)
          if (tree?.holding === undefined) return []
          change(tree, { holding: { ...tree.holding, expiresAt: now() + ttlMs } })
          return [{ lease, waiting: tree.waiting }]
        }),
      ),

    release: (lease) =>
      guarded(() => {
        const tree = treeHeldBy(lease)
        if (tree === undefined) {
          const lost = trees.get(lease.run)
          if (lost) Object.assign(lost, afterReturn(lost, lease.token))
          return 0
        }
        change(tree, { holding: undefined })
        watchers.changed(lease.run)
        return tree.waiting
      }),

    now: () => guarded(now),
    tries: (run) =>
      guarded(() => {
        const { tries, deaths } = trees.get(rootRunId(run)) ?? neverTried
        return { tries, deaths }
      }),

    holder: (run) =>
      guarded(() => {
        const holding = trees.get(rootRunId(run))?.holding
        return isLive(holding, now(), isGone) ? holding?.owner : undefined
      }),

    post: (run, message) =>
      guarded(() => {
        const found = existing(run)
        const tree = existingTree(run)
        if (found.messages.has(message.id)) return 'exists'
        if (isEnded(found.row.status) || isEnded(tree.root.row.status)) return 'ended'
        found.messages.set(message.id, { message: { ...message }, taken: false })
        change(tree, { waiting: tree.waiting + 1 })
        watchers.posted(run)
        return 'posted'
      }),

    inbox: (run) =>
      guarded(() => {
        const found = runs.get(run)
        return found === undefined ? [] : untakenMessages(found)
      }),

    watch: (run, signal, only) => watchers.watch(run, signal, only),

    delete: (run) =>
      guarded(() => {
        const tree = trees.get(rootRunId(run))
        checkFree(run, tree?.holding, now(), undefined, isGone)
        for (const [id, found] of [...runs].filter(([each]) => isInTreeOf(each, run))) {
          runs.delete(id)
          outputs = outputs.filter((output) => output.run !== id)
          const waiting = recordsMessages(found.row.status) ? untakenMessages(found).length : 0
          if (tree) change(tree, { waiting: tree.waiting - waiting })
          watchers.changed(id)
        }
        if (trees.delete(run)) tokenFloor = Math.max(tokenFloor, tree?.token ?? 0)
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

// Not slice(): on a Buffer it shares memory with the original.
function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
