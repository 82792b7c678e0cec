// Follows a run from its first entry on and has a writer say it in a protocol: silently up to where its reader is, and
// aloud from there. Everything is read, since what an entry means depends on those before it.
import type { RestStatus } from '../engine/follow/follow.ts'
import type { CaughtUpEvent, RunEvent } from '../engine/follow/listeners.ts'
import { publicError, type RunEvents } from '../crew/result/event-stream.ts'
import type { TreeQuestion } from '../engine/task/children.ts'
import type { Item } from './items.ts'
import type { Narration } from './narration.ts'

export interface RunWriter<Out> {
  /** What its reader is told first, once, when everything that it has is in the narration. */
  begin(): Iterable<Out>
  heard(changed: ReadonlySet<Item>, isEntry: boolean): Iterable<Out>
  end(rest: RestStatus | undefined): Iterable<Out>
  /** When the run cannot be followed any further, which is not in its journal. */
  fail(why: { readonly code: string; readonly message: string }): Iterable<Out>
}

export interface FollowedRun {
  readonly events: RunEvents<RunEvent | CaughtUpEvent>
  asked(): Promise<readonly TreeQuestion[]>
}

/**
 * What the writer says, in pieces that belong together; what an entry has it say is one. `after`: the entry up to which
 * the reader has everything; `all`: it is told first when history is over.
 */
export function writeRun<Out>(
  { events, asked }: FollowedRun,
  narration: Narration,
  writer: RunWriter<Out>,
  after: number | 'all',
): AsyncIterableIterator<readonly Out[], undefined> {
  let begun = false
  let over = false

  function begin(): Out[] {
    if (begun) return []
    begun = true
    return [...writer.begin()]
  }

  async function learn({ type }: RunEvent): Promise<Set<Item>> {
    // what a run of its tasks asks, or has been told, is seen when this one waits for it, and when it no longer does
    const { suspended, attempts } = narration.state
    const may = type === 'run.woken' || type === 'run.resumed' || (type === 'run.suspended' && suspended)
    if (!may || ![...attempts.values()].some(({ child }) => child !== undefined)) return new Set()
    return new Set(narration.learn(await asked()))
  }

  async function take(event: RunEvent | CaughtUpEvent): Promise<Out[]> {
    if (event.type === 'caught-up') return begin()
    const seq = 'seq' in event ? event.seq : undefined
    const isKnown = seq === undefined || after === 'all' || seq <= after
    const said = isKnown ? [] : begin()
    const changed = new Set(narration.hear(event))
    for (const item of await learn(event)) changed.add(item)
    if (begun) said.push(...writer.heard(changed, seq !== undefined))
    else if (seq === after) said.push(...begin())
    return said
  }

  async function next(): Promise<readonly Out[]> {
    // a reader that has nothing is told at once that there is a run
    if (after === 0 && !begun) return begin()
    for (;;) {
      const event = await events.next()
      over = event.done ?? false
      const said = event.done ? [...begin(), ...writer.end(event.value)] : await take(event.value)
      if (said.length > 0 || over) return said
    }
  }

  return {
    async next() {
      if (over) return { done: true, value: undefined }
      try {
        return { done: false, value: await next() }
      } catch (error) {
        over = true
        return { done: false, value: [...begin(), ...writer.fail(publicError(error, narration.state.run))] }
      }
    },
    async return() {
      over = true
      // ends a wait at once
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** As a stream of single ones. Nothing is read ahead. */
export function streamOf<Out>(pieces: AsyncIterator<readonly Out[], undefined>): ReadableStream<Out> {
  return new ReadableStream<Out>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done) return controller.close()
        for (const one of value) controller.enqueue(one)
      },
      async cancel() {
        await pieces.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
