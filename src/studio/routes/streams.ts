// Server-sent events: those of one run, and hints that something has changed.
import { eventBody, eventFrame } from '../../crew/result/event-body.ts'
import { eventHeaders, eventResponse } from '../../crew/result/event-stream.ts'
import { createNotifier } from '../../base/notifier.ts'
import { follow } from '../../engine/follow/follow.ts'
import { isEnded } from '../../journal/state/state.ts'
import { whole, type Routes } from '../api/route.ts'
import { readRow, type StudioContext } from '../context.ts'

/** Hints come at most this often: a page reads its lists again for each. */
const quietMs = 250

export const streamRoutes: Routes<'GET /runs/{run}/events' | 'GET /changes'> = {
  'GET /runs/{run}/events': {
    summary: 'Its journal as it grows, the number of each entry as the id of its event',
    role: 'look',
    query: { after: whole('only entries after this one', 0) },
    streams: true,
    async handle({ place, at, query, request }) {
      const { run, crew } = await readRow(place, at('run'))
      const known = place.crews.get(crew)
      // where the crew executes it, its models are heard, too
      if (known) return known.crew.run(run).toResponse(request, query)
      const source = {
        id: run,
        world: place.engine.world,
        follow: (after: number) => follow(place.engine, run, { after, marked: true }),
        isOver: (after: number) => isOver(place, run, after),
      }
      return eventResponse(source, request, query)
    },
  },
  'GET /changes': {
    summary: 'A hint whenever runs may have changed',
    role: 'look',
    streams: true,
    async handle({ place }) {
      const headers = new Headers()
      eventHeaders(headers)
      const { world } = place.engine
      const body = eventBody({
        events: changes(place),
        opening: 'changes',
        text: () => eventFrame({ event: 'change', data: '{}' }),
        endText: () => '',
        // whoever listens comes back, and asks the store again
        errorText: () => '',
        sleep: (ms, signal) => world.sleep(ms, signal),
      })
      return new Response(body, { headers })
    },
  },
}

async function isOver({ store }: StudioContext, run: string, after: number): Promise<boolean> {
  const row = await store.row(run)
  if (row && !isEnded(row.status)) return false
  for await (const _ of store.read(run, after)) return false
  return true
}

/** One at once, then one for all that changed in a moment. Leaving ends the wait. */
function changes({ store, signal, engine: { world } }: StudioContext): AsyncIterator<true, undefined> {
  const stop = new AbortController()
  const watched = AbortSignal.any([stop.signal, signal])
  const changed = createNotifier()
  let over = false
  let first = true
  const hear = async (): Promise<void> => {
    for await (const _ of store.watch(undefined, watched)) changed.notify()
  }
  const end = (): void => {
    over = true
    changed.notify()
  }
  hear().then(end, end)
  return {
    async next() {
      if (first) {
        first = false
        return { done: false, value: true }
      }
      await changed.wait()
      changed.consume()
      if (over) return { done: true, value: undefined }
      await world.sleep(quietMs, watched).catch(() => {})
      return over ? { done: true, value: undefined } : { done: false, value: true }
    },
    async return() {
      stop.abort()
      end()
      return { done: true, value: undefined }
    },
  }
}
