// Applies an operation to the store and to the model, and compares the results.
import assert from 'node:assert/strict'
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { parentRunId, rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { afterDeath, afterReturn, dueTime, neverTried, readyAt, type TryCounts } from '../../stores/rules/ready.ts'
import type { Batch, ClaimLimits, Lease, Message, Owner, ReadyRun, RunRow, RunStatus } from '../../stores/store.ts'
import { elsewhere, lane, message, row, ttlMs, type Scene } from './harness.ts'
import type { Operation, RunName } from './store-model.ts'

interface ModelRun {
  row: RunRow
  lines: Uint8Array[]
  messages: Message[]
  taken: Set<string>
}

interface ModelTree extends Mutable<TryCounts> {
  lease: Lease | undefined
  expiresAt: number
  dueAt: number | undefined
  readyAt: number | undefined
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Keeps every lease ever granted, even of deleted runs: those must stay invalid. */
export interface Model {
  readonly runs: Map<string, ModelRun>
  readonly trees: Map<string, ModelTree>
  readonly leases: Map<string, Lease[]>
  readonly now: () => number
  /** Whether the store promises the order of claims. */
  readonly isOrdered: boolean
  /** Whether the store uses the clock of the model. */
  readonly isTimed: boolean
  /** Whether an owner holds at most one suspect: a run whose last holder died (stores/rules/ready.ts). */
  readonly isolates: boolean
}

type Do<T extends Operation['do']> = Extract<Operation, { readonly do: T }>

export async function applyOperation(scene: Scene, model: Model, operation: Operation): Promise<void> {
  switch (operation.do) {
    case 'create':
      return create(scene, model, operation)
    case 'append':
      return append(scene, model, operation)
    case 'acquire':
      return acquire(scene, model, operation)
    case 'claim':
      return applyClaim(scene, model, operation)
    case 'renew':
      return renew(scene, model, operation)
    case 'release':
      return release(scene, model, operation)
    case 'post':
      return post(scene, model, operation)
    case 'delete':
      return remove(scene, model, operation)
    case 'pass':
      return scene.pass(operation.ms)
    default:
      operation satisfies never
  }
}

async function create({ store }: Scene, model: Model, { run, lines, lease, due }: Do<'create'>): Promise<void> {
  const root = rootRunId(run)
  const held = lease === 'held' ? model.leases.get(root)?.at(-1) : undefined
  if (lease === 'held' && held === undefined) return
  const request = held ?? (typeof lease === 'number' ? { owner: ownerOf(lease), ttlMs } : undefined)
  const batch = { lines: numbered(lines, 0), ...dueOf(model, due) }
  const first = rowOf(run)
  const creating = store.create(first, batch, request)
  if (model.runs.has(run)) return assert.deepEqual(await creating, { created: false })
  const tree = model.trees.get(root)
  if (held !== undefined && !isHeld(model, held)) return refusedWith(creating, 'LEASE_LOST')
  if (typeof lease === 'number' && run !== root) {
    if (tree === undefined) return refusedWith(creating, 'RUN_NOT_FOUND')
    if (isTaken(model, tree, ownerOf(lease))) return refusedWith(creating, 'RUN_HELD')
  }
  // only child runs can be created under a lease
  if (held !== undefined && run === root) return refusedWith(creating, 'LEASE_LOST')
  const created = await creating
  assert.deepEqual([created.created, created.lease === undefined], [true, request === undefined])
  model.runs.set(run, { row: first, lines: [...lines], messages: [], taken: new Set() })
  if (run === root) {
    const dueAt = dueTime(batch, model.now())
    model.trees.set(run, { ...neverTried, lease: undefined, expiresAt: 0, dueAt, readyAt: undefined })
    updateReadyAt(model, run)
  }
  if (held !== undefined) assert.deepEqual(created.lease, held)
  else if (created.lease !== undefined)
    recordGrant(model, created.lease, run === root ? 0 : Math.max(1, tree?.tries ?? 0))
}

async function append(scene: Scene, model: Model, operation: Do<'append'>): Promise<void> {
  const { store } = scene
  const { run, off, lines, row: change, progress, taken } = operation
  const root = rootRunId(run)
  const lease = model.leases.get(root)?.at(-1 - operation.lease)
  if (lease === undefined) return
  // renewed first, as holders do: the order of runs with expired leases is unspecified
  await renew(scene, model, { do: 'renew', run, lease: operation.lease })
  const expected = model.runs.get(run)
  const last = expected?.lines.length ?? 0
  const after = Math.max(0, last + off)
  const changed = change && rowOf(run, change)
  const batch: Batch = {
    ...(run === root ? {} : { run }),
    lines: numbered(lines, after),
    ...(changed ? { row: changed, ...dueOf(model, change.due) } : {}),
    ...(progress ? { progress } : {}),
    taken,
  }
  const appended = store.append(lease, after, batch)
  if (!isHeld(model, lease)) return refusedWith(appended, 'LEASE_LOST')
  if (expected === undefined) return refusedWith(appended, 'RUN_NOT_FOUND')
  if (after !== last) return refusedWith(appended, 'SEQ_CONFLICT')
  if (isShut(expected.row.status, change?.status)) return refusedWith(appended, 'RUN_ENDED')
  const left = waitingIn(expected).some(({ id }) => !taken.includes(id))
  if (change?.status === 'completed' && left) return refusedWith(appended, 'INBOX_WAITING')
  const waiting = await appended
  expected.lines.push(...lines)
  if (changed) expected.row = changed
  // only posted messages can be taken: an id that was never posted stays free
  for (const id of taken) if (expected.messages.some((each) => each.id === id)) expected.taken.add(id)
  const tree = model.trees.get(root)
  if (tree && progress) Object.assign(tree, neverTried)
  if (tree && changed && run === root) tree.dueAt = dueTime(batch, model.now())
  updateReadyAt(model, root)
  assert.equal(waiting, waitingFor(model, root))
}

async function acquire({ store }: Scene, model: Model, { run, owner }: Do<'acquire'>): Promise<void> {
  const acquired = store.acquire(run, ownerOf(owner), ttlMs)
  const tree = model.trees.get(rootRunId(run))
  if (!model.runs.has(run) || tree === undefined) return refusedWith(acquired, 'RUN_NOT_FOUND')
  if (isTaken(model, tree, ownerOf(owner))) return refusedWith(acquired, 'RUN_HELD')
  recordGrant(model, await acquired, Math.max(1, tree.tries))
}

/** Compares the ready runs and the claimed runs with the model. */
export async function applyClaim(
  { store }: Scene,
  model: Model,
  { run: only, owner, versions, limit, crewLimit, isOnly }: Omit<Do<'claim'>, 'do'>,
): Promise<void> {
  const lanes = versions.map((version) => ({ ...lane, version }))
  const offered = await store.ready(lanes, 10)
  const limits: ClaimLimits = { limit, ...defined({ crewLimit }), ...(isOnly && { runId: only }) }
  const leases = await store.claim(ownerOf(owner), ttlMs, lanes, limits)
  const held = [...model.trees.values()].filter((tree) => isTaken(model, tree)).length
  const ready = readyIn(model, versions)
  const known = offered.map((each) => (model.isTimed ? each : { ...each, readyAt: 0 }))
  assertSame(model, known, ready)
  const places = Math.min(limit, Math.max(0, (crewLimit ?? Infinity) - held))
  const wanted = ready.map(({ run }) => run).filter((run) => !isOnly || run === only)
  const claimed = leases.map((lease) => lease.run)
  let suspects = suspectsOf(model, ownerOf(owner))
  const isClaimable = (run: string): boolean =>
    !model.isolates || (model.trees.get(run)?.deaths ?? 0) === 0 || suspects++ === 0
  if (model.isolates || suspectsOf(model) === 0) assertSame(model, claimed, wanted.filter(isClaimable).slice(0, places))
  for (const lease of leases) recordGrant(model, lease, (model.trees.get(lease.run)?.tries ?? 0) + 1)
}

/** The number of suspects, or of the suspects that an owner holds. */
function suspectsOf(model: Model, owner?: Owner): number {
  const trees = [...model.trees.values()].filter(({ deaths }) => deaths > 0)
  if (owner === undefined) return trees.length
  return trees.filter(({ lease, expiresAt }) => lease?.owner.host === owner.host && expiresAt > model.now()).length
}

function readyIn(model: Model, versions: readonly string[]): ReadyRun[] {
  return [...model.trees]
    .flatMap(([run, { readyAt: at = Infinity }]) => {
      const found = model.runs.get(run)
      if (found === undefined || at > model.now() || !versions.includes(found.row.version)) return []
      const { crew, version, format, priority } = found.row
      return [{ run, crew, version, format, priority, readyAt: model.isTimed ? at : 0 }]
    })
    .toSorted((a, b) => b.priority - a.priority || a.readyAt - b.readyAt)
}

/** Compares the order too, if the store promises one: by priority, in which the two roots of the model differ. */
function assertSame<T extends string | ReadyRun>(model: Model, found: readonly T[], expected: readonly T[]): void {
  const inOrder = (all: readonly T[]): readonly T[] =>
    model.isOrdered ? all : all.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  assert.deepEqual(inOrder(found), inOrder(expected))
}

function nameOf(run: string | ReadyRun): string {
  return typeof run === 'string' ? run : run.run
}

async function renew({ store }: Scene, model: Model, { run, lease: back }: Do<'renew' | 'release'>): Promise<void> {
  const root = rootRunId(run)
  const lease = model.leases.get(root)?.at(-1 - back)
  if (lease === undefined) return
  const waiting = waitingFor(model, root)
  assert.deepEqual(await store.renew([lease], ttlMs), isHeld(model, lease) ? [{ lease, waiting }] : [])
  const tree = model.trees.get(root)
  if (tree === undefined || !isHeld(model, lease)) return
  tree.expiresAt = model.now() + ttlMs
  updateReadyAt(model, root)
}

async function release({ store }: Scene, model: Model, { run, lease: back }: Do<'renew' | 'release'>): Promise<void> {
  const root = rootRunId(run)
  const lease = model.leases.get(root)?.at(-1 - back)
  if (lease === undefined) return
  const wasHeld = isHeld(model, lease)
  assert.equal(await store.release(lease), wasHeld ? waitingFor(model, root) : 0)
  const tree = model.trees.get(root)
  if (tree && !wasHeld) Object.assign(tree, afterReturn(tree, lease.token))
  if (tree === undefined || !wasHeld) return
  tree.lease = undefined
  updateReadyAt(model, root)
}

async function post({ store }: Scene, model: Model, { run, id }: Do<'post'>): Promise<void> {
  const expected = model.runs.get(run)
  const root = model.runs.get(rootRunId(run))
  const posted = store.post(run, message(id))
  if (expected === undefined || root === undefined) return refusedWith(posted, 'RUN_NOT_FOUND')
  if (expected.messages.some((each) => each.id === id)) return assert.equal(await posted, 'exists')
  if (isEnded(expected.row.status) || isEnded(root.row.status)) return assert.equal(await posted, 'ended')
  assert.equal(await posted, 'posted')
  expected.messages.push(message(id))
  updateReadyAt(model, rootRunId(run))
}

async function remove({ store }: Scene, model: Model, { run }: Do<'delete'>): Promise<void> {
  const tree = model.trees.get(rootRunId(run))
  const removed = store.delete(run)
  if (tree && isTaken(model, tree)) return refusedWith(removed, 'RUN_HELD')
  await removed
  const gone = [...model.runs.keys()].filter((each) => isInTreeOf(each, run))
  for (const each of gone) model.runs.delete(each)
  if (parentRunId(run) === undefined) model.trees.delete(run)
  else if (gone.length > 0) updateReadyAt(model, rootRunId(run))
}

export function holderOf(model: Model, run: string): Owner | undefined {
  const tree = model.trees.get(rootRunId(run))
  return tree && isTaken(model, tree) ? tree.lease?.owner : undefined
}

export function waitingIn(run: ModelRun | undefined): Message[] {
  return run?.messages.filter(({ id }) => !run.taken.has(id)) ?? []
}

function waitingFor(model: Model, root: string): number {
  const counting = [...model.runs].filter(
    ([run, { row: found }]) => rootRunId(run) === root && found.status !== 'cancelled',
  )
  return counting.reduce((sum, [, each]) => sum + waitingIn(each).length, 0)
}

/** Computes when a root is ready. Call it after every change of its tree. */
function updateReadyAt(model: Model, root: string): void {
  const tree = model.trees.get(root)
  const found = model.runs.get(root)
  if (tree === undefined || found === undefined) return
  const { dueAt, tries, lease, expiresAt } = tree
  const facts = { run: root, ended: isEnded(found.row.status), dueAt, tries, messages: waitingFor(model, root) }
  tree.readyAt = readyAt({ ...facts, expiresAt: lease && expiresAt }, model.now())
}

/** Records a lease that the store has granted. */
function recordGrant(model: Model, lease: Lease, tries: number): void {
  const earlier = model.leases.get(lease.run) ?? []
  assert.ok(earlier.every((each) => each.token < lease.token && each.id !== lease.id))
  model.leases.set(lease.run, [...earlier, lease])
  const tree = model.trees.get(lease.run)
  if (tree === undefined) return
  const { lease: before } = tree
  const death = before && before.owner.host !== lease.owner.host ? afterDeath({ ...tree, token: before.token }) : {}
  Object.assign(tree, { ...death, tries, lease, expiresAt: model.now() + ttlMs })
  updateReadyAt(model, lease.run)
}

function isHeld(model: Model, lease: Lease): boolean {
  return model.trees.get(lease.run)?.lease?.id === lease.id
}

/** Whether another owner holds the tree. */
function isTaken(model: Model, { lease, expiresAt }: ModelTree, owner?: Owner): boolean {
  return lease !== undefined && expiresAt > model.now() && lease.owner.host !== owner?.host
}

/** Whether an ended run refuses a batch. Only a completed run can be reopened, by a row whose status is not an end. */
function isShut(status: RunStatus, next: RunStatus | undefined): boolean {
  if (status === 'cancelled') return true
  return status === 'completed' && (next === undefined || isEnded(next))
}

function rowOf(run: RunName, fields: { readonly status?: RunStatus; readonly version?: string } = {}): RunRow {
  const { status = 'running', version = '1' } = fields
  return row(run, { status, version, priority: run === 'r/2' ? 1 : 0 })
}

function dueOf(model: Model, due: Batch['due'] | null): Pick<Batch, 'due'> {
  if (due === null || due === undefined) return {}
  return { due: due === 'now' ? due : model.now() + due }
}

function ownerOf(number: number): Owner {
  return elsewhere(`box${number}`)
}

function numbered(lines: readonly Uint8Array[], after: number): Batch['lines'] {
  return lines.map((bytes, index) => ({ seq: after + 1 + index, bytes }))
}

async function refusedWith(promise: Promise<unknown>, code: string): Promise<void> {
  const found = await promise.then(
    () => 'no refusal',
    (error: unknown) => {
      if (RepriseError.isInstance(error)) return error.code
      throw error
    },
  )
  assert.equal(found, code)
}
