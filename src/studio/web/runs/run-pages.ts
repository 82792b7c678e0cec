// The runs of a list, loaded page by page. When runs change, the newest page is reloaded and merged into the list, so
// that no run appears twice. The last list is remembered, so that Back returns to the same place in it.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { RunSummary } from '../../../runs/summary.ts'
import type { RunPage, RunsQuery } from '../../api/contract.ts'
import { useChanges } from '../api/listen.ts'
import { call } from '../api/client.ts'

const pageSize = 100
const largestPage = 200
/** Minimum time between reloads while runs keep changing. */
const minIntervalMs = 700

interface RunPages {
  /** Newest first. Undefined until the first page is loaded. */
  readonly runs: readonly RunSummary[] | undefined
  readonly more: boolean
  readonly error: unknown
  /** Loads the next page, if there is one and none is loading. */
  next(): void
  again(): void
}

interface LoadedPages {
  readonly key: string
  readonly runs: readonly RunSummary[]
  readonly cursor: string | undefined
  readonly started: boolean
}

let lastShown: LoadedPages | undefined

export function useRunPages(query: RunsQuery): RunPages {
  const key = JSON.stringify(query)
  const [loaded, setLoaded] = useState<LoadedPages>(lastShown?.key === key ? lastShown : noPages(key))
  const [error, setError] = useState<unknown>()
  const state = useRef({ key, loaded, busy: false, wanted: false, readAt: 0 })
  state.current.key = key

  const update = (next: LoadedPages): void => {
    state.current.loaded = next
    lastShown = next
    setLoaded(next)
  }
  const read = useCallback(async (how: 'next' | 'fresh' | 'all'): Promise<void> => {
    const { current } = state
    if (current.busy) {
      current.wanted ||= how === 'next'
      return
    }
    const readKey = current.key
    const before = current.loaded.key === readKey ? current.loaded : noPages(readKey)
    const cursor = how === 'next' ? before.cursor : undefined
    if (how === 'next' && before.started && cursor === undefined) return
    current.busy = true
    current.readAt = performance.now()
    try {
      const own = JSON.parse(readKey) as RunsQuery
      const page = how === 'all' ? await readAll(own, before.runs.length) : await readPage(own, pageSize, cursor)
      if (state.current.key === readKey && how === 'all') {
        update({ key: readKey, runs: page.runs, cursor: page.next, started: true })
        setError(undefined)
      } else if (state.current.key === readKey) {
        const first = !before.started
        const runs = how === 'next' ? mergePage(before.runs, page.runs) : refreshPage(before.runs, page)
        update({ key: readKey, runs, cursor: how === 'next' || first ? page.next : before.cursor, started: true })
        setError(undefined)
      }
    } catch (problem) {
      if (state.current.key === readKey) setError(problem)
    } finally {
      current.busy = false
    }
    // the filter changed or the end became visible while loading, and nothing else triggers the next read
    if (state.current.key !== readKey || current.wanted) {
      current.wanted = false
      void read('next')
    }
  }, [])

  useEffect(() => {
    const { key: of, started } = state.current.loaded
    void read(of === key && started ? 'all' : 'next')
  }, [key, read])
  useChanges(() => {
    const timer = setTimeout(
      () => void read('fresh'),
      Math.max(0, minIntervalMs - (performance.now() - state.current.readAt)),
    )
    return () => clearTimeout(timer)
  })

  const current = loaded.key === key ? loaded : noPages(key)
  return {
    runs: current.started ? current.runs : undefined,
    more: !current.started || current.cursor !== undefined,
    error,
    next: useCallback(() => void read('next'), [read]),
    again: useCallback(() => void read('fresh'), [read]),
  }
}

function readPage(query: RunsQuery, limit: number, cursor: string | undefined): Promise<RunPage> {
  return call('GET /runs', { query: { ...query, limit, ...(cursor === undefined ? {} : { cursor }) } })
}

/** Reads at least `count` runs, or all if there are fewer. */
async function readAll(query: RunsQuery, count: number): Promise<RunPage> {
  let { runs, next } = await readPage(query, largestPage, undefined)
  while (next !== undefined && runs.length < count) {
    const page: RunPage = await readPage(query, largestPage, next)
    runs = mergePage(runs, page.runs)
    next = page.next
  }
  return { runs, ...(next === undefined ? {} : { next }) }
}

function noPages(key: string): LoadedPages {
  return { key, runs: [], cursor: undefined, started: false }
}

function mergePage(before: readonly RunSummary[], page: readonly RunSummary[]): RunSummary[] {
  const [last, first] = [before.at(-1), page[0]]
  // all runs of the page come after the known runs
  if (!last || !first || newestFirst(last, first) < 0) return [...before, ...page]
  const known = new Map([...before, ...page].map((run) => [run.runId, run]))
  return [...known.values()].toSorted(newestFirst)
}

/** Replaces the part of the list that the newest page covers: other runs in it were deleted or no longer match. */
function refreshPage(
  before: readonly RunSummary[],
  page: { readonly runs: readonly RunSummary[]; readonly next?: string },
): RunSummary[] {
  const last = page.next === undefined ? undefined : page.runs.at(-1)
  const older = last ? before.filter((run) => newestFirst(last, run) < 0) : page.next === undefined ? [] : before
  return mergePage(older, page.runs)
}

function newestFirst(a: RunSummary, b: RunSummary): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1
  return a.runId < b.runId ? 1 : Number(a.runId > b.runId) * -1
}
