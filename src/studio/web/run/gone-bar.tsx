// Why a run is abandoned or was given up, and where it was then, with what continues it.
import type { JSX } from 'preact'
import { attemptsOnPath } from '../../../journal/paths.ts'
import { longTime } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import { isGivenUpReason } from '../../../runs/why.ts'
import type { Timeline } from '../../../runs/timeline.ts'
import { Command } from '../parts/command.tsx'
import { Icon } from '../parts/icons.tsx'
import { sentence } from '../parts/states.tsx'
import { Link } from '../routing/link.tsx'
import { navigate, withQuery } from '../routing/router.ts'
import { selectionPath } from './selection.ts'
import { lastRecorded, processWords } from './takeovers.ts'

interface GoneProps {
  readonly detail: RunDetail
  readonly timeline: Timeline
  /** The runs of its nested crews, as far as they are read. */
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
            The last of these, {who}, ended{where}. Find out why it ended there before the run is executed again.{' '}
          </>
        ) : (
          <>
            {sentence(who)} is gone.{' '}
            {last && (
              <>
                The last entry is from {longTime(last.at)}
                {where && ','}
                {where}.{' '}
              </>
            )}
          </>
        )}
        {open.length > 0 && `Under way then: ${open.join(', ')}; how that ended is not recorded. `}
        {detail.caller === undefined && <Continues detail={detail} />}
      </p>
      {can.includes('resume') && (
        <button type="button" onClick={() => navigate(withQuery({ take: 'resume' }))}>
          <Icon name="play" size={15} />
          Resume
        </button>
      )}
    </div>
  )
}

/** Whether there is something to say of a process that ended. */
export function isGone(detail: RunDetail): boolean {
  return detail.status === 'abandoned' || isGivenUpReason(detail)
}

function Continues({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { runId, can } = detail
  if (can.includes('requeue') && !can.includes('resume'))
    return <Command lead="A worker continues it after: " words={['requeue', runId]} />
  const resume = <Command lead={can.includes('resume') ? 'In a shell: ' : ', or: '} words={['resume', runId]} />
  return can.includes('resume') || isGivenUpReason(detail) ? resume : <>A worker of its crew continues it{resume}</>
}

/** `task plan`, `step plan#1/2`, with the run of a crew before it. */
function placeWords(root: string, run: string, path: string): string {
  const within = run === root ? '' : `${run.slice(root.length + 1)} / `
  return `${attemptsOnPath(path).at(-1) === path ? 'task' : 'step'} ${within}${path}`
}
