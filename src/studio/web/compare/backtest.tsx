// A backtest: the outputs of earlier runs next to those of the current code, the costs, and the progress.
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { amount, dollars } from '../../../text/words.ts'
import type { BacktestView, BacktestCaseView, BacktestSide } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { mayAct } from '../api/studio-session.ts'
import { notify } from '../parts/notices.tsx'
import { Failed, Loading, errorText } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { comparePath, crewPath, Link, navigate, runPath, shortId } from '../routing/router.tsx'
import { OutputView } from '../parts/output-view.tsx'
import { Status } from '../parts/status.tsx'
import { inputWords } from '../runs/run-row.tsx'
import { JsonChanges, TextChanges } from './changes.tsx'

/** The end of a backtest isn't recorded in the store, so the page polls the studio for it. */
const pollMs = 1_500

export function BacktestTable({ id }: { readonly id: string }): JSX.Element {
  const { value, error, again } = useResource(`backtest ${id}`, (signal) =>
    call('GET /backtests/{backtest}', { params: { backtest: id }, signal }),
  )
  const isHere = value?.here === true
  useEffect(() => {
    if (!isHere) return
    const timer = setInterval(again, pollMs)
    return () => clearInterval(timer)
  }, [isHere, again])
  if (!value) return error === undefined ? <Loading what="the backtest" /> : <Failed error={error} again={again} />
  return (
    <div class="page compare">
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to="/compare">Compare</Link>
      </nav>
      <div class="page-head">
        <h1>Backtest of {value.task}</h1>
        <span class="soft">
          crew {value.crew}, started <Ago at={value.createdAt} />
        </span>
        <div class="end">
          <Actions view={value} again={again} />
        </div>
      </div>
      <Progress view={value} />
      <Totals view={value} />
      <ul class="cases">
        {value.cases.map((each) => (
          <li key={each.trial}>
            <BacktestCase one={each} of={value.task} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function Actions({ view, again }: { readonly view: BacktestView; again(): void }): JSX.Element | null {
  const [stopping, setStopping] = useState(false)
  if (!mayAct()) return null
  const stop = async (): Promise<void> => {
    setStopping(true)
    try {
      await call('POST /backtests/{backtest}/stop', { params: { backtest: view.id }, body: {} })
      notify('Backtest stopped. Finished trials are stored.')
    } catch (error) {
      notify(errorText(error), { bad: true })
    }
    setStopping(false)
    again()
  }
  if (view.here)
    return (
      <button type="button" class="danger" disabled={stopping} onClick={() => void stop()}>
        {stopping ? 'Stopping …' : 'Stop'}
      </button>
    )
  if (!view.code || view.cases.some(({ status }) => status === 'running')) return null
  const total = Math.max(view.total ?? 0, view.cases.length)
  const done = view.cases.filter((each) => each.new).length === total
  const query = new URLSearchParams({ task: view.task, backtest: view.task, id: view.id, last: String(total) })
  return (
    <button type="button" onClick={() => navigate(`${crewPath(view.crew)}?${query}`)}>
      {done ? 'Add runs' : 'Continue'}
    </button>
  )
}

/** The progress, and how to continue a stopped backtest. */
function Progress({ view }: { readonly view: BacktestView }): JSX.Element | null {
  const { cases, here, code, id, task } = view
  const total = Math.max(view.total ?? 0, cases.length)
  const finished = cases.filter(({ status, new: current }) => current !== undefined || status === 'failed').length
  if (here)
    return (
      <div class="backtest-progress" role="status">
        <progress max={total} value={finished} aria-label="Finished trials" />
        <span>
          {finished} of {total} done
        </span>
      </div>
    )
  const left = total - finished
  if (left === 0) return null
  const waiting = cases.filter(({ status }) => status === 'waiting').length
  if (cases.some(({ status }) => status === 'running'))
    return <p class="soft">Another process is executing this backtest.</p>
  return (
    <p class="note">
      {waiting > 0 &&
        `${waiting === 1 ? '1 trial is waiting' : `${waiting} trials are waiting`} for a person. Answer on ${waiting === 1 ? 'its page' : 'their pages'}, then continue. `}
      {left > waiting && `Stopped or interrupted: ${left - waiting} of ${total} trials are not done. `}
      Finished trials are not repeated.{' '}
      {code ? (
        'Continue it here.'
      ) : (
        <>
          To continue it: <code>{`npx reprise backtest -t ${task} --id ${id} --runs ${total}`}</code>
        </>
      )}
    </p>
  )
}

function Totals({ view: { cases } }: { readonly view: BacktestView }): JSX.Element | null {
  const done = cases.filter((each) => each.new !== undefined)
  if (cases.length === 0) return null
  const equal = done.filter((each) => each.equal).length
  const unmatched = done.filter((each) => each.old === undefined).length
  const failed = cases.filter(({ status, new: current }) => current === undefined && status === 'failed').length
  // costs are comparable only in pairs, and an output that a person provided has no cost
  const pairs = done.filter((each) => each.old !== undefined && !each.old.edited)
  const tokens = (side: 'old' | 'new'): number =>
    pairs.reduce((sum, each) => sum + (each[side]?.usage.input ?? 0) + (each[side]?.usage.output ?? 0), 0)
  const cost = (side: 'old' | 'new'): number | undefined =>
    pairs.reduce((sum: number | undefined, each) => {
      const own = each[side]?.cost
      return sum === undefined || own === undefined ? undefined : sum + own
    }, 0)
  return (
    <dl class="sums">
      <Total name="Same" value={String(equal)} />
      <Total name="Different" value={String(done.length - equal - unmatched)} tone="tone-asks" />
      {failed > 0 && <Total name="Failed" value={String(failed)} tone="tone-bad" />}
      {unmatched > 0 && <Total name="Nothing to compare with" value={String(unmatched)} />}
      {pairs.length > 0 && (
        <>
          <Total name="Tokens before → now" value={`${amount(tokens('old'))} → ${amount(tokens('new'))}`} />
          <Total
            name="Cost before → now"
            value={
              cost('old') === undefined && cost('new') === undefined
                ? 'unknown'
                : `${dollars(cost('old'))} → ${dollars(cost('new'))}`
            }
          />
        </>
      )}
    </dl>
  )
}

interface TotalProps {
  readonly name: string
  readonly value: string
  readonly tone?: string
}

function Total({ name, value, tone = '' }: TotalProps): JSX.Element {
  return (
    <div class={`sum ${value === '0' ? '' : tone}`}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

export function BacktestCase({ one, of }: { readonly one: BacktestCaseView; readonly of: string }): JSX.Element {
  const { runId, task, trial, old, new: current, equal, difference, error, changes, withheld } = one
  return (
    <details class="panel case" open={difference !== undefined || error !== undefined}>
      <summary>
        <i class="fold" aria-hidden="true" />
        <CaseVerdict one={one} />
        <span class="case-run">
          <strong class="mono clip">{task === of ? shortId(runId) : `${shortId(runId)} ${task}`}</strong>
          <span class="soft clip">{inputWords(one.inputs)}</span>
        </span>
        <span class="case-cost faint number">
          {describeSide(old)} → {describeSide(current)}
        </span>
      </summary>
      {error && <p class="problem">{error.message}</p>}
      {difference && old && current && (
        <>
          <div class="case-sides" aria-hidden="true">
            <h3>{old.edited ? 'Before (edited)' : 'Before'}</h3>
            <h3>Now</h3>
          </div>
          {difference.changes && difference.changes.length > 0 ? (
            <JsonChanges changes={difference.changes} />
          ) : (
            <TextChanges diff={difference.text} />
          )}
        </>
      )}
      {!difference && (current ?? old) && (
        <section>
          <h3>{equal ? 'Before and now' : current ? 'Now' : 'Before'}</h3>
          <OutputView raw={(current ?? old)?.raw ?? ''} />
        </section>
      )}
      {changes.length > 0 && <p class="soft">Changed since: {changes.join('; ')}.</p>}
      {withheld.length > 0 && <p class="soft">Tools with effects were not called: {withheld.join(', ')}.</p>}
      <p class="case-links">
        <Link to={runPath(runId, task)}>Earlier run</Link> <Link to={runPath(trial, task)}>Trial</Link>{' '}
        <Link to={comparePath(runId, trial)}>Compare prompts and steps</Link>
      </p>
    </details>
  )
}

function CaseVerdict({ one }: { readonly one: BacktestCaseView }): JSX.Element {
  if (one.new === undefined) return <Status status={one.status} />
  if (one.equal) return <span class="status tone-quiet">same</span>
  if (one.old === undefined) return <span class="status tone-quiet">new</span>
  return <span class="status tone-asks">different</span>
}

function describeSide(side: BacktestSide | undefined): string {
  if (!side) return 'no output'
  if (side.edited) return 'edited'
  const tokens = `${amount(side.usage.input + side.usage.output)} tokens`
  return side.cost === undefined ? tokens : `${tokens}, ${dollars(side.cost)}`
}
