// Random sequences of operations against the simplest possible model of a store: after every step the store must
// answer, and at the end hold, exactly what the model does.
import assert from 'node:assert/strict'
import { RepriseError } from '../../errors.ts'
import type { Batch, Lease, Message, RunRow, RunStatus, Store } from '../../stores/store.ts'
import { claim, elsewhere, linesOf, row, ttlMs, withScene, type StoreUnderTest } from './harness.ts'

const runIds = ['r1', 'r/2'] as const
const statuses = ['queued', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const

type RunName = (typeof runIds)[number]
type Operation =
  | { readonly do: 'create'; readonly run: RunName; readonly lines: Uint8Array[]; readonly owner: number | null }
  | {
      readonly do: 'append'
      readonly run: RunName
      /** Counted from the newest lease: 0 is the one that is valid, if it was not released. */
      readonly lease: number
      readonly off: number
      readonly lines: Uint8Array[]
      readonly status: RunStatus | null
      readonly taken: string[]
    }
  | { readonly do: 'acquire'; readonly run: RunName; readonly owner: number }
  | { readonly do: 'release' | 'renew'; readonly run: RunName; readonly lease: number }
  | { readonly do: 'post'; readonly run: RunName; readonly id: string }
  | { readonly do: 'delete'; readonly run: RunName }

interface ModelRun {
  row: RunRow
  lines: Uint8Array[]
  messages: Message[]
  taken: Set<string>
  held: Lease | undefined
}

/** Every lease ever given of a run is kept, even after the run: those of a deleted run must stay worthless. */
interface Model {
  readonly runs: Map<string, ModelRun>
  readonly leases: Map<string, Lease[]>
}

export function modelContract(under: StoreUnderTest): void {
  claim('behaves like a plain model under random operations', under, async () => {
    const fc = await loadFastCheck()
    const run = fc.constantFrom(...runIds)
    const lines = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 20 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    )
    const owner = fc.nat({ max: 1 })
    const lease = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 2 }) })
    const id = fc.constantFrom('a', 'b', 'c')
    const operation: import('fast-check').Arbitrary<Operation> = fc.oneof(
      fc.record({ do: fc.constant('create' as const), run, lines, owner: fc.option(owner) }),
      fc.record({
        do: fc.constant('append' as const),
        run,
        lease,
        off: fc.constantFrom(0, 0, 0, 0, 1, -1),
        lines,
        status: fc.option(fc.constantFrom(...statuses)),
        taken: fc.uniqueArray(id, { maxLength: 2 }),
      }),
      fc.record({ do: fc.constant('acquire' as const), run, owner }),
      fc.record({ do: fc.constantFrom('release' as const, 'renew' as const), run, lease }),
      fc.record({ do: fc.constant('post' as const), run, id }),
      fc.record({ do: fc.constant('delete' as const), run }),
    )
    const sequences = fc.array(operation, { maxLength: 25, size: 'max' })
    await fc.assert(
      fc.asyncProperty(sequences, (operations) => withScene(under, ({ store }) => compare(store, operations))),
      { numRuns: 60 },
    )
  })
}

async function compare(store: Store, operations: readonly Operation[]): Promise<void> {
  const model: Model = { runs: new Map(), leases: new Map(runIds.map((run) => [run, []])) }
  for (const operation of operations) await step(store, model, operation)
  for (const run of runIds) {
    const expected = model.runs.get(run)
    const found = await linesOf(store, run)
    assert.deepEqual(
      found.map(({ seq, bytes }) => [seq, Buffer.from(bytes).toString('hex')]),
      (expected?.lines ?? []).map((bytes, index) => [index + 1, Buffer.from(bytes).toString('hex')]),
    )
    assert.deepEqual(await store.row(run), expected?.row)
    assert.deepEqual(await store.holder(run), expected?.held?.owner)
    assert.deepEqual(await store.inbox(run), waiting(expected))
  }
  const { rows } = await store.list({}, { limit: 10 })
  assert.deepEqual(rows.map((found) => found.run).toSorted(), [...model.runs.keys()].toSorted())
}

