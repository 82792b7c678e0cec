// Two tabs of a run's page: its spending (tokens and cost by task, by model, and call by call), and its lineage as a
// tree.
import type { JSX } from 'preact'
import type { Usage } from '../../../journal/entries.ts'
import { amount, dollars } from '../../../text/words.ts'
import type { RunDetail, SpendingView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { comparePath, Link, withQuery, runPath, shortId } from '../routing/router.tsx'
import type { DeletedRun, Descendant, RelatedRun } from '../../../runs/lineage.ts'
import { Status } from '../parts/status.tsx'
import { Ago } from '../parts/time.tsx'

export function SpendingTab({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { runId } = detail
  const { value, error, again } = useResource(`spending of ${runId}`, (signal) =>
    call('GET /runs/{run}/spending', { params: { run: runId }, signal }),
  )
  if (!value) return error === undefined ? <Loading what="the spending" /> : <Failed error={error} again={again} />
  if (value.tasks.every(({ usage }) => usage.calls === 0))
    return <Empty title="Nothing spent">This run made no model calls.</Empty>
  return (
    <div class="spending">
      <Chart calls={value.calls} />
      <div class="spending-tables">
        <Table caption="By task" rows={value.tasks.map(({ task, ...rest }) => ({ name: task, ...rest }))} link />
        <Table caption="By model" rows={value.models.map(({ model, ...rest }) => ({ name: model, ...rest }))} />
      </div>
    </div>
  )
}

interface SpentRow {
  readonly name: string
  readonly usage: Usage
  readonly cost: number | undefined
}

interface TableProps {
  readonly caption: string
  readonly rows: readonly SpentRow[]
  readonly link?: boolean
}

function Table({ caption, rows, link = false }: TableProps): JSX.Element {
  const most = Math.max(1, ...rows.map(({ usage }) => usage.input + usage.output))
  return (
    <table class="spent">
      <thead>
        <tr>
          <th>{caption}</th>
          <th class="number">Calls</th>
          <th class="number">Tokens in</th>
          <th class="number">Out</th>
          <th class="number">Cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, usage, cost }) => (
          <tr key={name}>
            <td>
              {link ? <Link to={withQuery({ tab: undefined, in: undefined, at: name })}>{name}</Link> : name}
              <span class="bar" aria-hidden="true">
                <i style={{ width: `${((usage.input + usage.output) / most) * 100}%` }} />
              </span>
            </td>
            <td class="number">{usage.calls}</td>
            <td class="number">{amount(usage.input)}</td>
            <td class="number">{amount(usage.output)}</td>
            <td class="number">{usage.calls === 0 ? '' : dollars(cost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Cumulative tokens, call by call. */
function Chart({ calls }: Pick<SpendingView, 'calls'>): JSX.Element | null {
  if (calls.length < 2) return null
  const [width, height] = [600, 120]
  const sums: number[] = []
  for (const { usage } of calls) sums.push((sums.at(-1) ?? 0) + usage.input + usage.output)
  const total = sums.at(-1) ?? 1
  const step = Math.max(1, Math.floor(sums.length / 300))
  const points = sums.filter((_, index) => index % step === 0 || index === sums.length - 1)
  const line = points.map(
    (sum, index) => `${(index / Math.max(1, points.length - 1)) * width} ${height - (sum / total) * (height - 8)}`,
  )
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${total} tokens over ${calls.length} model calls`}
      >
        <path class="chart-area" d={`M0 ${height}L${line.join('L')}L${width} ${height}Z`} />
        <path class="chart-line" d={`M${line.join('L')}`} />
      </svg>
      <figcaption class="faint">
        {amount(total)} tokens over {calls.length} model calls
      </figcaption>
    </figure>
  )
}

export function LineageTab({ runId }: { readonly runId: string }): JSX.Element {
  const { value, error, again } = useResource(`lineage of ${runId}`, (signal) =>
    call('GET /runs/{run}/lineage', { params: { run: runId }, signal }),
  )
  if (!value) return error === undefined ? <Loading what="the lineage" /> : <Failed error={error} again={again} />
  return (
    <div class="lineage-tree">
      <Ancestors ancestors={value.ancestors} run={value.run} here={runId} />
      {value.previous && (
        <div class="relative-lead">
          Continues <Relative run={value.previous} here={runId} />
        </div>
      )}
      {value.next && (
        <div class="relative-lead">
          Continues as <Relative run={value.next} here={runId} />
        </div>
      )}
      {value.ancestors.length === 0 && value.run.children.length === 0 && (
        <p class="soft">This run isn’t a fork and has no forks. Replay, fork or refresh it to create one.</p>
      )}
      {value.cut && <p class="hint">More distant runs are left out.</p>}
    </div>
  )
}

function Ancestors({ ancestors: [first, ...rest], ...own }: AncestorsProps): JSX.Element {
  if (!first)
    return (
      <ul>
        <Node {...own} />
      </ul>
    )
  return (
    <ul>
      <li>
        <Relative run={first} here={own.here} />
        <Ancestors ancestors={rest} {...own} />
      </li>
    </ul>
  )
}

interface NodeProps {
  readonly run: Descendant
  readonly here: string
}

interface AncestorsProps extends NodeProps {
  readonly ancestors: readonly (RelatedRun | DeletedRun)[]
}

function Node({ run, here }: NodeProps): JSX.Element {
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
  const isHere = run.runId === here
  return (
    <p class={`relative ${isHere ? 'is-here' : ''}`}>
      <Status status={run.status} />
      {isHere ? (
        <strong class="mono">{shortId(run.runId)}</strong>
      ) : (
        <Link to={runPath(run.runId)} class="mono">
          {shortId(run.runId)}
        </Link>
      )}
      <span class="faint">
        <Ago at={run.createdAt} />
      </span>
      {!isHere && <Link to={comparePath(run.runId, here)}>Compare</Link>}
    </p>
  )
}
