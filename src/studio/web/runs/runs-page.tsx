// The list of all runs, newest first. The filters (search, status and crew) are part of the address, so that a filtered
// list can be shared.
import type { JSX, RefObject } from 'preact'
import { useRef, useState, useEffect } from 'preact/hooks'
import type { RunSummary } from '../../../runs/summary.ts'
import { plural } from '../../../text/words.ts'
import type { RunsQuery } from '../../api/contract.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { useNarrow, WindowList } from '../parts/window-list.tsx'
import { comparePath, currentLocation, Link, navigate, runPath, withQuery } from '../routing/router.tsx'
import { RunRow } from './run-row.tsx'
import { useRunPages } from './run-pages.ts'
import { runViewStatuses, type RunViewStatus } from '../../../runs/status.ts'
import { session } from '../api/studio-session.ts'

export function RunsPage(): JSX.Element {
  const query = readQuery(currentLocation.value.query)
  const { runs, more, error, next, again } = useRunPages(query)
  const [current, setCurrent] = useState<string>()
  const [marked, setMarked] = useState<readonly string[]>([])
  const list = runs ?? []
  const index = list.findIndex(({ runId }) => runId === current)
  const isNarrow = useNarrow()
  const search = useRef<HTMLInputElement>(null)

  const move = (by: number): void => {
    const to = list[Math.max(0, Math.min(list.length - 1, index < 0 ? 0 : index + by))]
    if (to) setCurrent(to.runId)
  }
  const mark = (runId: string): void =>
    setMarked(marked.includes(runId) ? marked.filter((id) => id !== runId) : [...marked, runId].slice(-2))
  const compare = (): void => navigate(comparePath(marked[0] ?? '', marked[1] ?? ''))
  useShortcuts('Runs', [
    { keys: 'j', does: 'Next run', run: () => move(1) },
    { keys: 'k', does: 'Previous run', run: () => move(-1) },
    { keys: 'Enter', does: 'Open the run', run: () => current !== undefined && navigate(runPath(current)) },
    { keys: '/', does: 'Search', run: () => search.current?.focus() },
    { keys: 'x', does: 'Select to compare', run: () => current !== undefined && mark(current) },
    { keys: 'c', does: 'Compare the selected runs', run: () => marked.length === 2 && compare() },
  ])

  return (
    <div class="page runs">
      <div class="page-head">
        <h1>Runs</h1>
        {marked.length > 0 && (
          <div class="end">
            {marked.length === 2 ? (
              <button type="button" class="primary" onClick={compare}>
                Compare
              </button>
            ) : (
              <span class="soft">Select another run to compare</span>
            )}
            <button type="button" onClick={() => setMarked([])}>
              Clear
            </button>
          </div>
        )}
      </div>
      <Filters query={query} searchRef={search} seen={list} />
      {error !== undefined && list.length === 0 ? (
        <Failed error={error} again={again} />
      ) : runs === undefined ? (
        <Loading what="runs" />
      ) : list.length === 0 && !more ? (
        <NoRuns filtered={Object.keys(query).length > 0} />
      ) : (
        <>
          {!isNarrow && <Head />}
          <WindowList
            rows={list}
            rowHeight={isNarrow ? 92 : 56}
            keyOf={runIdOf}
            label="Runs"
            current={index < 0 ? undefined : index}
            onEnd={more ? next : undefined}
            render={(run) => (
              <RunRow run={run} current={run.runId === current} marked={marked.includes(run.runId)} onMark={mark} />
            )}
          />
          <p class="list-end faint" role="status">
            {more ? 'Loading older runs …' : plural(list.length, 'run')}
          </p>
        </>
      )}
    </div>
  )
}

function Head(): JSX.Element {
  return (
    <div class="run-row run-head" aria-hidden="true">
      <span />
      <span>Status</span>
      <span>Run</span>
      <span>Inputs</span>
      <span>Tasks</span>
      <span class="number">Tokens</span>
      <span class="number">Cost</span>
      <span class="run-time number">Time</span>
      <span class="number">Created</span>
    </div>
  )
}

function NoRuns({ filtered }: { readonly filtered: boolean }): JSX.Element {
  if (filtered) return <Empty title="No matching runs">Remove a filter, or search for the start of an id.</Empty>
  return (
    <Empty title="No runs yet">
      Start one from <Link to="/crews">Crews</Link>, with <code>npx reprise run</code>, or with{' '}
      <code>crew.kickoff()</code>.
    </Empty>
  )
}

function readQuery(query: URLSearchParams): RunsQuery {
  const names = ['crew', 'status', 'search', 'parent', 'children', 'backtests'] as const
  return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])))
}

function runIdOf({ runId }: RunSummary): string {
  return runId
}

const statuses = Object.keys(runViewStatuses) as RunViewStatus[]
const pauseMs = 250

interface FiltersProps {
  readonly query: RunsQuery
  readonly searchRef: RefObject<HTMLInputElement | null>
  /** The loaded runs. Their crews can be chosen. */
  readonly seen: readonly RunSummary[]
}

function Filters({ query, searchRef, seen }: FiltersProps): JSX.Element {
  const [text, setText] = useState(query.search ?? '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => setText(query.search ?? ''), [query.search])
  const chosen = (query.status ?? '').split(',').filter((status) => status !== '')
  const studio = session.value
  const crews = new Set([...(typeof studio === 'object' ? studio.crews : []), ...seen.map(({ crew }) => crew)])
  if (query.crew !== undefined) crews.add(query.crew)

  const change = (changes: { readonly [name: string]: string | undefined }): void =>
    navigate(withQuery(changes), { replace: true })
  const toggle = (status: string): void => {
    const next = chosen.includes(status) ? chosen.filter((other) => other !== status) : [...chosen, status]
    change({ status: next.join(',') })
  }
  return (
    <div class="filters" role="search">
      <input
        ref={searchRef}
        type="search"
        aria-label="Search by id or inputs"
        placeholder="Search by id or inputs"
        value={text}
        onInput={(event) => {
          const typed = event.currentTarget.value
          setText(typed)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => change({ search: typed.trim() }), pauseMs)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
        }}
      />
      <select
        aria-label="Crew"
        value={query.crew ?? ''}
        onChange={(event) => change({ crew: event.currentTarget.value })}
      >
        <option value="">All crews</option>
        {[...crews].toSorted().map((crew) => (
          <option key={crew} value={crew}>
            {crew}
          </option>
        ))}
      </select>
      <div class="chips" role="group" aria-label="Status">
        {statuses.map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={chosen.includes(status)}
            title={runViewStatuses[status]}
            onClick={() => toggle(status)}
          >
            {status}
          </button>
        ))}
      </div>
    </div>
  )
}
