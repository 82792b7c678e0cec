// Random histories of small crews: workers, people who answer, kills and time. At the end of each, every run that could
// advance is ready for a worker. The same histories detect each way in which a store could lose a wake.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memoryStore, type Owner, type ReadyRun, type Store } from 'reprise/stores'
import { isEnded } from '../../src/journal/state/state.ts'
import { elsewhere, lane, ttlMs } from '../../src/testing/store-contract/harness.ts'
import { childOf, createRun, poster, roots, tell, worker, type Process } from './crew-simulation.ts'
import { mutants, withReadyRule, type Mutant } from './ready-mutants.ts'

type Event =
  | { readonly is: 'work' }
  | { readonly is: 'answer'; readonly root: number; readonly child: boolean; readonly records: boolean }
  | { readonly is: 'go on' | 'kill'; readonly who: number }
  | { readonly is: 'time'; readonly ms: number }

/** So that no run is claimed more often than a store offers it. */
const mostWorkers = 8
const hour = 3_600_000

const history = fc.array(
  fc.oneof<{ weight: number; arbitrary: fc.Arbitrary<Event> }[]>(
    { weight: 3, arbitrary: fc.constant({ is: 'work' as const }) },
    {
      weight: 3,
      arbitrary: fc.record({
        is: fc.constant('answer' as const),
        root: fc.nat({ max: 1 }),
        child: fc.boolean(),
        records: fc.boolean(),
      }),
    },
    { weight: 20, arbitrary: fc.record({ is: fc.constant('go on' as const), who: fc.nat({ max: 5 }) }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('kill' as const), who: fc.nat({ max: 5 }) }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('time' as const), ms: fc.constantFrom(1, 1_000, ttlMs + 1) }) },
  ),
  { maxLength: 90, size: 'max' },
)

type MakeStore = (now: () => number) => Store
/** Takes up what there is, once. */
type TakeUp = (store: Store, owner: Owner) => Process

/** Reads the ready runs and sends a worker to each, like an outbox. */
async function* sweep(store: Store, owner: Owner): Process {
  const ready = await store.ready([lane], 100)
  yield
  for (const { run } of ready) yield* worker(store, owner, run)
}

test('no history leaves a run that could advance without a worker', async () => {
  await fc.assert(
    losesNoWake((now) => memoryStore({ now })),
    { numRuns: 250 },
  )
})

test('no history leaves such a run when workers claim only what a sweep reports as ready', async () => {
  await fc.assert(
    losesNoWake((now) => memoryStore({ now }), sweep),
    { numRuns: 250 },
  )
})

test('the histories detect a sweep that misses runs with a message', async () => {
  const found = await fc.check(
    losesNoWake((now) => {
      const store = memoryStore({ now })
      const isSilent = async ({ run }: ReadyRun): Promise<boolean> => (await store.inbox(run)).length === 0
      return {
        ...store,
        async ready(...given) {
          const ready = await store.ready(...given)
          const silent = await Promise.all(ready.map(isSilent))
          return ready.filter((_, index) => silent[index])
        },
      }
    }, sweep),
    { numRuns: 1_000, endOnFailure: true },
  )
  assert.match(String(found.errorInstance), /could advance without a worker/)
})

test('the reference rule of the mutants, unchanged, loses no wake either', async () => {
  await fc.assert(
    losesNoWake((now) => withReadyRule(memoryStore({ now }), now)),
    { numRuns: 100 },
  )
})

for (const mutant of Object.keys(mutants) as Mutant[]) {
  test(`the histories detect that ${mutant}`, async () => {
    const found = await fc.check(
      losesNoWake((now) => withReadyRule(memoryStore({ now }), now, mutant)),
      {
        numRuns: 5_000,
        endOnFailure: true,
      },
    )
    assert.ok(found.failed, `${found.numRuns} histories lost nothing`)
    assert.match(String(found.errorInstance), /could advance without a worker/)
  })
}

function losesNoWake(make: MakeStore, takeUp: TakeUp = worker): fc.IAsyncProperty<[Event[]]> {
  return fc.asyncProperty(history, async (events) => {
    let now = 1_000_000
    const store = make(() => now)
    for (const root of roots) await createRun(store, root)
    await happen(store, events, takeUp, (ms) => (now += ms))
    await drain(store, takeUp, (ms) => (now += ms))
    for (const root of roots) assert.ok(!(await couldAdvance(store, root)), `${root} could advance without a worker`)
  })
}

async function happen(
  store: Store,
  events: readonly Event[],
  takeUp: TakeUp,
  pass: (ms: number) => void,
): Promise<void> {
  const living: Process[] = []
  let born = 0
  let workers = 0
  for (const event of events) {
    const owner = elsewhere(`box${born}`)
    if (event.is === 'time') pass(event.ms)
    else if (event.is === 'work' && workers++ < mostWorkers) living.push(takeUp(store, owner))
    else if (event.is === 'answer') {
      const root = roots[event.root] ?? roots[0]
      living.push(poster(store, owner, event.child ? childOf(root) : root, `m${born}`, event.records))
    } else if (event.is === 'kill') living.splice(event.who % Math.max(living.length, 1), 1)
    else if (event.is === 'go on' && living.length > 0) {
      const who = event.who % living.length
      if (!(await goesOn(living[who] as Process))) living.splice(who, 1)
    }
    born++
  }
}

/** One call more; one whose lease was lost ends there. */
async function goesOn(process: Process): Promise<boolean> {
  try {
    return (await process.next()).done !== true
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'LEASE_LOST')
    return false
  }
}

/** Kills all processes. Then one worker claims every ready run until none is left. */
async function drain(store: Store, takeUp: TakeUp, pass: (ms: number) => void): Promise<void> {
  for (let round = 0; round < 40; round++) {
    pass(hour)
    let calls = 0
    for await (const _ of takeUp(store, elsewhere(`last${round}`))) calls++
    if (calls === 1) return
  }
  assert.fail('runs are offered for ever')
}

/** Decides from entries and messages alone, without the store's own state. */
async function couldAdvance(store: Store, run: string): Promise<boolean> {
  const root = await tell(store, run)
  const child = await tell(store, childOf(run))
  if (root === undefined || isEnded(root.status)) return false
  const mail = [run, ...(child === undefined || isEnded(child.status) ? [] : [childOf(run)])]
  for (const each of mail) if ((await store.inbox(each)).length > 0) return true
  if (root.status !== 'suspended') return true
  if (root.suspended?.reason === 'questions') return root.answers > 0
  return child !== undefined && (child.answers > 0 || isEnded(child.status))
}
