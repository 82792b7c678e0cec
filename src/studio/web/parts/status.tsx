// The status of a run or task: a word with a mark, never colour alone. Also the named values in lists of facts.
import type { JSX, ComponentChildren } from 'preact'
import { runViewStatuses, taskViewStatuses, type RunViewStatus, type TaskViewStatus } from '../../../runs/status.ts'

type Tone = 'good' | 'bad' | 'busy' | 'asks' | 'quiet'

const tones: { readonly [status in RunViewStatus | TaskViewStatus]: Tone } = {
  queued: 'quiet',
  running: 'busy',
  abandoned: 'bad',
  waiting: 'asks',
  sleeping: 'quiet',
  stopped: 'quiet',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
  pending: 'quiet',
  started: 'quiet',
  skipped: 'quiet',
  left: 'quiet',
  executed: 'good',
  inherited: 'quiet',
  edited: 'asks',
}

export function statusTone(status: RunViewStatus | TaskViewStatus): Tone {
  return tones[status]
}

export function Status({ status }: { readonly status: RunViewStatus | TaskViewStatus }): JSX.Element {
  const meaning = { ...taskViewStatuses, ...runViewStatuses }[status]
  return (
    <span class={`status tone-${tones[status]} is-${status}`} title={meaning}>
      <i class="mark" aria-hidden="true" />
      {status}
    </span>
  )
}

export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  )
}
