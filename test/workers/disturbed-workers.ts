// Many runs in several workers that are disturbed until all runs have ended, compared with undisturbed runs. Effects
// are counted in a file outside of these processes, steps in the journals.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { RepriseError, type Run } from 'reprise'
import { openStore, type Store } from 'reprise/stores'
import type { Dispatcher } from 'reprise/workers'
import { readRun } from '../../src/read/read-run.ts'
import { isStep } from '../../src/journal/table/entry-table.ts'
import { entriesOf } from '../engine/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import type { ServerKind } from '../support/servers/server-program.ts'
import { startRestate, type RestateCluster } from '../support/restate/restate-cluster.ts'
import { storePlace, type StoreKind } from '../support/store-place.ts'
import { startFleet, type Fleet, type FleetOptions } from './fleet.ts'
import { claims, crashing, killedCrew, slow, stepsOfRun } from './killed-crew.ts'
import { fullDisk, killedServer, type Troubled } from './outages.ts'

export interface Disturbance extends Pick<FleetOptions, 'processes' | 'concurrency' | 'program' | 'between'> {
  readonly store: StoreKind
  /** A dispatcher that is woken for every second run when the run is queued. */
  readonly dispatcher?: Dispatcher
  readonly runs: number
  /** How many of the runs end their process each time they are claimed. */
  readonly crashing?: number | undefined
  /** What happens to the server. Default: nothing. */
  readonly server?: 'killed' | 'disk full' | undefined
  /**
   * Restate calls the workers, from a cluster of this many nodes. If there are several, each is killed in turn.
   */
  readonly restateNodes?: number | undefined
}

/** All but the first seven must be 0, or a promise is broken. */
export interface Disturbed {
  readonly completed: number
  /** How often a run ended its worker, and how many of these runs were given up: all of them must be. */
  readonly crashes: number
  readonly givenUp: number
  readonly effects: number
  readonly kills: number
  readonly outages: number
  readonly seconds: number
  readonly failed: number
  readonly lost: number
  /** Runs whose outputs differ from those of an undisturbed run. */
  readonly different: number
  /** Superfluous and missing steps in journals. */
  readonly steps: number
  /** Effects that happened twice, or for an unknown run; and effects that did not happen. */
  readonly repeated: number
  readonly missing: number
}

export async function disturbedWorkers({
  store: kind,
  runs,
  crashing: culprits = 0,
  server,
  restateNodes,
  dispatcher,
  ...fleetOptions
}: Disturbance): Promise<Disturbed> {
  await using folder = await temporaryFolder()
  await using restate = restateNodes === undefined ? undefined : await startRestate(restateNodes)
  await using trouble = server === undefined ? undefined : await troubled(kind as ServerKind, server)
  await using place = trouble ?? (await storePlace(kind, folder.path))
  const ledger = join(folder.path, 'ledger')
  await using crew = killedCrew(place.url, ledger)
  const ids = (culprits > 0 ? slow : claims).slice(0, runs - culprits)
  const fatal = crashing.slice(0, culprits)
  // early, so that they are in progress together with others
  const queue = [...ids.slice(0, 3), ...fatal, ...ids.slice(3)]
  await using telling = dispatcher ? crew.with({ dispatcher }) : crew
  for (const [index, id] of queue.entries())
    await (index % 2 === 0 ? crew : telling).enqueue({ id, inputs: { claim: id } })

  const begun = performance.now()
  const store = await openStore(place.url)
  const fleet = await startFleet({ place: place.url, ledger, restate, crashes: culprits > 0, ...fleetOptions })
  const disturbed = trouble && disturbServer(trouble, fleet, runs)
  const nodes = restate && restate.nodes.length > 1 ? killNodes(restate, fleet, runs) : undefined
  await fleet.untilDone(() =>
    whenThere(async () => {
      for await (const { runId } of crew.runs({ status: 'waiting' })) await settleDoubts(crew.run(runId), ledger)
      const open = await Array.fromAsync(
        crew.runs({ status: ['queued', 'running', 'abandoned', 'waiting', 'stopped'] }),
      )
      for (const { runId } of open) if (!(await isGivenUp(store, runId))) return false
      return true
    }),
  )
  const outages = ((await disturbed) ?? 0) + ((await nodes) ?? 0)
  const seconds = (performance.now() - begun) / 1_000

  await using undisturbed = killedCrew('memory:', `${ledger}-undisturbed`)
  const counts = { completed: 0, failed: 0, lost: 0, different: 0, steps: 0 }
  const expecting = ids.map((id) => undisturbed.kickoff({ id, inputs: { claim: id } }))
  for (const [index, expected] of (await Promise.all(expecting)).entries()) {
    const id = ids[index] ?? ''
    const { status } = (await store.row(id)) ?? { status: 'lost' }
    if (status === 'completed') counts.completed++
    else if (status === 'failed') counts.failed++
    else counts.lost++
    if (status !== 'completed') continue
    if (!isDeepStrictEqual(outputs(await crew.run(id).result()), outputs(expected))) counts.different++
    const entries = await entriesOf(store, id)
    counts.steps += Math.abs(entries.filter(isStep).length - stepsOfRun)
  }
  const given = await Promise.all(fatal.map((id) => isGivenUp(store, id)))
  await store.close()
  // without the idempotency keys, which differ from store to store
  const [happened, should] = [ledger, `${ledger}-undisturbed`].map((file) =>
    linesOf(file).map((line) => line.slice(0, line.lastIndexOf(' '))),
  ) as [string[], string[]]
  const repeated = happened.length - new Set(happened).size + happened.filter((line) => !should.includes(line)).length
  const missing = should.filter((line) => !happened.includes(line)).length
  const endings = { crashes: fleet.crashes(), givenUp: given.filter(Boolean).length, kills: fleet.kills(), outages }
  return { ...counts, ...endings, effects: happened.length, seconds, repeated, missing }
}

