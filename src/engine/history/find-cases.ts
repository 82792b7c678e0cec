// Finds the cases of a backtest, in the newest runs of a crew or in named ones.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import { allRows } from '../../read/all-rows.ts'
import { checkReadable, readRun } from '../../read/read-run.ts'
import type { Store } from '../../stores/store.ts'
import type { CrewDefinition, Engine, FlowDefinition, TaskDefinition } from '../definition.ts'
import { dryPass, type DryPass } from '../plan/dry-pass.ts'
import { readCase, type PassedCase, type StoredCase } from './backtest-case.ts'
import { casesInFlow, type CasePlace, type CaseReader, type PassOver } from './step-cases.ts'

/** At most this many runs are examined per requested case. */
const runsPerCase = 10
/** Each holds the state of a run. */
const cachedPasses = 10

async function passOverRun(
  { store, world }: Pick<Engine, 'store' | 'world'>,
  crew: CrewDefinition,
  flow: FlowDefinition,
  run: string,
  stopAt?: string,
): Promise<DryPass> {
  const { state } = await readRun(store, run)
  checkReadable(state, crew.name)
  return dryPass(world, crew, flow, state, { compared: 'kind', ...defined({ stopAt }) })
}

/**
 * Finds cases: of `wanted` of the newest runs, or of the named runs. A run may have several, such as the keys of a
 * step. Rejects with OPTION_INVALID for a wait of a flow.
 */
export async function* findCases(
  { store, world }: Pick<Engine, 'store' | 'world'>,
  crew: CrewDefinition,
  address: string,
  wanted: number | readonly string[],
): AsyncGenerator<StoredCase | PassedCase> {
  const named = typeof wanted !== 'number'
  // keys that a run has inherited are all cases of the same earlier run
  const passes = new Map<string, Promise<DryPass>>()
  const passOver: PassOver = (of, flow, run) => {
    const known = passes.get(run)
    if (known) return known
    const pass = passOverRun({ store, world }, of, flow, run).then((dry) => {
      dry[Symbol.dispose]()
      return dry
    })
    if (passes.size === cachedPasses) passes.clear()
    passes.set(run, pass)
    return pass
  }
  const known = new Set<string>()
  let found = 0
  let examined = 0
  for await (const runId of named ? wanted : newest(store, crew.name)) {
    if (!named && (found >= wanted || examined++ >= wanted * runsPerCase)) return
    const cases = await casesOf({ store, passOver }, crew, { run: runId, address }).catch((error: unknown) => {
      if (named || (RepriseError.isInstance(error) && error.code === 'OPTION_INVALID')) throw error
      return [{ runId, reason: messageOf(error) }]
    })
    const before = known.size
    for (const one of cases) {
      const key = 'state' in one ? `${one.runId} ${one.address}` : ''
      if (!('state' in one)) yield one
      else if (known.has(key)) yield { runId, reason: `its ${one.address} comes from run ${one.runId}` }
      else {
        known.add(key)
        yield one
      }
    }
    if (known.size > before) found += 1
  }
}

async function* newest(store: Store, crew: string): AsyncGenerator<string> {
  for await (const { run } of allRows(store, { crew })) yield run
}

/**
 * Reads one case, and calls `use` with it while the function of its step may be called. Returns undefined if there is
 * no such case any more.
 */
export async function withCase<Result>(
  { store, world }: Pick<Engine, 'store' | 'world'>,
  crew: CrewDefinition,
  { runId, address }: Pick<StoredCase, 'runId' | 'address'>,
  use: (stored: StoredCase) => Promise<Result>,
): Promise<Result | undefined> {
  using passes = new DisposableStack()
  const passOver: PassOver = async (of, flow, run, step) =>
    passes.use(await passOverRun({ store, world }, of, flow, run, step))
  const cases = await casesOf({ store, passOver }, crew, { run: runId, address })
  const stored = cases.find((one) => 'state' in one && one.address === address)
  return stored && 'state' in stored ? use(stored) : undefined
}

async function casesOf(
  reader: CaseReader,
  crew: CrewDefinition,
  place: CasePlace,
): Promise<readonly (StoredCase | PassedCase)[]> {
  if (crew.flow) return casesInFlow(reader, crew, crew.flow, place)
  const task = crew.tasks.find(({ name }) => name === place.address) as TaskDefinition
  const found = await readCase(reader.store, place.run, crew, task)
  return [typeof found === 'string' ? { runId: place.run, reason: found } : found]
}
