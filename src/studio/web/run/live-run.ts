// A run as it happens: its loaded detail and timeline, then every new entry, and model output as it streams. The event
// stream starts after the last entry of the timeline. After a disconnect, it continues where it was. It ends when the
// run rests and starts again when the run continues. Child runs on a run's page have no stream, because browsers limit
// connections to six per server: their new entries are read with each refresh, and their model output is in the stream
// of the page's run.
import { computed, signal, type Signal, type ReadonlySignal } from '@preact/signals'
import type { Entry } from '../../../journal/entries.ts'
import type { RunDetail, RunStream } from '../../api/contract.ts'
import { addEntry, type Timeline } from '../../../runs/timeline.ts'
import { call } from '../api/client.ts'
import { listen, type ServerEvent } from '../api/listen.ts'
import { isInTreeOf } from '../../../journal/paths.ts'

export interface StreamedText {
  readonly text: string
  readonly reasoning: string
}

type Streamed = ReadonlyMap<string, StreamedText>

export interface LiveRun {
  readonly detail: Signal<RunDetail | undefined>
  /** Grows in place; `version` increases each time. */
  readonly timeline: Signal<Timeline | undefined>
  readonly version: Signal<number>
  /** Streamed model output by step path, with that of child runs. Removed when the reply is recorded. */
  readonly streamed: ReadonlySignal<Streamed>
  readonly error: Signal<unknown>
  /** Reloads the run, because it may have changed. */
  refresh(): void
  /** Flows: loads the groups of steps from this one on. */
  turn(from: number): void
  stop(): void
}

/** Minimum time between reloads while the run keeps changing. */
const minIntervalMs = 300

/** `output`: for a child run, its model output, which the page's run streams. It then has no stream of its own. */
export function followRun(runId: string, output?: ReadonlySignal<Streamed>): LiveRun {
  const stream = output === undefined
  const detail = signal<RunDetail | undefined>(undefined)
  const timeline = signal<Timeline | undefined>(undefined)
  const version = signal(0)
  const streamed = signal<Streamed>(new Map())
  const error = signal<unknown>(undefined)
  const ended = new AbortController()
  let unlisten: (() => void) | undefined
  /** Whether the stream includes model output: only if it started while this studio executed the run. */
  let hasOutput = false
  /** The number of the run's last entry when the stream ended. */
  let restsAt = -1
  let reading = false
  let due = false
  let groups = 0
  let queue: Entry[] = []
  let painting = false

  const paint = (): void => {
    painting = false
    const { value } = timeline
    if (!value || queue.length === 0) return
    for (const entry of queue) addEntry(value, entry)
    queue = []
    version.value++
  }
  const enqueue = (entry: Entry): void => {
    queue.push(entry)
    // a busy run's entries are added together, once per frame
    if (painting) return
    painting = true
    if (document.hidden) setTimeout(paint, minIntervalMs)
    else requestAnimationFrame(paint)
  }
  const add = (entry: Entry): void => {
    enqueue(entry)
    if (entry.type === 'model.replied' && entry.path !== undefined) forget(entry.path)
    if (!isQuietEntry(entry)) refresh()
  }
  const forget = (path: string): void => {
    if (!streamed.peek().has(path)) return
    const next = new Map(streamed.peek())
    next.delete(path)
    streamed.value = next
  }
  const onEvent = ({ name, data }: ServerEvent): 'stop' | void => {
    // the data of some events has no `type`, but their name is the type
    const event = { ...(JSON.parse(data) as object), type: name } as RunStream
    switch (event.type) {
      case 'text.delta':
      case 'reasoning.delta': {
        const before = streamed.peek().get(event.path) ?? { text: '', reasoning: '' }
        const kind = event.type === 'text.delta' ? 'text' : 'reasoning'
        streamed.value = new Map(streamed.peek()).set(event.path, { ...before, [kind]: before[kind] + event.text })
        return
      }
      case 'text.reset':
      case 'text.end':
        forget(event.path)
        return
      case 'caught-up':
        return
      case 'end':
        unlisten = undefined
        restsAt = lastSeq()
        streamed.value = new Map()
        refresh()
        return 'stop'
      case 'error':
        error.value = new Error(event.message)
        return
      default:
        // only entries have a seq; unknown events are ignored
        if ('seq' in event) add(event)
    }
  }
  const lastSeq = (): number => Math.max(timeline.peek()?.seq ?? 0, queue.at(-1)?.seq ?? 0)
  const isActive = (status: RunDetail['status']): boolean =>
    status === 'running' || (status === 'queued' && restsAt < lastSeq())
  const startStream = (here: boolean): void => {
    if (ended.signal.aborted || !timeline.value) return
    const isEnough = hasOutput || !here
    hasOutput = here
    if (unlisten && isEnough) return
    unlisten?.()
    const stop = listen({
      path: '/runs/{run}/events',
      params: { run: runId },
      after: lastSeq(),
      onEvent,
      onRefused: (problem) => {
        error.value = problem
      },
    })
    unlisten = stop
  }
  const catchUp = async (seq: number): Promise<void> => {
    for (let more = true; more && lastSeq() < seq;) {
      const options = { params: { run: runId }, query: { after: lastSeq() }, signal: ended.signal }
      const page = await call('GET /runs/{run}/entries', options)
      for (const entry of page.entries) enqueue(entry)
      more = page.more
    }
  }

  const read = async (): Promise<void> => {
    reading = true
    due = false
    const begin = performance.now()
    try {
      const [nextDetail, loadedTimeline] = await Promise.all([
        call('GET /runs/{run}', {
          params: { run: runId },
          query: groups === 0 ? {} : { groups },
          signal: ended.signal,
        }),
        timeline.value ?? call('GET /runs/{run}/timeline', { params: { run: runId }, signal: ended.signal }),
      ])
      if (ended.signal.aborted) return
      timeline.value ??= loadedTimeline
      detail.value = nextDetail
      error.value = undefined
      // drops streamed output of a process that is gone, unless this detail is older than the output
      const isCurrent = nextDetail.seq >= lastSeq()
      if (nextDetail.status !== 'running' && isCurrent && streamed.peek().size > 0) streamed.value = new Map()
      if (!stream) await catchUp(nextDetail.seq)
      // the run is active, or has continued since its stream ended
      else if (nextDetail.seq > loadedTimeline.seq || isActive(nextDetail.status)) startStream(nextDetail.here)
      else hasOutput = false
    } catch (problem) {
      if (!ended.signal.aborted) error.value = problem
    } finally {
      // the server needs a second to read a run of thousands of steps
      const pauseMs = Math.max(minIntervalMs, performance.now() - begin)
      setTimeout(() => {
        reading = false
        if (due && !ended.signal.aborted) void read()
      }, pauseMs)
    }
  }
  function refresh(): void {
    due = true
    if (!reading && !ended.signal.aborted) void read()
  }

  refresh()
  return {
    detail,
    timeline,
    version,
    streamed: output ?? streamed,
    error,
    refresh,
    turn(from) {
      groups = from
      refresh()
    },
    stop() {
      ended.abort()
      unlisten?.()
    },
  }
}

