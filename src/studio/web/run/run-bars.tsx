// Bars on a run's page for what needs a decision: a run whose process is gone, and orphaned tasks. Each says why,
// where, and how to continue, as a button and as a command.
import type { JSX } from 'preact'
import { attemptsOnPath } from '../../../journal/paths.ts'
import { longTime } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import { isGivenUpReason } from '../../../runs/why.ts'
import type { Timeline } from '../../../runs/timeline.ts'
import { Icon } from '../parts/icons.tsx'
import { sentence } from '../parts/states.tsx'
import { Link, navigate, withQuery, selectionPath } from '../routing/router.tsx'
import { lastRecorded, processWords } from './takeovers.ts'
import { suggestDecision, describeOrphan } from '../../../journal/describe.ts'
import { shellWord } from '../../../text/shell-word.ts'
import { session } from '../api/studio-session.ts'

interface GoneProps {
  readonly detail: RunDetail
  readonly timeline: Timeline
  /** Its child runs that are loaded. */
  readonly inner: readonly Timeline[]
}

export function GoneBar({ detail, timeline, inner }: GoneProps): JSX.Element {
  const { runId, can } = detail
  const last = lastRecorded([timeline, ...inner])
  const life = timeline.lives.at(-1)
  const host = life?.holder === undefined ? '' : ` on ${life.holder.host}`
  const who = `${(life && processWords(life)) ?? 'the process'}${host}`
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
            The last process, {who}, ended{where}. Find out why before you resume the run.{' '}
          </>
        ) : (
          <>
            {sentence(who)} is gone.{' '}
            {last && (
              <>
                The last entry was recorded {longTime(last.at)}
                {where}.{' '}
              </>
            )}
          </>
        )}
        {open.length > 0 && `Interrupted: ${open.join(', ')}; the outcome isn’t recorded. `}
        {detail.caller === undefined && <Continues detail={detail} />}
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

/** Whether the process of the run ended before the run did. */
export function isGone(detail: RunDetail): boolean {
  return detail.status === 'abandoned' || isGivenUpReason(detail)
}

function Continues({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { can } = detail
  if (can.includes('requeue') && !can.includes('resume'))
    return <Command lead="To continue it by a worker: " words={['requeue', detail.runId]} />
  const resume = (
    <Command lead={can.includes('resume') ? 'To resume it in a shell: ' : ', or: '} words={resumeWords(detail)} />
  )
  return can.includes('resume') || isGivenUpReason(detail) ? resume : <>A worker of the crew will continue it{resume}</>
}

/** `task plan`, `step plan#1/2`, after the path of a child run. */
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

/** A command for the studio's store. Nothing for a store in memory, which other processes can't open. */
export function Command({ lead, words }: CommandProps): JSX.Element | null {
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
