// A run that this process executes: its id is known and the run is on disk before anybody waits for the result.
import type { Engine } from '../engine/definition.ts'
import { followLive } from '../engine/follow/follow.ts'
import type { RunEvent } from '../engine/follow/listeners.ts'
import { tell } from '../engine/people/tell.ts'
import type { RunState } from '../journal/state/state.ts'
import {
  eventResponse,
  readAfter,
  type EventsOptions,
  type EventsRequest,
  type ResponseOptions,
} from './result/event-stream.ts'
import { signed } from './verbs/read-request.ts'
import type { RunResult, Tasks } from './result/result.ts'

export class Run<T extends Tasks = Tasks> {
  readonly id: string
  readonly #engine: Engine
  readonly #state: RunState
  readonly #result: Promise<RunResult<T>>

  constructor(engine: Engine, state: RunState, result: Promise<RunResult<T>>) {
    this.id = state.run
    this.#engine = engine
    this.#state = state
    this.#result = result
    // a caller who only follows the events must not crash the process by not asking for the result
    result.catch(() => {})
  }

  /** Resolves when the run is completed or suspended; rejects when it failed or was cancelled. */
  result(): Promise<RunResult<T>> {
    return this.#result
  }

  /**
   * The journal from its first entry on (or after entry `after`), as it grows, and what models say while they say it, until nothing
   * more can come in this life of the run. Models are streamed to whoever has called this; how fast the events are taken never
   * holds the run up. Rejects when the run went wrong in a way that the journal could not record.
   */
  events(options: EventsOptions = {}): AsyncIterable<RunEvent> {
    return followLive(this.#engine, this.id, { after: readAfter(options), until: this.#result })
  }

  /**
   * The events as server-sent events, for any server that takes a web-standard Response. With the request, a client that comes back
   * (`Last-Event-ID`) gets only what it has not seen. A client that goes away does not stop the run.
   */
  toResponse(request?: EventsRequest, options: ResponseOptions = {}): Response {
    const { world } = this.#engine
    const follow = (after: number) => followLive(this.#engine, this.id, { after, until: this.#result })
    return eventResponse({ follow, world, state: this.#state }, request, options)
  }

  /** Ends the run for good: model calls and tools stop at once, and the result of a run under way rejects with RUN_CANCELLED. */
  async cancel(by?: string): Promise<void> {
    await tell(this.#engine, this.id, { kind: 'cancel', ...signed(by) })
    await this.#result.catch(() => {})
  }
}
