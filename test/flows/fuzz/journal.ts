// Folds a journal into the steps of a flow, independently of the engine's fold, and replays a program from it. The
// program receives one result per turn: that with the lowest place among the requested steps.
import { setImmediate as turn } from 'node:timers/promises'
import type { Entry } from '../../../src/journal/entries.ts'
import type { Json } from '../../../src/journal/json.ts'
import { Broken, interpret, labelOf, pathOf, slept, textOf, timedOut, type Requests } from './interpret.ts'
import type { Block, RequestNode } from './program.ts'

export interface RecordedStep {
  readonly path: string
  /** The entry with its first result. */
  place: number | undefined
  /** When its value last changed, in ms since 1970. */
  at: number
  /** The last value, as text. */
  text: string | undefined
  /** Undefined until it has a result, and while it has to be executed again. */
  result: { readonly value: Json | undefined } | { readonly broken: string } | undefined
  /** The place of the last result that the flow had received when it first requested the step. */
  after: number | undefined
  /** How often its result was discarded: by a person, by a resume that retries it, or because its input changed. */
  version: number
  attempts: number
  /** Its result is from a person. */
  isGiven: boolean
  wait: string | undefined
  /** When a wait ends, in ms since 1970. */
  until: number | undefined
  /** The entry that first started it. */
  started: number | undefined
  /** The entry with the event that it received. */
  event: number | undefined
}

/** An entry that changed or discarded results: an edit, an invalidation, a resume that retries. */
interface Touch {
  readonly seq: number
  readonly paths: readonly string[]
}

export class Journal {
  readonly steps = new Map<string, RecordedStep>()
  readonly touches: Touch[] = []
  /** By entry number. `taken`: how often it was received. */
  readonly events = new Map<number, { readonly name: string; readonly id: string | undefined; taken: number }>()
  /** The events that steps have received, in the order of the journal. */
  readonly takenEvents: number[] = []
  /** Waits that ended too early. */
  readonly early: string[] = []
  /** Steps that the engine executes again because of changed inputs. */
  readonly restarted: string[] = []
  entries = 0
  status = ''
  given = ''
  createdAt = 0
  value: Json | undefined
  left: readonly string[] = []
  #lastAfter = 0
  #isFlow = false

  /** Whether a person or a resume has changed or discarded a result. */
  get isTouched(): boolean {
    return this.touches.length > 0
  }

  add(entry: Entry): void {
    const { seq } = entry
    const path = 'path' in entry ? entry.path : undefined
    this.entries = seq
    if (entry.type.startsWith('run.') && entry.type !== 'run.woken') this.status = entry.type.slice(4)
    switch (entry.type) {
      case 'run.created':
        this.given = textOf(entry.inputs['given'])
        this.createdAt = Date.parse(entry.at)
        this.#isFlow = entry.flow === true
        return
      case 'run.resumed':
        this.#retry(
          seq,
          this.#broken.filter((failed) => !this.#isFlow || entry.retry?.includes(failed)),
        )
        return
      case 'run.completed':
        this.value = entry.value
        this.left = entry.left ?? []
        return
      case 'event.received':
        this.events.set(seq, { name: entry.name, id: entry.id, taken: 0 })
        this.#eventValues.set(seq, entry.value)
        return
      case 'task.started': {
        if (isNested(path)) return
        const step = this.#step(path)
        if (entry.after !== undefined) {
          step.after ??= entry.after
          this.#lastAfter = Math.max(this.#lastAfter, entry.after)
        }
        step.attempts += 1
        step.isGiven = false
        step.wait = entry.wait
        step.until = entry.until === undefined ? undefined : Date.parse(entry.until)
        step.started ??= seq
        return
      }
      case 'tool.returned':
        if (entry.source === 'answered') this.#step(path?.split('/')[0]).isGiven = true
        return
      case 'task.completed':
        if (!isNested(path)) this.#settle(entry, { value: this.#valueOf(entry) }, this.#rawOf(entry))
        return
      case 'task.failed': {
        if (isNested(path) || entry.retryAt !== undefined) return
        const { code, message, data } = entry.error
        const { broken = '' } = (data ?? {}) as Partial<Broken>
        this.#settle(entry, { broken }, `${code} ${message}`)
        return
      }
      case 'task.edited':
        this.touches.push({ seq, paths: [path ?? ''] })
        this.#settle(entry, { value: this.#valueOf(entry) }, entry.raw)
        Object.assign(this.#step(path), { version: this.#step(path).version + 1, isGiven: true })
        return
      case 'task.invalidated':
        this.touches.push({ seq, paths: [path ?? ''] })
        if (entry.because) this.restarted.push(path ?? '')
        this.#giveUp(path ?? '')
        return
      default:
    }
  }

  readonly #eventValues = new Map<number, Json>()

  #step(path = ''): RecordedStep {
    const name = path.replace(/#\d+$/, '')
    const step = this.steps.get(name) ?? newStep(name)
    this.steps.set(name, step)
    return step
  }

