// A backtest: what earlier runs gave beside what today's code gives on the same.
import type { JSX } from 'preact'
import { amount, dollars } from '../../../text/words.ts'
import type { BacktestSide } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { OutputView } from '../parts/output-view.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { Link } from '../routing/link.tsx'
import { runPath } from '../routing/router.ts'
import { inputWords } from '../runs/run-row.tsx'
import { shortId } from '../waiting/short-id.ts'

export function BacktestTable({ id }: { readonly id: string }): JSX.Element {
  const { value, error, again } = useResource(`backtest ${id}`, (signal) =>
    call('GET /backtests/{backtest}', { params: { backtest: id }, signal }),
  )
  if (!value) return error === undefined ? <Loading what="the backtest" /> : <Failed error={error} again={again} />
  const equal = value.cases.filter((each) => each.equal).length
  return (
    <div class="page compare">
      <div class="page-head">
        <h1>
          Backtest of {value.crew} / {value.task}
        </h1>
        <span class="soft">
          {equal} of {value.cases.length} outputs stay the same
        </span>
      </div>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Cases">
        <table class="wide-table backtest">
          <thead>
            <tr>
              <th>Earlier run</th>
              <th>Before</th>
              <th>Now</th>
            </tr>
          </thead>
          <tbody>
            {value.cases.map((each) => (
              <tr key={each.trial} class={each.equal ? '' : 'is-different'}>
                <td>
                  <Link to={runPath(each.runId, value.task)} class="mono">
                    {shortId(each.runId)}
                  </Link>
                  <p class="faint inputs">{inputWords(each.inputs)}</p>
                  <p>
                    {each.equal ? (
                      <span class="status tone-quiet">the same</span>
                    ) : (
                      <span class="status tone-asks">differs</span>
                    )}{' '}
                    <Link to={`/compare?a=${encodeURIComponent(each.runId)}&b=${encodeURIComponent(each.trial)}`}>
                      compare
                    </Link>
                  </p>
                </td>
                <td>
                  <Side side={each.old} />
                </td>
                <td>
                  {each.new ? <Side side={each.new} /> : <Status status={each.status} />}
                  {each.error && <p class="problem">{each.error.message}</p>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

function Side({ side }: { readonly side: BacktestSide | undefined }): JSX.Element {
  if (!side) return <p class="faint">gone</p>
  return (
    <>
      <OutputView raw={side.raw} />
      <p class="faint">
        {amount(side.usage.input + side.usage.output)} tokens · {dollars(side.cost)}
      </p>
    </>
  )
}
