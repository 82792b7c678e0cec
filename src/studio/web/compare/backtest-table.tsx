// A backtest: what earlier runs gave beside what the code gives now on the same, what that took, and how far it is.
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { amount, dollars } from '../../../text/words.ts'
import type { BacktestView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { mayAct } from '../api/studio-session.ts'
import { notify } from '../parts/notices.tsx'
import { Failed, Loading, errorText } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { Link } from '../routing/link.tsx'
import { navigate } from '../routing/router.ts'
import { BacktestCase } from './backtest-case.tsx'

/** Its last trial may be done before the backtest is: nothing in the store hints at that. */
const lookMs = 1_500

export function BacktestTable({ id }: { readonly id: string }): JSX.Element {
  const { value, error, again } = useResource(`backtest ${id}`, (signal) =>
    call('GET /backtests/{backtest}', { params: { backtest: id }, signal }),
  )
  const isHere = value?.here === true
  useEffect(() => {
    if (!isHere) return
    const timer = setInterval(again, lookMs)
    return () => clearInterval(timer)
  }, [isHere, again])
  if (!value) return error === undefined ? <Loading what="the backtest" /> : <Failed error={error} again={again} />
  return (
    <div class="page compare">
      <nav class="crumbs" aria-label="Where this is">
        <Link to="/compare">Compare</Link>
      </nav>
      <div class="page-head">
        <h1>Backtest of {value.task}</h1>
        <span class="soft">
          crew {value.crew}, begun <Ago at={value.createdAt} />
        </span>
        <div class="end">
          <Actions view={value} again={again} />
        </div>
      </div>
      <Progress view={value} />
      <Sums view={value} />
      <ul class="cases">
        {value.cases.map((each) => (
          <li key={each.trial}>
            <BacktestCase one={each} task={value.task} />
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
      notify('The backtest is stopped. What is done stays.')
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
    <button type="button" onClick={() => navigate(`/crews/${encodeURIComponent(view.crew)}?${query}`)}>
      {done ? 'On more runs' : 'Continue'}
    </button>
  )
}

/** How far it is, and how it can go on where nobody executes it. */
function Progress({ view }: { readonly view: BacktestView }): JSX.Element | null {
  const { cases, here, code, id, task } = view
  const total = Math.max(view.total ?? 0, cases.length)
  const over = cases.filter(({ status, new: made }) => made !== undefined || status === 'failed').length
  if (here)
    return (
      <div class="backtest-progress" role="status">
        <progress max={total} value={over} aria-label="Trials that are done" />
        <span>
          {over} of {total} done
        </span>
      </div>
    )
  const left = total - over
  if (left === 0) return null
  const waiting = cases.filter(({ status }) => status === 'waiting').length
  if (cases.some(({ status }) => status === 'running')) return <p class="soft">Another process executes it.</p>
  return (
    <p class="note">
      {waiting > 0 && `For a person wait ${waiting} of its trials: answer on the page of each, then continue. `}
      {left > waiting && `It was stopped or cut off: ${left - waiting} of ${total} trials are not done. `}
      What is done stays, and is not paid again.{' '}
      {code ? (
        'Continue it here.'
      ) : (
        <>
          Continue it with: <code>{`reprise backtest -t ${task} --id ${id} --runs ${total}`}</code>
        </>
      )}
    </p>
  )
}

function Sums({ view: { cases } }: { readonly view: BacktestView }): JSX.Element | null {
  const done = cases.filter((each) => each.new !== undefined)
  if (cases.length === 0) return null
  const equal = done.filter((each) => each.equal).length
  const gone = done.filter((each) => each.old === undefined).length
  const failed = cases.filter(({ status, new: made }) => made === undefined && status === 'failed').length
  // only pairs can be compared, and what a person gave has cost nothing that is known
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
      <Sum name="Same" value={String(equal)} />
      <Sum name="Different" value={String(done.length - equal - gone)} tone="tone-asks" />
      {failed > 0 && <Sum name="Failed" value={String(failed)} tone="tone-bad" />}
      {gone > 0 && <Sum name="Nothing to compare with" value={String(gone)} />}
      {pairs.length > 0 && (
        <>
          <Sum name="Tokens, before and now" value={`${amount(tokens('old'))} → ${amount(tokens('new'))}`} />
          <Sum
            name="Cost, before and now"
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

function Sum({
  name,
  value,
  tone = '',
}: {
  readonly name: string
  readonly value: string
  readonly tone?: string
}): JSX.Element {
  return (
    <div class={`sum ${value === '0' ? '' : tone}`}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
