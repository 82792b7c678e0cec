// What is chosen in a run, beside the timeline or the graph: a task, an attempt or a step.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { attemptsOnPath, taskInPath } from '../../../journal/paths.ts'
import { Icon } from '../parts/icons.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import type { LiveRun } from './live-run.ts'
import { StepPanel } from './step-panel.tsx'
import { TaskPanel } from './task-panel.tsx'

interface DetailProps {
  /** Undefined until it is followed. */
  readonly run: LiveRun | undefined
  readonly at: string
  close(): void
}

export function DetailPanel({ run, at, close }: DetailProps): JSX.Element {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.scrollTo(0, 0), [at])
  return (
    <aside ref={panel} class="detail panel" tabIndex={-1} aria-label={`Details of ${at}`}>
      <div class="detail-close">
        <button type="button" class="icon-button" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <Details run={run} at={at} />
    </aside>
  )
}

function Details({ run, at }: Pick<DetailProps, 'run' | 'at'>): JSX.Element {
  const detail = run?.detail.value
  const error = run?.error.value
  if (!run || !detail)
    return error === undefined ? <Loading what="its run" /> : <Failed error={error} again={() => run?.refresh()} />
  if (attemptsOnPath(at).at(-1) !== at && at.includes('#')) return <StepPanel run={run} detail={detail} path={at} />
  return <TaskPanel run={run} detail={detail} name={taskInPath(at)} attempt={at.includes('#') ? at : undefined} />
}