/** Disturbs evenly during the first two thirds of the work. Returns how often. */
async function disturbServer(place: Troubled, fleet: Fleet, runs: number): Promise<number> {
  for (let time = 0; time < place.times; time++) {
    const at = (runs * stepsOfRun * (time + 0.5) * 2) / (place.times * 3)
    while (fleet.steps() < at) await wait(10)
    fleet.storeIsAway(true)
    await place.trouble()
    fleet.storeIsAway(false)
  }
  return place.times
}

/** Kills each node in turn, for two seconds, during the first two thirds of the work. Returns how often. */
async function killNodes({ nodes }: RestateCluster, fleet: Fleet, runs: number): Promise<number> {
  for (const [index, node] of nodes.entries()) {
    const at = (runs * stepsOfRun * (index + 0.5) * 2) / (nodes.length * 3)
    while (fleet.steps() < at) await wait(10)
    await node.kill()
    await wait(2_000)
    await node.start()
  }
  return nodes.length
}

function troubled(kind: ServerKind, what: 'killed' | 'disk full'): Promise<Troubled> {
  return what === 'killed' ? killedServer(kind) : fullDisk(kind)
}

/** Retries while the server is away. */
async function whenThere(look: () => Promise<boolean>): Promise<boolean> {
  try {
    return await look()
  } catch (error) {
    if (RepriseError.isInstance(error) && ['STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN'].includes(error.code)) return false
    throw error
  }
}

/** Whether workers have given up on the run. */
async function isGivenUp(store: Store, run: string): Promise<boolean> {
  const { state } = await readRun(store, run)
  return state.suspended?.reason === 'takeovers'
}

/** Answers questions about calls in doubt, as a person would: the ledger tells whether the call happened. */
async function settleDoubts(run: Run, ledger: string): Promise<void> {
  for (const question of (await run.view()).questions) {
    if (question.kind !== 'doubt') continue
    const happened = linesOf(ledger).some((line) => line.startsWith(`${run.id} ${question.tool} `))
    const answer = happened ? { decision: 'happened' as const, result: 'found' } : { decision: 'run' as const }
    await run.answer(question.id, answer).catch(unlessAnswered)
  }
}

/** Ignores the error that the question has been answered already. */
function unlessAnswered(error: unknown): void {
  if (!RepriseError.isInstance(error) || error.code !== 'QUESTION_ANSWERED') throw error
}

function outputs({ tasks }: { readonly tasks: readonly { readonly raw: string }[] }): string[] {
  return tasks.map(({ raw }) => raw)
}

/** The effects, by run, tool and key. */
function linesOf(ledger: string): string[] {
  return existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1) : []
}
