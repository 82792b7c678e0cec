// The runs of a list as they were read page by page, kept fresh: the newest page, and the one in sight, are read again
// when something changes. Runs that come or go in between are put where they belong, so no page is shown twice.
import { useSignalEffect } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { RunSummary } from '../../../runs/summary.ts'
import type { RunsQuery } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'

const pageSize = 100
const apartMs = 700

export interface RunPages {
  /** Newest first; undefined until the first page is there. */
  readonly runs: readonly RunSummary[] | undefined
  readonly more: boolean
  readonly error: unknown
  /** Reads the next page, if there is one and none is being read. */
  next(): void
  again(): void
}

interface Loaded {
  readonly key: string
  readonly runs: readonly RunSummary[]
  readonly cursor: string | undefined
  readonly started: boolean
}

export function useRunPages(query: RunsQuery): RunPages {
  const key = JSON.stringify(query)
  const [loaded, setLoaded] = useState<Loaded>(nothing(key))
  const [error, setError] = useState<unknown>()
  const state = useRef({ key, loaded, busy: false, wanted: false, readAt: 0 })
  state.current.key = key

  const update = (next: Loaded): void => {
    state.current.loaded = next
    setLoaded(next)
  }
  const read = useCallback(async (how: 'next' | 'fresh'): Promise<void> => {
    const { current } = state
    if (current.busy) {
      current.wanted ||= how === 'next'
      return
    }
    const asked = current.key
    const before = current.loaded.key === asked ? current.loaded : nothing(asked)
    const cursor = how === 'next' ? before.cursor : undefined
    if (how === 'next' && before.started && cursor === undefined) return
    current.busy = true
    current.readAt = performance.now()
    try {
      const own = JSON.parse(asked) as RunsQuery
      const page = await call('GET /runs', {
        query: { ...own, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) },
      })
      if (state.current.key === asked) {
        const first = !before.started
        const runs = how === 'next' ? merged(before.runs, page.runs) : refreshed(before.runs, page)
        update({ key: asked, runs, cursor: how === 'next' || first ? page.next : before.cursor, started: true })
        setError(undefined)
      }
    } catch (problem) {
      if (state.current.key === asked) setError(problem)
    } finally {
      current.busy = false
    }
    // the filter was changed meanwhile, or the end came into sight: nobody asks for that again
    if (state.current.key !== asked || current.wanted) {
      current.wanted = false
      void read('next')
    }
  }, [])

  useEffect(() => void read('next'), [key, read])
  const seen = useRef(changes.peek())
  useSignalEffect(() => {
    const { value } = changes
    if (value === seen.current) return
    seen.current = value
    const timer = setTimeout(
      () => void read('fresh'),
      Math.max(0, apartMs - (performance.now() - state.current.readAt)),
    )
    return () => clearTimeout(timer)
  })

  const current = loaded.key === key ? loaded : nothing(key)
  return {
    runs: current.started ? current.runs : undefined,
    more: !current.started || current.cursor !== undefined,
    error,
    next: useCallback(() => void read('next'), [read]),
    again: useCallback(() => void read('fresh'), [read]),
  }
}

function nothing(key: string): Loaded {
  return { key, runs: [], cursor: undefined, started: false }
}

export function merged(before: readonly RunSummary[], page: readonly RunSummary[]): RunSummary[] {
  const [last, first] = [before.at(-1), page[0]]
  // the next page comes after all that are there
  if (!last || !first || newestFirst(last, first) < 0) return [...before, ...page]
  const known = new Map([...before, ...page].map((run) => [run.runId, run]))
  return [...known.values()].toSorted(newestFirst)
}

/** What the newest page covers is what it says: one that it doesn't have any more is gone, or doesn't fit any more. */
export function refreshed(
  before: readonly RunSummary[],
  page: { readonly runs: readonly RunSummary[]; readonly next?: string },
): RunSummary[] {
  const last = page.next === undefined ? undefined : page.runs.at(-1)
  const kept = last ? before.filter((run) => newestFirst(last, run) < 0) : page.next === undefined ? [] : before
  return merged(kept, page.runs)
}

function newestFirst(a: RunSummary, b: RunSummary): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1
  return a.runId < b.runId ? 1 : Number(a.runId > b.runId) * -1
}
