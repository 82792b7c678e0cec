// Compares two runs, or shows a backtest. Without either, lists the backtests.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import { TextField } from '../form/value-field.tsx'
import { useResource } from '../api/resource.ts'
import { Empty, Failed, Loaded, Loading } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { comparePath, Link, navigate, currentLocation } from '../routing/router.tsx'
import { BacktestTable } from './backtest.tsx'
import { DiffView } from './diff-view.tsx'
import '../styles/compare.css'

export function ComparePage(): JSX.Element {
  const { query } = currentLocation.value
  const [a, b, backtest] = ['a', 'b', 'backtest'].map((name) => query.get(name) ?? '') as [string, string, string]
  if (backtest !== '') return <BacktestTable key={backtest} id={backtest} />
  return (
    <div class="page compare">
      <div class="page-head">
        <h1>Compare</h1>
      </div>
      <Chooser key={`${a} ${b}`} a={a} b={b} />
      {a !== '' && b !== '' ? <Diff a={a} b={b} /> : <Backtests />}
    </div>
  )
}

function Chooser({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  const [left, setLeft] = useState(a)
  const [right, setRight] = useState(b)
  return (
    <form
      class="chooser"
      onSubmit={(event) => {
        event.preventDefault()
        navigate(comparePath(left.trim(), right.trim()))
      }}
    >
      <TextField label="Run A" class="mono" value={left} onInput={setLeft} />
      <TextField label="Run B" class="mono" value={right} onInput={setRight} />
      <button type="submit" class="primary" disabled={left.trim() === '' || right.trim() === ''}>
        Compare
      </button>
    </form>
  )
}

function Diff({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  const resource = useResource(`diff ${a} ${b}`, (signal) => call('GET /diff', { query: { a, b }, signal }))
  return (
    <Loaded from={resource} what="the differences">
      {(diff) => <DiffView diff={diff} />}
    </Loaded>
  )
}

function Backtests(): JSX.Element {
  const { value, error, again } = useResource('backtests', (signal) => call('GET /backtests', { signal }))
  if (!value) return error === undefined ? <Loading what="backtests" /> : <Failed error={error} again={again} />
  if (value.backtests.length === 0)
    return (
      <Empty title="Choose two runs">
        Select them in <Link to="/runs">Runs</Link> with the checkboxes or <kbd>x</kbd>, or start from the lineage of a
        run. Backtests are also listed here. Start one from a task of a crew, or with <code>npx reprise backtest</code>.
      </Empty>
    )
  return (
    <section>
      <h2>Backtests</h2>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Backtests">
        <table class="wide-table">
          <thead>
            <tr>
              <th>Backtest</th>
              <th>Crew</th>
              <th>Task</th>
              <th class="number">Trials</th>
              <th>Created</th>
            </tr>
          </thead>
          <tbody>
            {value.backtests.map(({ id, crew, task, trials, total, createdAt }) => (
              <tr key={id}>
                <td>
                  <Link to={`/compare?backtest=${encodeURIComponent(id)}`}>{id}</Link>
                </td>
                <td>{crew}</td>
                <td>{task}</td>
                <td class="number">{total === undefined || total <= trials ? trials : `${trials} of ${total}`}</td>
                <td>
                  <Ago at={createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
