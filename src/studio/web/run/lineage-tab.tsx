// The lineage of a run as a tree: the runs it was forked from, and its forks.
import type { JSX } from 'preact'
import type { DeletedRun, Descendant, RelatedRun } from '../../../runs/lineage.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Failed, Loading } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { Ago } from '../parts/time.tsx'
import { Link, runPath, shortId } from '../routing/router.tsx'

export function LineageTab({ runId }: { readonly runId: string }): JSX.Element {
  const { value, error, again } = useResource(`lineage of ${runId}`, (signal) =>
    call('GET /runs/{run}/lineage', { params: { run: runId }, signal }),
  )
  if (!value) return error === undefined ? <Loading what="its lineage" /> : <Failed error={error} again={again} />
  return (
    <div class="lineage-tree">
      <Ancestors ancestors={value.ancestors} run={value.run} here={runId} />
      {value.ancestors.length === 0 && value.run.children.length === 0 && (
        <p class="soft">This run isn’t a fork and has no forks. Replay, fork or refresh it to create one.</p>
      )}
      {value.cut && <p class="hint">More distant runs are left out.</p>}
    </div>
  )
}

function Ancestors({
  ancestors,
  run,
  here,
}: {
  readonly ancestors: readonly (RelatedRun | DeletedRun)[]
  readonly run: Descendant
  readonly here: string
}): JSX.Element {
  const [first, ...rest] = ancestors
  if (!first)
    return (
      <ul>
        <Node run={run} here={here} />
      </ul>
    )
  return (
    <ul>
      <li>
        <Relative run={first} here={here} />
        <Ancestors ancestors={rest} run={run} here={here} />
      </li>
    </ul>
  )
}

function Node({ run, here }: { readonly run: Descendant; readonly here: string }): JSX.Element {
  return (
    <li>
      <Relative run={run} here={here} />
      {run.children.length > 0 && (
        <ul>
          {run.children.map((child) => (
            <Node key={child.runId} run={child} here={here} />
          ))}
        </ul>
      )}
    </li>
  )
}

function Relative({ run, here }: { readonly run: RelatedRun | DeletedRun; readonly here: string }): JSX.Element {
  if (run.deleted) return <p class="relative faint">{run.runId} (deleted)</p>
  const own = run.runId === here
  return (
    <p class={`relative ${own ? 'is-here' : ''}`}>
      <Status status={run.status} />
      {own ? (
        <strong class="mono">{shortId(run.runId)}</strong>
      ) : (
        <Link to={runPath(run.runId)} class="mono">
          {shortId(run.runId)}
        </Link>
      )}
      <span class="faint">
        <Ago at={run.createdAt} />
      </span>
      {!own && <Link to={`/compare?a=${encodeURIComponent(run.runId)}&b=${encodeURIComponent(here)}`}>Compare</Link>}
    </p>
  )
}
