// One operation, on the store and on the model: both must come to the same.
import assert from 'node:assert/strict'
import { defined } from '../../base/defined.ts'
import { RepriseError } from '../../base/errors.ts'
import { parentRunId, rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { afterDeath, afterReturn, dueTime, neverTried, readyAt, type DeathCount } from '../../stores/rules/ready.ts'
import type { Batch, ClaimLimits, Lease, Message, Owner, ReadyRun, RunRow, RunStatus } from '../../stores/store.ts'
import { elsewhere, lane, message, row, ttlMs, type Scene } from './harness.ts'
import type { Operation, RunName } from './store-model.ts'

interface ModelRun {
  row: RunRow
  lines: Uint8Array[]
  messages: Message[]
  taken: Set<string>
}

/** What is said of a root. */
interface ModelUnit extends Mutable<DeathCount> {
  lease: Lease | undefined
  expiresAt: number
  dueAt: number | undefined
  readyAt: number | undefined
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Every lease ever given of a run is kept, even after the run: those of a deleted run must stay worthless. */
export interface Model {
  readonly runs: Map<string, ModelRun>
  readonly units: Map<string, ModelUnit>
  readonly leases: Map<string, Lease[]>
  readonly now: () => number
  /** Whether the store promises which runs are claimed first. */
  readonly isOrdered: boolean
  /** Whether the store goes by the clock of the model. */
  readonly isTimed: boolean
  /** Whether it gives an owner one suspect at most. */
  readonly isolates: boolean
}

type Do<T extends Operation['do']> = Extract<Operation, { readonly do: T }>

export async function step(scene: Scene, model: Model, operation: Operation): Promise<void> {
  switch (operation.do) {
    case 'create':
      return create(scene, model, operation)
    case 'append':
      return append(scene, model, operation)
    case 'acquire':
      return acquire(scene, model, operation)
    case 'claim':
      return claimStep(scene, model, operation)
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
  const asked = held ?? (typeof lease === 'number' ? { owner: ownerOf(lease), ttlMs } : undefined)
  const batch = { lines: numbered(lines, 0), ...dueOf(model, due) }
  const first = rowOf(run)
  const creating = store.create(first, batch, asked)
  if (model.runs.has(run)) return assert.deepEqual(await creating, { created: false })
  const unit = model.units.get(root)
  if (held !== undefined && !isHeld(model, held)) return refusedWith(creating, 'LEASE_LOST')
  if (typeof lease === 'number' && run !== root) {
    if (unit === undefined) return refusedWith(creating, 'RUN_NOT_FOUND')
    if (isTaken(model, unit, ownerOf(lease))) return refusedWith(creating, 'RUN_HELD')
  }
  // a root that there is has no lease to be created under
  if (held !== undefined && run === root) return refusedWith(creating, 'LEASE_LOST')
  const created = await creating
  assert.deepEqual([created.created, created.lease === undefined], [true, asked === undefined])
  model.runs.set(run, { row: first, lines: [...lines], messages: [], taken: new Set() })
  if (run === root) {
    const dueAt = dueTime(batch, model.now())
    model.units.set(run, { ...neverTried, lease: undefined, expiresAt: 0, dueAt, readyAt: undefined })
    mark(model, run)
  }
  if (held !== undefined) assert.deepEqual(created.lease, held)
  else if (created.lease !== undefined) given(model, created.lease, run === root ? 0 : Math.max(1, unit?.tries ?? 0))
}

async function append(scene: Scene, model: Model, operation: Do<'append'>): Promise<void> {
  const { store } = scene
  const { run, off, lines, row: change, progress, taken } = operation
  const root = rootRunId(run)
  const lease = model.leases.get(root)?.at(-1 - operation.lease)
  if (lease === undefined) return
  // as whoever works on it does: the order of runs whose holder is late is nobody's promise
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
  // Only what is in the inbox can leave it: an id that was never posted stays free.
  for (const id of taken) if (expected.messages.some((each) => each.id === id)) expected.taken.add(id)
  const unit = model.units.get(root)
  if (unit && progress) Object.assign(unit, neverTried)
  if (unit && changed && run === root) unit.dueAt = dueTime(batch, model.now())
  mark(model, root)
  assert.equal(waiting, waitingFor(model, root))
}

async function acquire({ store }: Scene, model: Model, { run, owner }: Do<'acquire'>): Promise<void> {
  const acquired = store.acquire(run, ownerOf(owner), ttlMs)
  const unit = model.units.get(rootRunId(run))
  if (!model.runs.has(run) || unit === undefined) return refusedWith(acquired, 'RUN_NOT_FOUND')
  if (isTaken(model, unit, ownerOf(owner))) return refusedWith(acquired, 'RUN_HELD')
  given(model, await acquired, Math.max(1, unit.tries))
}

/** What is offered is compared with all that the model has ready. */
export async function claimStep(
  { store }: Scene,
  model: Model,
  { run: asked, owner, versions, limit, most, isOnly }: Omit<Do<'claim'>, 'do'>,
): Promise<void> {
  const lanes = versions.map((version) => ({ ...lane, version }))
  const offered = await store.ready(lanes, 10)
  const room: ClaimLimits = { limit, ...defined({ crewLimit: most }), ...(isOnly && { runId: asked }) }
  const leases = await store.claim(ownerOf(owner), ttlMs, lanes, room)
  const held = [...model.units.values()].filter((unit) => isTaken(model, unit)).length
  const ready = readyIn(model, versions)
  const known = offered.map((each) => (model.isTimed ? each : { ...each, readyAt: 0 }))
  assertSame(model, known, ready)
  const places = Math.min(limit, Math.max(0, (most ?? Infinity) - held))
  const wanted = ready.map(({ run }) => run).filter((run) => !isOnly || run === asked)
  const claimed = leases.map((lease) => lease.run)
  let suspects = suspectsOf(model, ownerOf(owner))
  const isGiven = (run: string): boolean =>
    !model.isolates || (model.units.get(run)?.deaths ?? 0) === 0 || suspects++ === 0
  if (model.isolates || suspectsOf(model) === 0) assertSame(model, claimed, wanted.filter(isGiven).slice(0, places))
  for (const lease of leases) given(model, lease, (model.units.get(lease.run)?.tries ?? 0) + 1)
}

/** How many roots whose last holder died there are, or the owner holds by a lease that lasts. */
function suspectsOf(model: Model, owner?: Owner): number {
  const units = [...model.units.values()].filter(({ deaths }) => deaths > 0)
  if (owner === undefined) return units.length
  return units.filter(({ lease, expiresAt }) => lease?.owner.host === owner.host && expiresAt > model.now()).length
}

function readyIn(model: Model, versions: readonly string[]): ReadyRun[] {
  return [...model.units]
    .flatMap(([run, { readyAt: at = Infinity }]) => {
      const found = model.runs.get(run)
      if (found === undefined || at > model.now() || !versions.includes(found.row.version)) return []
      const { crew, version, format, priority } = found.row
      return [{ run, crew, version, format, priority, readyAt: model.isTimed ? at : 0 }]
    })
    .toSorted((a, b) => b.priority - a.priority || a.readyAt - b.readyAt)
}

/** In the same order where the store promises one. No two runs of the model are ready at the same priority. */
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
  const unit = model.units.get(root)
  if (unit === undefined || !isHeld(model, lease)) return
  unit.expiresAt = model.now() + ttlMs
  mark(model, root)
}

async function release({ store }: Scene, model: Model, { run, lease: back }: Do<'renew' | 'release'>): Promise<void> {
  const root = rootRunId(run)
  const lease = model.leases.get(root)?.at(-1 - back)
  if (lease === undefined) return
  const wasHeld = isHeld(model, lease)
  assert.equal(await store.release(lease), wasHeld ? waitingFor(model, root) : 0)
  const unit = model.units.get(root)
  if (unit && !wasHeld) Object.assign(unit, afterReturn(unit, lease.token))
  if (unit === undefined || !wasHeld) return
  unit.lease = undefined
  mark(model, root)
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
  mark(model, rootRunId(run))
}

async function remove({ store }: Scene, model: Model, { run }: Do<'delete'>): Promise<void> {
  const unit = model.units.get(rootRunId(run))
  const removed = store.delete(run)
  if (unit && isTaken(model, unit)) return refusedWith(removed, 'RUN_HELD')
  await removed
  const gone = [...model.runs.keys()].filter((each) => isInTreeOf(each, run))
  for (const each of gone) model.runs.delete(each)
  if (parentRunId(run) === undefined) model.units.delete(run)
  else if (gone.length > 0) mark(model, rootRunId(run))
}

export function holderOf(model: Model, run: string): Owner | undefined {
  const unit = model.units.get(rootRunId(run))
  return unit && isTaken(model, unit) ? unit.lease?.owner : undefined
}

export function waitingIn(run: ModelRun | undefined): Message[] {
  return run?.messages.filter(({ id }) => !run.taken.has(id)) ?? []
}

function waitingFor(model: Model, root: string): number {
  const counting = [...model.runs].filter(
    ([
      run,
      {
        row: { status },
      },
    ]) => rootRunId(run) === root && status !== 'cancelled',
  )
  return counting.reduce((sum, [, each]) => sum + waitingIn(each).length, 0)
}

function mark(model: Model, root: string): void {
  const unit = model.units.get(root)
  const found = model.runs.get(root)
  if (unit === undefined || found === undefined) return
  const { dueAt, tries, lease, expiresAt } = unit
  const told = { run: root, ended: isEnded(found.row.status), dueAt, tries, messages: waitingFor(model, root) }
  unit.readyAt = readyAt({ ...told, expiresAt: lease && expiresAt }, model.now())
}

function given(model: Model, lease: Lease, tries: number): void {
  const earlier = model.leases.get(lease.run) ?? []
  assert.ok(earlier.every((each) => each.token < lease.token && each.id !== lease.id))
  model.leases.set(lease.run, [...earlier, lease])
  const unit = model.units.get(lease.run)
  if (unit === undefined) return
  const { lease: before } = unit
  const died = before && before.owner.host !== lease.owner.host ? afterDeath({ ...unit, token: before.token }) : {}
  Object.assign(unit, { ...died, tries, lease, expiresAt: model.now() + ttlMs })
  mark(model, lease.run)
}

function isHeld(model: Model, lease: Lease): boolean {
  return model.units.get(lease.run)?.lease?.id === lease.id
}

/** Whether somebody else keeps `owner` out. */
function isTaken(model: Model, { lease, expiresAt }: ModelUnit, owner?: Owner): boolean {
  return lease !== undefined && expiresAt > model.now() && lease.owner.host !== owner?.host
}

/** A status that isn't an end opens a completed run again; a cancelled one stays cancelled. */
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
