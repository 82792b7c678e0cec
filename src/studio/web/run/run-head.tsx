// How a run stands: its name, status, numbers and what can be done with it.
import type { ComponentChildren, JSX } from 'preact'
import { parentRunId } from '../../../journal/paths.ts'
import { amount, dollars, longTime } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import { Icon } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { sentence } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { Ago, RunTime } from '../parts/time.tsx'
import { Link } from '../routing/link.tsx'
import { runPath } from '../routing/router.ts'
import { RunActions } from '../actions/run-actions.tsx'
import { shortId } from '../waiting/short-id.ts'
import type { LiveRun } from './live-run.ts'

export function RunHead({ run, detail }: { readonly run: LiveRun; readonly detail: RunDetail }): JSX.Element {
  const { runId, crew, status, why, parent, createdAt, usage, cost, lives, holder, done, failed, total, error } = detail
  const caller = parentRunId(runId)
  const copy = (): void => {
    navigator.clipboard.writeText(runId).then(
      () => notify('The id is copied.'),
      () => notify('The browser didn’t allow copying.', { bad: true }),
    )
  }
  return (
    <header class="run-top">
      <nav class="crumbs" aria-label="Where this run belongs">
        <Link to="/runs">Runs</Link> / <Link to={`/runs?crew=${encodeURIComponent(crew)}`}>{crew}</Link>
        {caller !== undefined && (
          <>
            {' '}
            / works for <Link to={runPath(caller)}>{shortId(caller)}</Link>
          </>
        )}
      </nav>
      <div class="run-title">
        <Status status={status} />
        <h1 class="mono" title={runId}>
          {runId}
        </h1>
        <button type="button" class="icon-button" aria-label="Copy the id" onClick={copy}>
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
          {skipped.length > 0 && ` (skipped because of it: ${skipped.join(', ')})`}
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
          <Fact name="Made from">
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

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  )
}
