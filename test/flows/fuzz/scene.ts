// What outlives the processes of a history: the store, the time, the ledger of effects, and the folded journals. Also
// collects the problems found.
import type { Entry } from '../../../src/journal/entries.ts'
import type { Json } from '../../../src/journal/json.ts'
import type { Batch, Store } from '../../../src/stores/store.ts'
import type { Settlement } from '../../../src/tools/tool.ts'
import { randomOf, type Random } from '../../storm/random.ts'
import { virtualTime, type VirtualTime } from '../../support/virtual-time.ts'
import { Journal, type Delivery } from './journal.ts'
import type { Block, FlowNode, RequestNode } from './program.ts'
import { nodesOf } from './program.ts'
import { startProcess, type Death, type Process } from './process.ts'

/** A call of the function of a step. */
interface Call {
  readonly idempotencyKey: string
  readonly attempt: number
  /** Set once the effect has happened. */
  effect: { readonly result: Json } | undefined
}

/** One call of the function of a flow. */
export interface Pass {
  readonly run: string
  readonly process: Process
  /** The last entry before it began. */
  readonly after: number
  readonly deliveries: Delivery[]
}

export interface Scene {
  readonly program: Block
  readonly nodes: ReadonlyMap<string, RequestNode>
  readonly time: VirtualTime
  readonly random: Random
  readonly store: Store
  readonly problems: Set<string>
  readonly passes: Pass[]
  readonly ledger: Ledger
  /** The random numbers that runs have received, by run and path. */
  readonly chances: Map<string, string>
  /** The number of events sent to the root, by name. */
  readonly sent: Map<string, number>
  journal(run: string): Journal
  journals(): ReadonlyMap<string, Journal>
  start(death?: Death): Process
}

export const root = 'r'

/** The maximum duration of a life, in virtual time. */
export const mostMs = 12 * 3_600_000

export async function openScene(
  program: Block,
  salt: number,
  open: (now: () => number) => Store | Promise<Store>,
): Promise<Scene> {
  const time = virtualTime()
  // keeps virtual time moving for work that has no timer
  const beat = (): void => void time.timer(1_000, beat)
  beat()
  const random = randomOf(salt)
  const journals = new Map<string, Journal>()
  const journal = (run: string): Journal => {
    const known = journals.get(run) ?? new Journal()
    journals.set(run, known)
    return known
  }
  const note = (run: string, { lines }: Batch): void => {
    for (const { bytes } of lines) journal(run).add(JSON.parse(Buffer.from(bytes).toString()) as Entry)
  }
  const inner = await open(time.now)
  const store: Store = {
    ...inner,
    async create(row, batch, lease) {
      const created = await inner.create(row, batch, lease)
      if (created.created) note(row.run, batch)
      return created
    },
    async append(lease, after, batch) {
      const waiting = await inner.append(lease, after, batch)
      note(batch.run ?? lease.run, batch)
      return waiting
    },
  }
  const named = nodesOf(program).flatMap((node) =>
    'uses' in node ? [[node.name, node] satisfies [string, RequestNode]] : [],
  )
  let processes = 0
  return {
    program,
    nodes: new Map(named),
    time,
    random,
    store,
    problems: new Set(),
    passes: [],
    ledger: new Ledger(),
    chances: new Map(),
    sent: new Map(),
    journal,
    journals: () => journals,
    start: (death) => startProcess({ number: ++processes, store, time, random, death }),
  }
}

/** The program of a run. The id of a child run ends with the name of its step, as in `r/f3[0]#1`. */
export function programOf({ program, nodes }: Scene, run: string): Block | undefined {
  if (run === root) return program
  const node = nodes.get(nameIn(run.split('/').at(-1) ?? ''))
  return node?.type === 'flow' ? (node satisfies FlowNode).body : undefined
}

/** The name of a request, in a path or an attempt. */
export function nameIn(path: string): string {
  return path.replace(/(?:\[.*\])?(?:#\d+)?$/, '')
}

/** Effects in the outside world, by run and path of the step. */
class Ledger {
  readonly #calls = new Map<string, Call[]>()
  readonly #executions = new Map<string, number>()
  readonly #effects = new Map<string, number>()
  readonly #approvals = new Map<string, number>()

  /** Counts an execution. Returns the count, from 1. */
  execute(place: string): number {
    const count = (this.#executions.get(place) ?? 0) + 1
    this.#executions.set(place, count)
    return count
  }

  begin(place: string, attempt: number, idempotencyKey: string): Call {
    const call: Call = { idempotencyKey, attempt, effect: undefined }
    this.#calls.set(place, [...(this.#calls.get(place) ?? []), call])
    return call
  }

  /** The calls of a step, oldest first. */
  calls(place: string): readonly Call[] {
    return this.#calls.get(place) ?? []
  }

  /** Answers `settle`: whether a call with this key has happened, and its result. */
  settlement(places: readonly string[], idempotencyKey: string): Settlement {
    const all = places.flatMap((place) => this.calls(place))
    const effect = all.findLast((call) => call.idempotencyKey === idempotencyKey)?.effect
    return effect ? { happened: true, result: effect.result } : { happened: false }
  }

  /** Records an effect; returns how often it has happened. */
  happen(place: string, input: string): number {
    const effect = JSON.stringify([place, input])
    const count = (this.#effects.get(effect) ?? 0) + 1
    this.#effects.set(effect, count)
    return count
  }

  /** Records that a person allowed a call to be repeated. */
  approve(place: string): void {
    this.#approvals.set(place, this.approvals(place) + 1)
  }

  approvals(place: string): number {
    return this.#approvals.get(place) ?? 0
  }
}
