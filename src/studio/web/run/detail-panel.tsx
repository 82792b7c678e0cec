// What is chosen in a run, beside the timeline or the graph: a task, an attempt or a step.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { attemptsIn, taskOf } from '../../../journal/paths.ts'
import type { RunDetail } from '../../api/contract.ts'
import { Icon } from '../parts/icons.tsx'
import type { LiveRun } from './live-run.ts'
import { StepPanel } from './step-panel.tsx'
import { TaskPanel } from './task-panel.tsx'

interface DetailProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  readonly at: string
  close(): void
}

export function DetailPanel({ run, detail, at, close }: DetailProps): JSX.Element {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.scrollTo(0, 0), [at])
  const step = attemptsIn(at).at(-1) !== at && at.includes('#')
  return (
    <aside ref={panel} class="detail panel" tabIndex={-1} aria-label={`Details of ${at}`}>
      <div class="detail-close">
        <button type="button" class="icon-button" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {step ? (
        <StepPanel run={run} detail={detail} path={at} />
      ) : (
        <TaskPanel run={run} detail={detail} name={taskOf(at)} attempt={at.includes('#') ? at : undefined} />
      )}
    </aside>
  )
}
