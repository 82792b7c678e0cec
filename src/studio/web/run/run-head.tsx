// The head of a run's page: its id, status, errors, numbers and actions.
import type { JSX } from 'preact'
import { parentRunId } from '../../../journal/paths.ts'
import { amount, dollars, longTime } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import { Icon } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { sentence } from '../parts/states.tsx'
import { Fact } from '../parts/fact.tsx'
import { Status } from '../parts/status.tsx'
import { Ago, RunTime } from '../parts/time.tsx'
import { Link, runPath, shortId } from '../routing/router.tsx'
import { RunActions } from '../actions/run-actions.tsx'
import type { LiveRun } from './live-run.ts'

export function RunHead({ run, detail }: { readonly run: LiveRun; readonly detail: RunDetail }): JSX.Element {
  const { runId, crew, status, why, parent, createdAt, usage, cost, lives, holder, done, failed, total, error } = detail
  const caller = parentRunId(runId)
  const copy = (): void => {
    navigator.clipboard.writeText(runId).then(
      () => notify('Run id copied.'),
      () => notify('The browser refused to copy.', { bad: true }),
    )
  }
  return (
    <header class="run-top">
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to="/runs">Runs</Link> / <Link to={`/runs?crew=${encodeURIComponent(crew)}`}>{crew}</Link>
        {caller !== undefined && (
          <>
            {' '}
            / child of <Link to={runPath(caller)}>{shortId(caller)}</Link>
          </>
        )}
      </nav>
      <div class="run-title">
        <Status status={status} />
        <h1 class="mono" title={runId}>
          {runId}
        </h1>
        <button type="button" class="icon-button" aria-label="Copy run id" onClick={copy}>
          <Icon name="copy" size={16} />
        </button>
        <RunActions run={run} detail={detail} />
      </div>
      {why !== undefined && (
        <p class={status === 'failed' || status === 'abandoned' ? 'run-why is-bad' : 'run-why'}>{sentence(why)}</p>
      )}
      {error !== undefined && error.message !== why && !why?.startsWith(error.message) && (
        <p class="run-why is-bad">{error.message}</p>
      )}
      {detail.failures.map(({ task, error: { message }, skipped }) => (
        <p class="run-why is-bad" key={task}>
          {task}: {message}
          {skipped.length > 0 && ` (skipped as a result: ${skipped.join(', ')})`}
        </p>
      ))}
      <dl class="facts">
        <Fact name="Created">
          <span title={longTime(createdAt)}>
            <Ago at={createdAt} />
          </span>
        </Fact>
        {lives > 0 && (
          <Fact name="Time">
            <RunTime run={detail} />
          </Fact>
        )}
        <Fact name="Tasks">
          {done} of {total}
          {failed > 0 && <span class="is-bad">, {failed} failed</span>}
        </Fact>
        <Fact name="Tokens">
          <span title={`${usage.input} in, ${usage.output} out`}>{amount(usage.input + usage.output)}</span>
        </Fact>
        <Fact name="Cost">{dollars(cost)}</Fact>
        {lives > 1 && <Fact name="Processes">{lives}</Fact>}
        {holder && (
          <Fact name="Executed by">
            {holder.name ?? `process ${holder.pid}`} on {holder.host}
          </Fact>
        )}
        {parent && (
          <Fact name="Forked from">
            {parent.deleted ? shortId(parent.runId) : <Link to={runPath(parent.runId)}>{shortId(parent.runId)}</Link>}
            {parent.from !== undefined && <> at {parent.from}</>} (
            {parent.deleted ? (
              'deleted'
            ) : (
              <Link to={`/compare?a=${encodeURIComponent(parent.runId)}&b=${encodeURIComponent(runId)}`}>compare</Link>
            )}
            )
          </Fact>
        )}
      </dl>
    </header>
  )
}
