// Shared by the parts of the contract: a store per test with its own clock, and short forms of rows and batches.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { RepriseError, type ErrorCode } from '../../base/errors.ts'
import { currentOwner } from '../../stores/owner.ts'
import type {
  Batch,
  Lane,
  Lease,
  Line,
  Message,
  Owner,
  ClaimLimits,
  RunId,
  RunRow,
  RunStatus,
  Store,
} from '../../stores/store.ts'

/**
 * Parts of the contract that a store may have a reason to skip. `suspects`: an owner gets at most one run whose last
 * holder died.
 */
export type Feature = 'clock' | 'reopen' | 'takeover' | 'watch' | 'large' | 'order' | 'crewLimit' | 'suspects'

export interface Place {
  /** The clock of the test, for stores that accept one. */
  readonly now: () => number
  /** Registers a cleanup for the end of the test, after the store is closed. */
  readonly onEnd: (cleanup: () => Promise<void> | void) => void
}

/** The part of a test runner that the contract uses; node:test, vitest and bun:test have it. */
export interface TestRunner {
  readonly describe: (title: string, body: () => void) => unknown
  readonly test: {
    (title: string, body: () => Promise<void>): unknown
    readonly skip: (title: string, body: () => Promise<void>) => unknown
  }
}

export interface StoreUnderTest {
  /** Opens a new, empty store. */
  readonly open: (place: Place) => Promise<Store> | Store
  /** Reopens a closed store. Omit it if nothing outlives a close. */
  readonly reopen?: (closed: Store, place: Place) => Promise<Store> | Store
  readonly skip?: { readonly [feature in Feature]?: string }
  /** The `{ describe, test }` of the test runner. Default: node:test. */
  readonly runner?: TestRunner
}

export interface Scene {
  readonly store: Store
  readonly place: Place
  /** Moves the store's clock. */
  readonly pass: (ms: number) => void
  readonly reopen: (store: Store) => Promise<Store>
}

export const ttlMs = 30_000

/** Loads node:test only for a suite: runtimes that lack it can still use the scripted model. */
export function runnerOf({ runner }: StoreUnderTest): TestRunner {
  return runner ?? process.getBuiltinModule('node:test')
}

type Body = (scene: Scene) => Promise<void>

/** Declares a test with its own store. */
export function check(title: string, under: StoreUnderTest, body: Body): void {
  runnerOf(under).test(title, () => withScene(under, body))
}

/** Declares a test of a feature that a store may skip. */
export function checkIf(feature: Feature, title: string, under: StoreUnderTest, body: Body): void {
  const missing = feature === 'reopen' && under.reopen === undefined ? 'the store keeps nothing' : undefined
  const skip = under.skip?.[feature] ?? missing
  if (skip === undefined) check(title, under, body)
  else runnerOf(under).test.skip(`${title} (skipped: ${skip})`, () => withScene(under, body))
}

/** Executes `body` with a new store. `still`: only the test moves the clock. */
export async function withScene(
  under: StoreUnderTest,
  body: Body,
  { still = false }: { readonly still?: boolean } = {},
): Promise<void> {
  const cleanups: (() => Promise<void> | void)[] = []
  let passed = 0
  const start = Date.now()
  const place: Place = {
    now: () => (still ? start : Date.now()) + passed,
    onEnd: (cleanup) => void cleanups.unshift(cleanup),
  }
  const opened: Store[] = []
  try {
    const store = await under.open(place)
    opened.push(store)
    await body({
      store,
      place,
      pass: (ms) => void (passed += ms),
      async reopen(closed) {
        assert.ok(under.reopen, 'the store cannot be reopened')
        const again = await under.reopen(closed, place)
        opened.push(again)
        return again
      },
    })
  } finally {
    for (const store of opened) await store.close()
    for (const cleanup of cleanups) await cleanup()
  }
}

export const startOfTime: number = Date.parse('2030-01-01T00:00:00.000Z')

export function row(run: RunId, fields: Partial<RunRow> & { status?: RunStatus } = {}): RunRow {
  const at = new Date(startOfTime).toISOString()
  return {
    run,
    crew: 'claims',
    version: '1',
    format: 1,
    priority: 0,
    status: 'running',
    createdAt: at,
    updatedAt: at,
    inputs: '{}',
    summary: '{"tasks":2}',
    ...fields,
  }
}

/** A batch of JSON entries that begins at `from`, as the engine writes them. */
export function batch(from: number, count = 1, more: Omit<Batch, 'lines'> = {}): Batch {
  const lines = Array.from({ length: count }, (_, index) => entry(from + index))
  return { lines, ...more }
}

export function entry(seq: number, text = `entry ${seq}`): Line {
  return { seq, bytes: Buffer.from(JSON.stringify({ v: 1, seq, type: 'model.replied', text })) }
}

/** The lane of rows that `row` returns. */
export const lane: Lane = { crew: 'claims', version: '1', format: 1 }

/** Creates a running run with one entry, and returns its lease. */
export async function started(store: Store, run: RunId, owner: Owner = currentOwner()): Promise<Lease> {
  const { created, lease } = await store.create(row(run), batch(1, 1, { due: 'now' }), { owner, ttlMs })
  assert.ok(created && lease, `run ${run} was not created`)
  return lease
}

/** Creates a run with one entry and no holder. */
export async function add(store: Store, run: RunId, fields: Partial<RunRow>, due?: Batch['due']): Promise<void> {
  await store.create(row(run, fields), batch(1, 1, due === undefined ? {} : { due }))
}

export async function linesOf(store: Store, run: RunId, after?: number): Promise<Line[]> {
  const lines = await Array.fromAsync(store.read(run, after))
  return lines.map(({ seq, bytes }) => ({ seq, bytes: Buffer.from(bytes) }))
}

export async function seqsOf(store: Store, run: RunId, after?: number): Promise<number[]> {
  const lines = await linesOf(store, run, after)
  return lines.map((line) => line.seq)
}

/** Claims runs, and returns their ids. */
export async function claimed(
  store: Store,
  limit = 10,
  owner: Owner = currentOwner(),
  lanes: readonly Lane[] = [lane],
  limits: Omit<ClaimLimits, 'limit'> = {},
): Promise<RunId[]> {
  const leases = await store.claim(owner, ttlMs, lanes, { limit, ...limits })
  return leases.map((lease) => lease.run)
}

export function message(id: string, body = '{}'): Message {
  return { id, at: '2030-01-01T00:00:00.000Z', body }
}

export async function refused(promise: Promise<unknown>, code: ErrorCode, words?: RegExp): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(RepriseError.isInstance(error), `${String(error)} is not a RepriseError`)
    assert.equal(error.code, code)
    if (words !== undefined) assert.match(error.message, words)
    return true
  })
}

/** An owner on another machine, which can't be found dead from here. */
export function elsewhere(host: string): Owner {
  return { host: `${host}.example`, boot: 'b', pid: 4242, start: '1', instance: 'i' }
}

/** An owner of this machine whose process has ended. */
export function deadOwner(): Owner {
  const { pid } = spawnSync(process.execPath, ['--version'])
  return { ...currentOwner(), pid, start: '1' }
}