/** Whether the entry changes only the timeline. The detail isn't reloaded for it. */
function isQuietEntry({ type }: Entry): boolean {
  return type === 'tool.called' || type === 'callback.returned' || type === 'task.offered'
}

/** The child runs that are open on a run's page. Each is loaded when it is opened, and dropped when it is closed. */
export interface ChildRuns {
  /** By id. */
  readonly followed: ReadonlySignal<ReadonlyMap<string, LiveRun>>
  follow(ids: readonly string[]): void
  /** Stops following a run and its child runs. */
  drop(id: string): void
  refresh(): void
}

/** Of the run `rootId`, whose stream includes the model output of its child runs. */
export function childRuns(rootId: string, { streamed }: LiveRun): ChildRuns {
  const outputOf = (id: string): ReadonlySignal<Streamed> => {
    const prefix = `${id.slice(rootId.length + 1)}/`
    return computed(
      () =>
        new Map(
          [...streamed.value].flatMap(([path, text]) =>
            path.startsWith(prefix) ? [[path.slice(prefix.length), text]] : [],
          ),
        ),
    )
  }
  const followed = signal<ReadonlyMap<string, LiveRun>>(new Map())
  return {
    followed,
    follow(ids) {
      const more = ids.filter((id) => !followed.peek().has(id))
      if (more.length === 0) return
      const added = more.map((id) => [id, followRun(id, outputOf(id))] as const)
      followed.value = new Map([...followed.peek(), ...added])
    },
    drop(id) {
      const remaining = [...followed.peek()].filter(([each, run]) => {
        const stays = !isInTreeOf(each, id)
        if (!stays) run.stop()
        return stays
      })
      followed.value = new Map(remaining)
    },
    refresh() {
      for (const run of followed.peek().values()) if (!isOver(run)) run.refresh()
    },
  }
}

function isOver({ detail }: LiveRun): boolean {
  const status = detail.peek()?.status
  return status === 'completed' || status === 'cancelled'
}
