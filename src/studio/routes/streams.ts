// Server-sent events: the events of a run, and hints that runs may have changed.
import { eventBody, eventFrame, eventHeaders, eventResponse } from '../../crew/result/event-stream.ts'
import { realClock } from '../../base/clock.ts'
import { createNotifier } from '../../base/notifier.ts'
import { isEnded } from '../../journal/state/state.ts'
import { streamStart } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { readRow, type StudioContext } from '../context.ts'

/** Minimum time between hints, because the page reloads its lists with each. */
const quietMs = 250

export const streamRoutes: Routes<'GET /runs/{run}/events' | 'GET /changes'> = {
  'GET /runs/{run}/events': {
    summary: 'Stream the events of a run',
    role: 'look',
    query: streamStart,
    streams: true,
    async handle({ context, param, query, request }) {
      const { run, crew } = await readRow(context, param('run'))
      const loaded = context.crews.get(crew)
      // if the crew executes the run in this process, the stream includes model output
      if (loaded) return loaded.crew.run(run).toResponse(request, query)
      const source = {
        id: run,
        world: realClock,
        follow: (after: number) => context.runs.run(run).entries({ after, caughtUp: true }),
        isOver: (after: number) => isOver(context, run, after),
      }
      return eventResponse(source, request, query)
    },
  },
  'GET /changes': {
    summary: 'Stream hints that runs may have changed',
    role: 'look',
    streams: true,
    async handle({ context }) {
      const headers = new Headers()
      eventHeaders(headers)
      const body = eventBody({
        events: changes(context),
        opening: 'changes',
        text: () => eventFrame({ event: 'change', data: '{}' }),
        endText: () => '',
        // the stream ends without an event: clients reconnect and read the store again
        errorText: () => '',
        sleep: (ms, signal) => realClock.sleep(ms, signal),
      })
      return new Response(body, { headers })
    },
  },
}

/** Whether the run has ended or was deleted, and has no entries after `after`. */
async function isOver({ store }: StudioContext, run: string, after: number): Promise<boolean> {
  const row = await store.row(run)
  if (row && !isEnded(row.status)) return false
  for await (const _ of store.read(run, after)) return false
  return true
}

/** Yields a hint at once, then one for all changes within `quietMs`. Closing the iterator ends a wait. */
function changes({ store, signal }: StudioContext): AsyncIterator<true, undefined> {
  const stop = new AbortController()
  const watched = AbortSignal.any([stop.signal, signal])
  const changed = createNotifier()
  let hasEnded = false
  let first = true
  const watch = async (): Promise<void> => {
    for await (const _ of store.watch(undefined, watched)) changed.notify()
  }
  const end = (): void => {
    hasEnded = true
    changed.notify()
  }
  watch().then(end, end)
  return {
    async next() {
      if (first) {
        first = false
        return { done: false, value: true }
      }
      await changed.wait()
      changed.consume()
      if (hasEnded) return { done: true, value: undefined }
      await realClock.sleep(quietMs, watched).catch(() => {})
      return hasEnded ? { done: true, value: undefined } : { done: false, value: true }
    },
    async return() {
      stop.abort()
      end()
      return { done: true, value: undefined }
    },
  }
}
