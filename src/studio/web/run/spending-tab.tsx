// The tokens and cost of a run: by task, by model, and over its model calls.
import type { JSX } from 'preact'
import type { Usage } from '../../../journal/entries.ts'
import { amount, dollars } from '../../../text/words.ts'
import type { RunDetail, SpendingView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Link, withQuery } from '../routing/router.tsx'

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

function Table({
  caption,
  rows,
  link = false,
}: {
  readonly caption: string
  readonly rows: readonly SpentRow[]
  readonly link?: boolean
}): JSX.Element {
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
