// The smallest crew with every reason for a run to wait: a step, a question, a nested crew with its own question, and
// the end. Processes work on it by the rules of the engine (`dueOf`), one store call at a time, so that a test can
// interleave or kill them after any call.
import { RepriseError } from 'reprise'
import type { Batch, Lease, Owner, RunRow, Store } from 'reprise/stores'
import { dueAt } from '../../src/read/row-summary.ts'
import { isEnded, type RunState } from '../../src/journal/state/state.ts'
import { batch, lane, linesOf, message, row, ttlMs } from '../../src/testing/store-contract/harness.ts'

export const roots = ['r1', 'r2'] as const
export const childOf = (root: string): string => `${root}/a#1`

type Note = 'created' | 'resumed' | 'step' | 'asked' | 'waits for child' | 'answered' | 'woken' | 'completed'
type Told = Pick<RunState, 'run' | 'status' | 'woken' | 'suspended'> & { steps: number; answers: number; last: number }

/** One store call after the other; undefined when it has nothing left to do. */
export type Process = AsyncGenerator<void, void>

/** Folds what a journal of this crew says. */
export async function tell(store: Store, run: string): Promise<Told | undefined> {
  const lines = await linesOf(store, run)
  if (lines.length === 0) return undefined
  const told: Told = { run, status: 'queued', steps: 0, answers: 0, last: lines.length }
  for (const { bytes } of lines) note(told, (JSON.parse(Buffer.from(bytes).toString()) as { note: Note }).note)
  return told
}

function note(told: Told, type: Note): void {
  if (type === 'resumed') Object.assign(told, { status: 'running', woken: false })
  if (type === 'step') told.steps++
  if (type === 'asked') Object.assign(told, { status: 'suspended', suspended: { reason: 'questions' }, woken: false })
  if (type === 'waits for child') {
    Object.assign(told, { status: 'suspended', suspended: { reason: 'child' }, woken: false })
  }
  if (type === 'answered') told.answers++
  if ((type === 'answered' || type === 'woken') && told.status === 'suspended') told.woken = true
  if (type === 'completed') told.status = 'completed'
}

export function createRun(store: Store, run: string): Promise<unknown> {
  return store.create(row(run, { status: 'queued' }), { ...notes(0, ['created']), due: 'now' })
}

/** Claims a run, or the given one, and works on it until it waits or ends. */
export async function* worker(store: Store, owner: Owner, told?: string): Process {
  const [lease] = await store.claim(owner, ttlMs, [lane], { limit: 1, ...(told !== undefined && { runId: told }) })
  yield
  if (lease === undefined) return
  const child = childOf(lease.run)
  // first, because an entry below a suspended run would wake no worker
  yield* append(store, lease, lease.run, ['resumed'])
  yield* record(store, lease, lease.run)
  for (;;) {
    const root = (await tell(store, lease.run)) as Told
    const below = await tell(store, child)
    if (root.steps === 0 || (root.steps === 1 && root.answers > 0)) yield* append(store, lease, lease.run, ['step'])
    else if (root.steps === 1) {
      yield* append(store, lease, lease.run, ['asked'])
      break
    } else if (root.steps > 2) {
      if (yield* complete(store, lease, lease.run)) break
    } else if (below === undefined) {
      await store.create(row(child), notes(0, ['created', 'resumed']), lease)
      yield
    } else if (below.status === 'completed') yield* append(store, lease, lease.run, ['step'])
    else if (below.steps === 0 || (below.steps === 1 && below.answers > 0)) yield* append(store, lease, child, ['step'])
    else if (below.steps > 1) yield* complete(store, lease, child)
    else {
      if (below.status !== 'suspended') yield* append(store, lease, child, ['asked'])
      yield* append(store, lease, lease.run, ['waits for child'])
      break
    }
  }
  await store.release(lease)
  yield
}

/** Posts an answer, and records it if the run has no holder. */
export async function* poster(store: Store, owner: Owner, run: string, id: string, records: boolean): Process {
  const root = run.split('/', 1)[0] as string
  const posted = await store.post(run, message(id)).catch(unless('RUN_NOT_FOUND'))
  yield
  if (posted !== 'posted' || !records) return
  const lease = await store.acquire(run, owner, ttlMs).catch(unless('RUN_HELD'))
  yield
  if (lease === undefined) return
  const top = (await tell(store, root)) as Told
  if (run !== root && top.status === 'suspended' && !top.woken) yield* append(store, lease, root, ['woken'])
  // a message for the child of a suspended root is left: it alone makes the root ready
  yield* recordOwn(store, lease, run)
  await store.release(lease)
  yield
}

/** The holder of a root records the messages for it and its child runs. */
async function* record(store: Store, lease: Lease, run: string): Process {
  yield* recordOwn(store, lease, run)
  if (run === lease.run) yield* recordOwn(store, lease, childOf(run))
}

async function* recordOwn(store: Store, lease: Lease, run: string): Process {
  const told = await tell(store, run)
  const taken = (await store.inbox(run)).map(({ id }) => id)
  if (told !== undefined && taken.length > 0 && !isEnded(told.status)) {
    yield* append(
      store,
      lease,
      run,
      taken.map(() => 'answered' as const),
      taken,
    )
  }
}

/** Whether it is completed: not while a message waits. */
async function* complete(store: Store, lease: Lease, run: string): AsyncGenerator<void, boolean> {
  try {
    yield* append(store, lease, run, ['completed'])
    return true
  } catch (error) {
    unless('INBOX_WAITING')(error)
    yield* record(store, lease, run)
    return false
  }
}

async function* append(store: Store, lease: Lease, run: string, types: readonly Note[], taken: string[] = []): Process {
  const told = (await tell(store, run)) as Told
  const { last } = told
  for (const type of types) note(told, type)
  const isStep = types.includes('step')
  const due = dueAt(told as Partial<RunState> as RunState)
  const listed: Pick<Batch, 'row' | 'due'> = { row: rowOf(told), ...(due === undefined ? {} : { due }) }
  await store.append(lease, last, { ...notes(last, types), run, taken, ...(isStep ? { progress: true } : listed) })
  yield
}

function rowOf({ run, status }: Told): RunRow {
  return row(run, { status })
}

function notes(after: number, types: readonly Note[]): Batch {
  const { lines } = batch(after + 1, types.length)
  return {
    lines: lines.map(({ seq }, index) => ({ seq, bytes: Buffer.from(JSON.stringify({ seq, note: types[index] })) })),
  }
}

function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!RepriseError.isInstance(error) || error.code !== code) throw error
  }
}
