// Follows a run from its first entry and writes it in a protocol: without output up to where the reader is, with output
// from there. All entries are read, since their meaning depends on those before them.
import type { RestStatus } from '../read/follow.ts'
import type { CaughtUpEvent, RunEvent } from '../read/listeners.ts'
import { publicError, type RunEvents } from '../crew/result/event-stream.ts'
import type { TreeQuestion } from '../engine/task/children.ts'
import type { Item } from './items.ts'
import type { Narration } from './narration.ts'

export interface RunWriter<Out> {
  /** Written once, first, when the narration has everything that the reader has. */
  begin(): Iterable<Out>
  write(changed: ReadonlySet<Item>, isEntry: boolean): Iterable<Out>
  end(rest: RestStatus | undefined): Iterable<Out>
  /** When the run can't be followed any further, which isn't in its journal. */
  fail(why: { readonly code: string; readonly message: string }): Iterable<Out>
}

export interface FollowedRun {
  readonly events: RunEvents<RunEvent | CaughtUpEvent>
  asked(): Promise<readonly TreeQuestion[]>
}

/**
 * The writer's output, in pieces that belong together: one per entry. `after`: the last entry that the reader has;
 * `all`: the output starts when history is over.
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

  async function readChildQuestions({ type }: RunEvent): Promise<Set<Item>> {
    // questions of child runs change when this run starts or stops waiting for them
    const { suspended, attempts } = narration.state
    const may = type === 'run.woken' || type === 'run.resumed' || (type === 'run.suspended' && suspended)
    if (!may || ![...attempts.values()].some(({ child }) => child !== undefined)) return new Set()
    return new Set(narration.addChildQuestions(await asked()))
  }

  async function take(event: RunEvent | CaughtUpEvent): Promise<Out[]> {
    if (event.type === 'caught-up') return begin()
    const seq = 'seq' in event ? event.seq : undefined
    const isKnown = seq === undefined || after === 'all' || seq <= after
    const output = isKnown ? [] : begin()
    const changed = new Set(narration.addEvent(event))
    for (const item of await readChildQuestions(event)) changed.add(item)
    if (begun) output.push(...writer.write(changed, seq !== undefined))
    else if (seq === after) output.push(...begin())
    return output
  }

  async function next(): Promise<readonly Out[]> {
    // a reader without anything learns at once that there is a run
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
      // ends a wait at once
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** As a stream of single chunks. Nothing is read ahead. */
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
