// The filters of the list of runs: search, status and crew. They are part of the address, so that a list can be shared.
import type { JSX, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { runViewStatuses, type RunViewStatus } from '../../../runs/status.ts'
import type { RunSummary } from '../../../runs/summary.ts'
import type { RunsQuery } from '../../api/contract.ts'
import { session } from '../api/studio-session.ts'
import { navigate, withQuery } from '../routing/router.tsx'

const statuses = Object.keys(runViewStatuses) as RunViewStatus[]
const pauseMs = 250

interface FiltersProps {
  readonly query: RunsQuery
  readonly searchRef: RefObject<HTMLInputElement | null>
  /** The loaded runs, whose crews are offered. */
  readonly seen: readonly RunSummary[]
}

export function Filters({ query, searchRef, seen }: FiltersProps): JSX.Element {
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
