// A row of the timeline: its label and its bars.
import type { JSX } from 'preact'
import { amount, preciseDuration, plural } from '../../../text/words.ts'
import type { StepSpan } from '../../../runs/timeline.ts'
import { Icon } from '../parts/icons.tsx'
import { Status } from '../parts/status.tsx'
import { Link, selectionPath } from '../routing/router.tsx'
import { decisionWords } from '../waiting/decision-words.ts'
import type { LiveRun } from './live-run.ts'
import type { Takeover } from './takeovers.ts'
import { markPlace, type TimeScale } from './time-scale.ts'
import { triesWords, type Bar, type Fold, type TimelineRow } from './timeline-rows.ts'

/** Deeper levels aren't indented further, to leave room for the bars. */
const maxIndent = 6

interface LineProps {
  readonly row: TimelineRow
  readonly scale: TimeScale
  readonly takeovers: readonly Takeover[]
  readonly chosen: boolean
  readonly run: LiveRun
  toggle(row: TimelineRow, fold: Fold): void
}

export function TimelineLine({ row, scale, takeovers, chosen, toggle, run }: LineProps): JSX.Element {
  const { fold } = row
  return (
    <div class={`line is-${row.type} ${chosen ? 'is-chosen' : ''}`}>
      <div class={`line-label depth-${Math.min(row.depth, 6)}`} style={{ '--level': Math.min(row.level, maxIndent) }}>
        {fold ? (
          <button
            type="button"
            class="fold"
            aria-label={fold.label}
            aria-expanded={fold.open}
            onClick={() => toggle(row, fold)}
          >
            <Icon name="chevron" size={14} />
          </button>
        ) : (
          row.type === 'task' && <span class="fold" />
        )}
        {row.type === 'missing' ? (
          <span class="line-link faint clip" role="status">
            {row.words}
          </span>
        ) : (
          <Link to={selectionPath(row)} replace class="line-link" aria-current={chosen ? 'true' : undefined}>
            <Label row={row} run={run} />
          </Link>
        )}
      </div>
      <div class="lane" aria-hidden="true">
        {takeovers.map(({ at, gone }) => (
          <b key={at} class={gone ? 'is-gone' : ''} style={{ left: markPlace(scale, at) }} />
        ))}
        {row.bars.map((bar, index) => (
          <BarMark key={index} bar={bar} scale={scale} />
        ))}
      </div>
    </div>
  )
}

interface LabelProps {
  readonly row: Exclude<TimelineRow, { readonly type: 'missing' }>
  readonly run: LiveRun
}

function Label({ row, run }: LabelProps): JSX.Element {
  switch (row.type) {
    case 'task': {
      const { task, unexecuted, steps } = row
      const from = unexecuted?.as === 'inherited' && unexecuted.from !== undefined ? ` from ${unexecuted.from}` : ''
      return (
        <>
          <strong class="clip">{task.name}</strong>
          <Status status={task.status} />
          {task.child !== undefined && <Icon name="crew" size={14} />}
          <span class="faint clip">
            {from === '' ? (task.agent ?? (task.child === undefined ? '' : 'nested crew')) : from}
            {steps > 0 && row.fold?.open === false ? ` · ${plural(steps, 'step')}` : ''}
            {task.attempts > 1 ? ` · ${task.attempts} attempts` : ''}
          </span>
        </>
      )
    }
    case 'attempt': {
      const { attempt, number } = row
      const what =
        attempt.within === undefined ? `attempt ${number}` : (attempt.agent ?? attempt.path.split('/').at(-1))
      return (
        <>
          <Icon name={attempt.child === undefined ? 'repeat' : 'crew'} size={14} />
          <span>{what}</span>
          <span class="faint clip">
            {attempt.status === 'open' ? '' : attempt.status}
            {attempt.because.length > 0 ? ` · ${attempt.because.join('; ')}` : ''}
          </span>
        </>
      )
    }
    case 'step': {
      const { step } = row
      return (
        <>
          <Icon name={step.kind} size={14} />
          <span class={step.kind === 'tool' ? 'mono' : ''}>
            {step.kind === 'tool' ? (step.name ?? 'tool') : step.status === 'failed' ? 'model call' : 'reply'}
          </span>
          {step.status !== 'done' && <StepState status={step.status} run={run} />}
          {step.source !== undefined && <span class="step-state">{step.source}</span>}
          {triesWords(step) !== '' && <span class="step-state is-failed">{triesWords(step)}</span>}
          <span class="faint clip">{step.words}</span>
          <span class="line-end number faint">
            {step.usage ? `${amount(step.usage.input + step.usage.output)} tok · ` : ''}
            {step.to === undefined ? '' : preciseDuration(Date.parse(step.to) - Date.parse(step.from))}
          </span>
        </>
      )
    }
    case 'question': {
      const { question } = row
      return (
        <>
          <Icon name="hand" size={14} />
          <span>{question.id}</span>
          <span class="faint clip">
            {question.decision === undefined
              ? 'waiting for a person'
              : `${decisionWords(question.kind, question.decision).done}${question.by === undefined ? '' : ` by ${question.by}`}`}
          </span>
        </>
      )
    }
    case 'streaming': {
      // the stream of the page's run includes its child runs
      const path = `${row.run}/${row.path}`.slice((run.timeline.value?.runId.length ?? 0) + 1)
      return (
        <>
          <Icon name="model" size={14} />
          <span>streaming</span>
          <span class="faint clip">{run.streamed.value.get(path)?.text.slice(-160) ?? ''}</span>
        </>
      )
    }
  }
}

/** A step without an end is in progress only while a process executes the run. */
function StepState({ status, run }: { readonly status: StepSpan['status']; readonly run: LiveRun }): JSX.Element {
  if (status === 'open' && run.detail.value?.status !== 'running')
    return <span class="step-state">outcome not recorded</span>
  return <span class={`step-state is-${status}`}>{status === 'open' ? 'in progress' : status}</span>
}

/** A bar. At the very end, it still has room for its minimum width of three pixels. */
export function BarMark({ bar, scale }: { readonly bar: Bar; readonly scale: TimeScale }): JSX.Element {
  const left = scale.at(Date.parse(bar.from))
  const right = bar.to === undefined ? 1 : scale.at(Date.parse(bar.to))
  return (
    <i
      class={`mark-${bar.tone} ${bar.to === undefined ? 'is-open' : ''}`}
      style={{
        left: `min(${left * 100}%, 100% - 3px)`,
        width: `${Math.max(0, right - left) * 100}%`,
        // the class of `asks` draws stripes
        'background-color': bar.tone === 'asks' ? undefined : `var(--bar-${bar.tone})`,
      }}
    />
  )
}
