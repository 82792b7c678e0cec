// Why a run is abandoned and where it was then, with what continues it beside that.
import type { JSX } from 'preact'
import { attemptsIn } from '../../../journal/paths.ts'
import { longTime } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import type { Timeline } from '../../timeline/timeline.ts'
import { Icon } from '../parts/icons.tsx'
import { sentence } from '../parts/states.tsx'
import { Link } from '../routing/link.tsx'
import { navigate, withQuery } from '../routing/router.ts'
import { chosenPath } from './chosen.ts'
import { lastRecorded, processWords } from './takeovers.ts'

interface AbandonedProps {
  readonly detail: RunDetail
  readonly timeline: Timeline
  /** The runs of its nested crews, as far as they are read. */
  readonly inner: readonly Timeline[]
}

export function AbandonedBar({ detail, timeline, inner }: AbandonedProps): JSX.Element {
  const last = lastRecorded([timeline, ...inner])
  const life = timeline.lives.at(-1)
  const who = (life && processWords(life)) ?? 'the process'
  const host = life?.holder === undefined ? '' : ` on ${life.holder.host}`
  const open = last?.open.map(({ name }) => name ?? 'a call') ?? []
  return (
    <div class="gone-bar" role="status">
      <p>
        {sentence(who)}
        {host} is gone.{' '}
        {last && (
          <>
            The last entry is from {longTime(last.at)}
            {last.path !== undefined && (
              <>
                , at{' '}
                <Link to={chosenPath({ run: last.run, at: last.path })}>
                  {placeWords(detail.runId, last.run, last.path)}
                </Link>
              </>
            )}
            .
          </>
        )}{' '}
        {open.length > 0 && `Under way then: ${open.join(', ')}; how that ended is not recorded. `}
        {!detail.can.includes('resume') &&
          detail.caller === undefined &&
          'A worker of its crew, or a resume, continues it.'}
      </p>
      {detail.can.includes('resume') && (
        <button type="button" onClick={() => navigate(withQuery({ take: 'resume' }))}>
          <Icon name="play" size={15} />
          Resume
        </button>
      )}
    </div>
  )
}

/** `task plan`, `step plan#1/2`, with the run of a crew before it. */
function placeWords(root: string, run: string, path: string): string {
  const within = run === root ? '' : `${run.slice(root.length + 1)} / `
  return `${attemptsIn(path).at(-1) === path ? 'task' : 'step'} ${within}${path}`
}
