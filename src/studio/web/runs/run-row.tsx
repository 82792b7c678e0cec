// A row of the list of runs: one line, or three on a phone.
import type { JSX } from 'preact'
import type { RunSummary } from '../../../runs/summary.ts'
import { amount, dollars, inLocalTimes } from '../../../text/words.ts'
import { doneWords } from '../../../runs/status.ts'
import { Icon } from '../parts/icons.tsx'
import { Status } from '../parts/status.tsx'
import { Ago, RunTime } from '../parts/time.tsx'
import { Link, runPath, shortId } from '../routing/router.tsx'

interface RunRowProps {
  readonly run: RunSummary
  readonly current: boolean
  readonly marked: boolean
  onMark(runId: string): void
}

export function RunRow({ run, current, marked, onMark }: RunRowProps): JSX.Element {
  const { runId, crew, status, why, inputs, parent, usage, cost, createdAt, done, failed, total, flow } = run
  return (
    <div class={`run-row row ${current ? 'is-current' : ''}`}>
      <input
        type="checkbox"
        checked={marked}
        aria-label={`Select ${runId} to compare`}
        onChange={() => onMark(runId)}
      />
      <span class="run-status">
        <Status status={status} />
      </span>
      <span class="run-name">
        <Link to={runPath(runId)} class="run-id clip mono">
          {shortId(runId)}
        </Link>
        <span class="faint clip">
          {crew}
          {parent && (
            <span
              class="lineage"
              title={`forked from ${parent.runId}${parent.deleted ? ' (deleted)' : ''}${parent.from === undefined ? '' : ` at ${parent.from}`}`}
            >
              <Icon name="fork" size={13} />
              {parent.from ?? 'fork'}
            </span>
          )}
        </span>
      </span>
      <span class="run-inputs" title={why}>
        <span class="clip soft">{inputWords(inputs)}</span>
        {why !== undefined && (
          <span class={`clip why ${status === 'failed' ? 'is-bad' : 'faint'}`}>{inLocalTimes(why)}</span>
        )}
      </span>
      <span class="run-progress">
        {!flow && (
          <span class="bar" aria-hidden="true">
            <i style={{ width: `${total === 0 ? 0 : (done / total) * 100}%` }} />
          </span>
        )}
        <span class="number faint">
          {flow ? doneWords(run) : `${done}/${total}`}
          <span class="hidden-text">{flow ? '' : ' tasks'} done</span>
          {failed > 0 && <span class="is-bad">, {failed} failed</span>}
        </span>
      </span>
      <span class="run-tokens number">
        {amount(usage.input + usage.output)}
        <span class="unit"> tokens</span>
      </span>
      <span class={`run-cost number ${cost === undefined ? 'is-unknown' : ''}`}>
        {usage.calls > 0 && (
          <>
            <span class="hidden-text">cost </span>
            {dollars(cost)}
          </>
        )}
      </span>
      <span class="run-time number">{run.lives > 0 && <RunTime run={run} />}</span>
      <span class="run-created number faint">
        <Ago at={createdAt} />
      </span>
    </div>
  )
}

export function inputWords(inputs: RunSummary['inputs']): string {
  return Object.entries(inputs)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
    .slice(0, 300)
}
