// One run as it happens: its detail and timeline as they were read, and then every entry as it comes, with what models
// are saying. The stream begins after the last entry that the timeline has, and comes back after a break where it was;
// when the run rests it ends, and begins anew when somebody has continued the run. A run that is shown within another
// has no stream, since browsers open six connections to a server, over all windows: its new entries are read with each
// refresh.
import { signal, type Signal } from '@preact/signals'
import type { Entry } from '../../../journal/entries.ts'
import type { RunDetail, RunStream } from '../../api/contract.ts'
import { addEntry, type Timeline } from '../../../runs/timeline.ts'
import { call } from '../api/client.ts'
import { listen, type ServerEvent } from '../api/listen.ts'

export interface StreamedText {
  readonly text: string
  readonly reasoning: string
}

export interface LiveRun {
  readonly detail: Signal<RunDetail | undefined>
  /** The timeline grows in place: `version` moves when it has. */
  readonly timeline: Signal<Timeline | undefined>
  readonly version: Signal<number>
  /** By the path of the turn, until its reply is recorded. */
  readonly said: Signal<ReadonlyMap<string, StreamedText>>
  readonly error: Signal<unknown>
  /** Reads it again: something may have changed. */
  refresh(): void
  stop(): void
}

const apartMs = 300

export function followRun(runId: string, { stream = true }: { readonly stream?: boolean } = {}): LiveRun {
  const detail = signal<RunDetail | undefined>(undefined)
  const timeline = signal<Timeline | undefined>(undefined)
  const version = signal(0)
  const said = signal<ReadonlyMap<string, StreamedText>>(new Map())
  const error = signal<unknown>(undefined)
  const ended = new AbortController()
  let unlisten: (() => void) | undefined
  /** Whether the stream has what models say: one that began while nobody executed the run here has only its entries. */
  let speaks = false
  /** Up to which entry a stream has said that the run rests. */
  let restsAt = -1
  let reading = false
  let due = false
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
  const take = (entry: Entry): void => {
    queue.push(entry)
    // many entries of a busy run are one painting
    if (painting) return
    painting = true
    if (document.hidden) setTimeout(paint, apartMs)
    else requestAnimationFrame(paint)
  }
  const add = (entry: Entry): void => {
    take(entry)
    if (entry.type === 'model.replied' && entry.path !== undefined) forget(entry.path)
    if (!isQuietEntry(entry)) refresh()
  }
  const forget = (path: string): void => {
    if (!said.peek().has(path)) return
    const next = new Map(said.peek())
    next.delete(path)
    said.value = next
  }
  const hear = ({ name, data }: ServerEvent): 'stop' | void => {
    // the data of some events doesn't say their type, their name always does
    const event = { ...(JSON.parse(data) as object), type: name } as RunStream
    switch (event.type) {
      case 'text.delta':
      case 'reasoning.delta': {
        const before = said.peek().get(event.path) ?? { text: '', reasoning: '' }
        const kind = event.type === 'text.delta' ? 'text' : 'reasoning'
        said.value = new Map(said.peek()).set(event.path, { ...before, [kind]: before[kind] + event.text })
        return
      }
      case 'text.reset':
        forget(event.path)
        return
      case 'caught-up':
        return
      case 'end':
        unlisten = undefined
        restsAt = lastSeq()
        said.value = new Map()
        refresh()
        return 'stop'
      case 'error':
        error.value = new Error(event.message)
        return
      default:
        // one that this page doesn't know yet is not an entry
        if ('seq' in event) add(event)
    }
  }
  const lastSeq = (): number => Math.max(timeline.peek()?.seq ?? 0, queue.at(-1)?.seq ?? 0)
  const goesOn = (status: RunDetail['status']): boolean =>
    status === 'running' || (status === 'queued' && restsAt < lastSeq())
  const begin = (here: boolean): void => {
    if (ended.signal.aborted || !timeline.value) return
    const enough = speaks || !here
    speaks = here
    if (unlisten && enough) return
    unlisten?.()
    const stop = listen({
      path: '/runs/{run}/events',
      params: { run: runId },
      after: lastSeq(),
      hear,
      refused: (problem) => {
        error.value = problem
      },
    })
    unlisten = stop
  }
  const catchUp = async (seq: number): Promise<void> => {
    for (let more = true; more && lastSeq() < seq;) {
      const options = { params: { run: runId }, query: { after: lastSeq() }, signal: ended.signal }
      const page = await call('GET /runs/{run}/entries', options)
      for (const entry of page.entries) take(entry)
      more = page.more
    }
  }

  const read = async (): Promise<void> => {
    reading = true
    due = false
    try {
      const [known, spans] = await Promise.all([
        call('GET /runs/{run}', { params: { run: runId }, signal: ended.signal }),
        timeline.value ?? call('GET /runs/{run}/timeline', { params: { run: runId }, signal: ended.signal }),
      ])
      if (ended.signal.aborted) return
      timeline.value ??= spans
      detail.value = known
      error.value = undefined
      // whoever was speaking is gone, unless this was read before they began
      if (known.status !== 'running' && known.seq >= lastSeq() && said.peek().size > 0) said.value = new Map()
      if (!stream) await catchUp(known.seq)
      // it goes on, or has gone on since its stream ended
      else if (known.seq > spans.seq || goesOn(known.status)) begin(known.here)
      else speaks = false
    } catch (problem) {
      if (!ended.signal.aborted) error.value = problem
    } finally {
      setTimeout(() => {
        reading = false
        if (due && !ended.signal.aborted) void read()
      }, apartMs)
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
    said,
    error,
    refresh,
    stop() {
      ended.abort()
      unlisten?.()
    },
  }
}

/** Steps change the timeline alone; what a run has spent is read again with the next other entry, or in a moment. */
function isQuietEntry({ type }: Entry): boolean {
  return type === 'tool.called' || type === 'callback.returned' || type === 'task.offered'
}