async function step(store: Store, model: Model, operation: Operation): Promise<void> {
  const expected = model.runs.get(operation.run)
  const given = model.leases.get(operation.run) ?? []
  switch (operation.do) {
    case 'create': {
      const lease = operation.owner === null ? undefined : { owner: elsewhere(`box${operation.owner}`), ttlMs }
      const result = await store.create(row(operation.run), { lines: numbered(operation.lines, 0) }, lease)
      assert.equal(result.created, expected === undefined)
      if (expected !== undefined) return
      assert.equal(result.lease === undefined, lease === undefined)
      given.push(...(result.lease ? [result.lease] : []))
      model.runs.set(operation.run, {
        row: row(operation.run),
        lines: [...operation.lines],
        messages: [],
        taken: new Set(),
        held: result.lease,
      })
      return
    }
    case 'append': {
      const lease = given.at(-1 - operation.lease)
      if (lease === undefined) return
      const last = expected?.lines.length ?? 0
      const after = Math.max(0, last + operation.off)
      const changed = operation.status && row(operation.run, { status: operation.status })
      const batch: Batch = {
        lines: numbered(operation.lines, after),
        ...(changed ? { row: changed } : {}),
        taken: operation.taken,
      }
      const code = await codeOf(store.append(lease, after, batch))
      if (expected === undefined || expected.held?.token !== lease.token) return assert.equal(code, 'LEASE_LOST')
      if (after !== last) return assert.equal(code, 'SEQ_CONFLICT')
      if (isShut(expected.row.status, operation.status)) return assert.equal(code, 'RUN_ENDED')
      const left = waiting(expected).some((message) => !operation.taken.includes(message.id))
      if (operation.status === 'completed' && left) return assert.equal(code, 'INBOX_WAITING')
      assert.equal(code, undefined)
      expected.lines.push(...operation.lines)
      if (changed) expected.row = changed
      // Only what is in the inbox can leave it: an id that was never posted stays free.
      for (const id of operation.taken)
        if (expected.messages.some((message) => message.id === id)) expected.taken.add(id)
      return
    }
    case 'acquire': {
      const owner = elsewhere(`box${operation.owner}`)
      if (expected === undefined) {
        return assert.equal(await codeOf(store.acquire(operation.run, owner, ttlMs)), 'RUN_NOT_FOUND')
      }
      if (expected.held !== undefined && expected.held.owner.host !== owner.host) {
        return assert.equal(await codeOf(store.acquire(operation.run, owner, ttlMs)), 'RUN_HELD')
      }
      const lease = await store.acquire(operation.run, owner, ttlMs)
      assert.ok(given.every((earlier) => earlier.token < lease.token))
      given.push(lease)
      expected.held = lease
      return
    }
    case 'release':
    case 'renew': {
      const lease = given.at(-1 - operation.lease)
      if (lease === undefined) return
      const isHeld = expected?.held?.token === lease.token
      if (operation.do === 'renew') {
        return assert.deepEqual(await store.renew([lease], ttlMs), isHeld ? [lease] : [])
      }
      await store.release(lease)
      if (isHeld) expected.held = undefined
      return
    }
    case 'post': {
      const message = { id: operation.id, at: '2030-01-01T00:00:00.000Z', body: operation.id }
      if (expected === undefined) {
        return assert.equal(await codeOf(store.post(operation.run, message)), 'RUN_NOT_FOUND')
      }
      const result = await store.post(operation.run, message)
      if (expected.messages.some(({ id }) => id === message.id)) return assert.equal(result, 'exists')
      if (['completed', 'cancelled'].includes(expected.row.status)) return assert.equal(result, 'ended')
      assert.equal(result, 'posted')
      expected.messages.push(message)
      return
    }
    case 'delete': {
      const code = await codeOf(store.delete(operation.run))
      if (expected?.held !== undefined) return assert.equal(code, 'RUN_HELD')
      assert.equal(code, undefined)
      model.runs.delete(operation.run)
      return
    }
    default:
      operation satisfies never
  }
}

/** A status that isn't an end opens a completed run again; a cancelled one stays cancelled. */
function isShut(status: RunStatus, next: RunStatus | null): boolean {
  if (status === 'cancelled') return true
  return status === 'completed' && (next === null || next === 'completed' || next === 'cancelled')
}

function numbered(lines: readonly Uint8Array[], after: number): Batch['lines'] {
  return lines.map((bytes, index) => ({ seq: after + 1 + index, bytes }))
}

function waiting(run: ModelRun | undefined): Message[] {
  return run?.messages.filter((message) => !run.taken.has(message.id)) ?? []
}

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    if (RepriseError.isInstance(error)) return error.code
    throw error
  }
}

async function loadFastCheck(): Promise<typeof import('fast-check')> {
  try {
    return await import('fast-check')
  } catch (error) {
    throw new Error('the store contract needs fast-check: npm install --save-dev fast-check', { cause: error })
  }
}
