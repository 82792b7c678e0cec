// A run that this process executes: its id is known and the run is on disk before anybody waits for the result.
import type { Engine } from '../engine/definition.ts'
import { follow } from '../engine/follow.ts'
import { tell } from '../engine/people.ts'
import type { Entry } from '../journal/entries.ts'
import type { RunResult, Tasks } from './result.ts'

export class Run<T extends Tasks = Tasks> {
  readonly id: string
  readonly #engine: Engine
  readonly #result: Promise<RunResult<T>>

  constructor(id: string, engine: Engine, result: Promise<RunResult<T>>) {
    this.id = id
    this.#engine = engine
    this.#result = result
    // a caller who only follows the events must not crash the process by not asking for the result
    result.catch(() => {})
  }

  /** Resolves when the run is completed or suspended; rejects when it failed or was cancelled. */
  result(): Promise<RunResult<T>> {
    return this.#result
  }

  /** The journal from its first entry on, as it grows, until nothing more can come in this life of the run. */
  events(): AsyncIterable<Entry> {
    return follow(this.#engine, this.id)
  }

  /** Ends the run for good: model calls and tools stop at once, and the result of a run under way rejects with RUN_CANCELLED. */
  async cancel(by?: string): Promise<void> {
    await tell(this.#engine, this.id, { kind: 'cancel', ...(by === undefined ? {} : { by }) })
    await this.#result.catch(() => {})
  }
}
