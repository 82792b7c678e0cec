// One case of a backtest: what differs between the two outputs, or that nothing does.
import type { JSX } from 'preact'
import { amount, dollars } from '../../../text/words.ts'
import type { BacktestCaseView, BacktestSide } from '../../api/contract.ts'
import { OutputView } from '../parts/output-view.tsx'
import { Status } from '../parts/status.tsx'
import { Link } from '../routing/link.tsx'
import { runPath } from '../routing/router.ts'
import { inputWords } from '../runs/run-row.tsx'
import { shortId } from '../waiting/short-id.ts'
import { JsonChanges } from './json-changes.tsx'
import { TextChanges } from './text-changes.tsx'

export function BacktestCase({ one, task }: { readonly one: BacktestCaseView; readonly task: string }): JSX.Element {
  const { runId, trial, old, new: made, equal, difference, error, changes, withheld } = one
  const [a, b] = [encodeURIComponent(runId), encodeURIComponent(trial)]
  return (
    <details class="panel case" open={difference !== undefined || error !== undefined}>
      <summary>
        <i class="fold" aria-hidden="true" />
        <CaseVerdict one={one} />
        <span class="case-run">
          <strong class="mono clip">{shortId(runId)}</strong>
          <span class="soft clip">{inputWords(one.inputs)}</span>
        </span>
        <span class="case-cost faint number">
          {describeSide(old)} → {describeSide(made)}
        </span>
      </summary>
      {error && <p class="problem">{error.message}</p>}
      {difference && old && made && (
        <>
          <div class="case-sides" aria-hidden="true">
            <h3>{old.edited ? 'Before, a person’s value' : 'Before'}</h3>
            <h3>Now</h3>
          </div>
          {difference.changes && difference.changes.length > 0 ? (
            <JsonChanges changes={difference.changes} />
          ) : (
            <TextChanges diff={difference.text} />
          )}
        </>
      )}
      {!difference && (made ?? old) && (
        <section>
          <h3>{equal ? 'Before and now' : made ? 'Now' : 'Before'}</h3>
          <OutputView raw={(made ?? old)?.raw ?? ''} />
        </section>
      )}
      {changes.length > 0 && <p class="soft">Since then: {changes.join('; ')}.</p>}
      {withheld.length > 0 && <p class="soft">Not called, since it may change something: {withheld.join(', ')}.</p>}
      <p class="case-links">
        <Link to={runPath(runId, task)}>The earlier run</Link> <Link to={runPath(trial, task)}>The trial</Link>{' '}
        <Link to={`/compare?a=${a}&b=${b}`}>Compare prompts and steps</Link>
      </p>
    </details>
  )
}

function CaseVerdict({ one }: { readonly one: BacktestCaseView }): JSX.Element {
  if (one.new === undefined) return <Status status={one.status} />
  if (one.equal) return <span class="status tone-quiet">same</span>
  if (one.old === undefined) return <span class="status tone-quiet">nothing before</span>
  return <span class="status tone-asks">different</span>
}

function describeSide(side: BacktestSide | undefined): string {
  if (!side) return 'nothing'
  if (side.edited) return 'by a person'
  const tokens = `${amount(side.usage.input + side.usage.output)} tokens`
  return side.cost === undefined ? tokens : `${tokens}, ${dollars(side.cost)}`
}
