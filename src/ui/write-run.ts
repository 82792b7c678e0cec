// Follows a run from its first entry and writes it in a protocol. Entries that the reader already has produce no
// output; they are read because later entries depend on them.
import type { FollowedEvent, RestStatus } from '../read/follow.ts'
import { publicError, type RunEvents } from '../crew/result/event-stream.ts'
import type { TreeQuestion } from '../engine/task/children.ts'
import type { Item } from './items.ts'
import { narratedChildren, type Narration } from './narration.ts'
import type { Exposure } from './expose.ts'
import type { Run } from '../crew/run.ts'

export interface RunWriter<Out> {
  /** Called once, before all others, when the narration has caught up with the reader. */
  begin(): Iterable<Out>
  write(changed: ReadonlySet<Item>, isEntry: boolean): Iterable<Out>
  end(rest: RestStatus | undefined): Iterable<Out>
  /** Called when the run's events cannot be read any further. The journal does not record this. */
  fail(why: { readonly code: string; readonly message: string }): Iterable<Out>
}

export interface FollowedRun {
  /** With the entries of child runs. */
  readonly events: RunEvents<FollowedEvent>
  /** The questions of child runs, open or not. */
  asked(): Promise<readonly TreeQuestion[]>
}

/** Follows a run from its beginning, and the child runs that are narrated. Listening begins with the call. */
export function followRun(run: Run, exposure: Exposure): FollowedRun {
  return {
    events: run['~follow']({ marked: true, children: narratedChildren(exposure) }),
    asked: async () => (await run['~served']()).asked(),
  }
}

/**
 * Yields the writer's output, one array per entry. `after`: the number of the last entry that the reader has; with
 * `all`, the output begins when all recorded entries were read.
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

  async function changedChildQuestions({ type }: FollowedEvent): Promise<Set<Item>> {
    // questions of child runs change when this run starts or stops waiting for them
    const { suspended, attempts } = narration.state
    const mayHaveChanged = type === 'run.woken' || type === 'run.resumed' || (type === 'run.suspended' && suspended)
    if (!mayHaveChanged || ![...attempts.values()].some(({ child }) => child !== undefined)) return new Set()
    return new Set(narration.addChildQuestions(await asked()))
  }

  async function take(event: FollowedEvent): Promise<Out[]> {
    if (event.type === 'caught-up') return begin()
    const seq = 'seq' in event ? event.seq : undefined
    const isKnown = seq === undefined || after === 'all' || seq <= after
    const output = isKnown ? [] : begin()
    const changed = new Set(narration.addEvent(event))
    for (const item of await changedChildQuestions(event)) changed.add(item)
    if (begun) output.push(...writer.write(changed, seq !== undefined))
    else if (seq === after) output.push(...begin())
    return output
  }

  async function next(): Promise<readonly Out[]> {
    // a new reader learns at once that the run exists
    if (after === 0 && !begun) return begin()
    for (;;) {
      const event = await events.next()
      over = event.done ?? false
      const output = event.done ? [...begin(), ...writer.end(event.value)] : await take(event.value)
      if (output.length > 0 || over) return output
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
      // ends a pending read
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Returns a stream of the single chunks. Reads nothing ahead. */
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
