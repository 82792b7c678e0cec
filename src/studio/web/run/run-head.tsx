// The head of a run's page: id, status, errors, facts and actions. Also the bars of runs that need a decision, because
// their process is gone or the crew has no task for recorded work. Each bar explains what happened and how to continue:
// with a button or a command.
import type { JSX } from 'preact'
import { parentRunId, attemptsOnPath } from '../../../journal/paths.ts'
import { amount, dollars, inLocalTimes, longTime, shellWord } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import { Icon, IconButton } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { sentence } from '../parts/states.tsx'
import { Fact, Status } from '../parts/status.tsx'
import { Ago, RunTime } from '../parts/time.tsx'
import { comparePath, Link, runPath, shortId, navigate, withQuery, selectionPath } from '../routing/router.tsx'
import { RunActions } from '../actions/run-actions.tsx'
import type { LiveRun } from './live-run.ts'
import { isGivenUpReason } from '../../../runs/status.ts'
import type { Timeline } from '../../../runs/timeline.ts'
import { lastRecorded, processWords } from './takeovers.ts'
import { suggestDecision, describeOrphan } from '../../../journal/describe.ts'
import { session } from '../api/studio-session.ts'

export function RunHead({ run, detail }: { readonly run: LiveRun; readonly detail: RunDetail }): JSX.Element {
  const { runId, crew, status, why, parent, createdAt, usage, cost, lives, holder, done, failed, total, flow, error } =
    detail
  const { previous, next } = detail
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
        <h1 class="mono clip" title={runId}>
          {runId}
        </h1>
        <IconButton label="Copy run id" icon="copy" size={16} onClick={copy} />
        <RunActions run={run} detail={detail} />
      </div>
      {why !== undefined && (
        <p class={status === 'failed' || status === 'abandoned' ? 'run-why is-bad' : 'run-why soft'}>
          {sentence(inLocalTimes(why))}
        </p>
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
        <Fact name={flow ? 'Steps' : 'Tasks'}>
          {flow ? `${done} done` : `${done} of ${total}`}
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
        {previous !== undefined && (
          <Fact name="Continues">
            <Link to={runPath(previous)}>{shortId(previous)}</Link>
          </Fact>
        )}
        {next !== undefined && (
          <Fact name="Continues as">
            <Link to={runPath(next)}>{shortId(next)}</Link>
          </Fact>
        )}
        {parent && (
          <Fact name="Forked from">
            {parent.deleted ? shortId(parent.runId) : <Link to={runPath(parent.runId)}>{shortId(parent.runId)}</Link>}
            {parent.from !== undefined && <> at {parent.from}</>} (
            {parent.deleted ? 'deleted' : <Link to={comparePath(parent.runId, runId)}>compare</Link>})
          </Fact>
        )}
      </dl>
    </header>
  )
}

interface GoneProps {
  readonly detail: RunDetail
  readonly timeline: Timeline
  /** The timelines of its loaded child runs. */
  readonly inner: readonly Timeline[]
}

export function GoneBar({ detail, timeline, inner }: GoneProps): JSX.Element {
  const { runId, can } = detail
  const last = lastRecorded([timeline, ...inner])
  const life = timeline.lives.at(-1)
  const host = life?.holder === undefined ? '' : ` on ${life.holder.host}`
  const process = `${(life && processWords(life)) ?? 'the process'}${host}`
  const where = last?.path !== undefined && (
    <>
      {' '}
      at <Link to={selectionPath({ run: last.run, at: last.path })}>{placeWords(runId, last.run, last.path)}</Link>
    </>
  )
  const open = last?.open.map(({ name }) => name ?? 'a call') ?? []
  return (
    <div class="gone-bar" role="status">
      <p>
        {isGivenUpReason(detail) ? (
          <>
            The last process, {process}, ended{where}. Find out why before you resume the run.{' '}
          </>
        ) : (
          <>
            {sentence(process)} is gone.{' '}
            {last && (
              <>
                The last entry was recorded {longTime(last.at)}
                {where}.{' '}
              </>
            )}
          </>
        )}
        {open.length > 0 && `Interrupted: ${open.join(', ')}; the outcome isn’t recorded. `}
        {detail.caller === undefined && <HowToContinue detail={detail} />}
      </p>
      {can.includes('resume') && (
        <button type="button" onClick={() => navigate(withQuery({ action: 'resume' }))}>
          <Icon name="play" size={15} />
          Resume
        </button>
      )}
    </div>
  )
}

/** Whether the last process of an unfinished run died: the run is abandoned, or was given up after several deaths. */
export function isGone(detail: RunDetail): boolean {
  return detail.status === 'abandoned' || isGivenUpReason(detail)
}

function HowToContinue({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { can } = detail
  if (can.includes('requeue') && !can.includes('resume'))
    return <Command lead="To hand it to a worker: " words={['requeue', detail.runId]} />
  const resume = (
    <Command lead={can.includes('resume') ? 'To resume it from a terminal: ' : ', or: '} words={resumeWords(detail)} />
  )
  return can.includes('resume') || isGivenUpReason(detail) ? (
    resume
  ) : (
    <>A worker of the crew will continue the run{resume}</>
  )
}

/** `task plan#1` or `step plan#1/2`; in a child run, `step settle#1 / plan#1/2`. */
function placeWords(root: string, run: string, path: string): string {
  const within = run === root ? '' : `${run.slice(root.length + 1)} / `
  return `${attemptsOnPath(path).at(-1) === path ? 'task' : 'step'} ${within}${path}`
}

function resumeWords({ runId, module }: RunDetail, options: readonly string[] = []): readonly string[] {
  const { file, export: crew } = module ?? {}
  return [
    'resume',
    runId,
    ...options,
    ...(file === undefined ? [] : ['--file', file]),
    ...(crew === undefined ? [] : ['--crew', crew]),
  ]
}

export function OrphansBar({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { runId, caller, orphaned, can } = detail
  const { renamed = {}, removed = [] } = suggestDecision(runId, orphaned)
  const options = [
    ...Object.entries(renamed).flatMap(([old, now]) => ['--renamed', `${old}=${now}`]),
    ...removed.flatMap((task) => ['--removed', task]),
  ]
  const here = can.includes('resume')
  return (
    <div class="gone-bar orphans-bar" role="status">
      <p>
        The crew has no task for the recorded work of {orphaned.map(describeOrphan).join('; ')}. Decide what happens to
        it to continue the run.
        {!here && caller === undefined && <Command lead=" For example: " words={resumeWords(detail, options)} />}
      </p>
      {here && (
        <button type="button" onClick={() => navigate(withQuery({ action: 'resume' }))}>
          Decide
        </button>
      )}
    </div>
  )
}

interface CommandProps {
  /** Text before the command. */
  readonly lead: string
  readonly words: readonly string[]
}

/** A command for the studio's store. Renders nothing for a store in memory, which other processes can't open. */
function Command({ lead, words }: CommandProps): JSX.Element | null {
  const studio = session.value
  const url = typeof studio === 'object' ? studio.store.url : ''
  if (url === '' || url === 'memory:') return null
  return (
    <>
      {lead}
      <code class="command">{['npx', 'reprise', ...words, '--store', url].map(shellWord).join(' ')}</code>
    </>
  )
}