  #settle(
    { seq, at, path }: Pick<Entry, 'seq' | 'at'> & { path?: string },
    result: RecordedStep['result'],
    text: string,
  ): void {
    const step = this.#step(path)
    step.place ??= seq
    if (step.text !== text) step.at = Date.parse(at)
    step.text = text
    step.result = result
  }

  #rawOf({ raw = '', event }: Extract<Entry, { type: 'task.completed' }>): string {
    return event === undefined ? raw : JSON.stringify(this.#eventValues.get(event))
  }

  #giveUp(path: string): void {
    const step = this.#step(path)
    step.result = undefined
    step.version += 1
  }

  get #broken(): readonly string[] {
    return [...this.steps.values()].flatMap(({ path, result }) => (result && 'broken' in result ? [path] : []))
  }

  #retry(seq: number, paths: readonly string[]): void {
    if (paths.length === 0) return
    this.touches.push({ seq, paths })
    for (const path of paths) {
      this.#giveUp(path)
      const step = this.#step(path)
      if (step.place !== undefined && step.place > this.#lastAfter)
        Object.assign(step, { place: undefined, text: undefined })
    }
  }

  #valueOf(entry: Extract<Entry, { type: 'task.completed' | 'task.edited' }>): Json | undefined {
    const step = this.#step(entry.path)
    const waits = 'timedOut' in entry || (entry.type === 'task.completed' && step.wait === 'sleep')
    if (waits && step.until !== undefined && Date.parse(entry.at) < step.until) this.early.push(step.path)
    if ('timedOut' in entry) return timedOut
    if ('event' in entry && entry.event !== undefined) {
      const event = this.events.get(entry.event)
      if (event) event.taken += 1
      this.takenEvents.push(entry.event)
      step.event = entry.event
      return this.#eventValues.get(entry.event)
    }
    if (step.wait === 'sleep') return slept
    return entry.structured ? (JSON.parse(entry.raw ?? 'null') as Json) : entry.raw
  }
}

function newStep(path: string): RecordedStep {
  return {
    path,
    place: undefined,
    at: 0,
    text: undefined,
    result: undefined,
    after: undefined,
    version: 0,
    attempts: 0,
    isGiven: false,
    wait: undefined,
    until: undefined,
    started: undefined,
    event: undefined,
  }
}

/** Whether the entry belongs to something within a step: an agent's calls, a kickoff. */
function isNested(path = ''): boolean {
  return path.includes('/')
}

/** A result that a flow received. */
export type Delivery = readonly [path: string, value: string]

export interface Reading {
  readonly deliveries: readonly Delivery[]
  /** Undefined if the program waits for a result that is not recorded. */
  readonly end: { readonly value: string } | { readonly error: unknown } | undefined
  /** By path. */
  readonly requested: ReadonlyMap<string, Requested>
}

interface Requested {
  readonly node: RequestNode
  readonly key: string
  readonly input: string
  /** The place of the last result before the request. */
  readonly after: number
}

/** Replays a program from its journal. `random` returns the random number that the run had at a path. */
export async function read(program: Block, journal: Journal, random: (path: string) => string): Promise<Reading> {
  const deliveries: Delivery[] = []
  const requested = new Map<string, Requested>()
  const open = new Map<string, PromiseWithResolvers<string>>()
  let place = 0
  let now = journal.createdAt
  let end: Reading['end']
  const requests: Requests = {
    request(node, key, input) {
      const path = pathOf(node, key)
      if (end) return new Promise(() => {})
      const deferred = Promise.withResolvers<string>()
      deferred.promise.catch(() => {})
      requested.set(path, { node, key, input, after: place })
      open.set(path, deferred)
      return deferred.promise
    },
    now: () => String(now),
    random: (node, key) => random(pathOf(node, key)),
  }
  void interpret(program, requests, journal.given).then(
    (value) => (end ??= { value }),
    (error: unknown) => (end ??= { error }),
  )
  for (;;) {
    await turn()
    const next = [...open.keys()]
      .flatMap((path) => journal.steps.get(path) ?? [])
      .reduce<RecordedStep | undefined>((first, step) => (placeOf(step) < placeOf(first) ? step : first), undefined)
    // a step that is executed again keeps its place: later results wait for it
    if (!next?.result || next.place === undefined) return { deliveries, end, requested }
    const deferred = open.get(next.path)
    open.delete(next.path)
    place = next.place
    now = next.at
    if ('broken' in next.result) {
      const error = next.result.broken === '' ? new Error('failed') : new Broken(next.result.broken)
      deliveries.push([next.path, `fails: ${labelOf(error)}`])
      deferred?.reject(error)
    } else {
      const value = textOf(next.result.value)
      deliveries.push([next.path, value])
      deferred?.resolve(value)
    }
  }
}

function placeOf(step: RecordedStep | undefined): number {
  return step?.place ?? Infinity
}
