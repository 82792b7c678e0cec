// The steps of a flow over time: a row for each name, and below it, in pages, a row for each key. The server has the
// steps in parts, since a flow may have thousands of them. Above them is what the flow waits for.
import type { ComponentChildren, JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { StepGroup } from '../../../runs/flow-view.ts'
import { amount, longTime, someNames } from '../../../text/words.ts'
import type { ListPart, RunDetail, TaskDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Icon } from '../parts/icons.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { now } from '../parts/time.tsx'
import { Link, selectionPath, type Selection } from '../routing/router.tsx'
import type { LiveRun } from './live-run.ts'
import { GoneBar, isGone } from './run-head.tsx'
import { BarMark } from './timeline-line.tsx'
import type { Bar, BarTone } from './timeline-rows.ts'
import { Axis } from './timeline-view.tsx'
import { timeScale, type Stretch, type TimeScale } from './time-scale.ts'

interface FlowStepsProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  readonly chosen: Selection | undefined
}

type Part = ListPart & { readonly items: readonly unknown[] }

/** Up to so many keys, a name is open at first. */
const fewKeys = 8

export function FlowSteps({ run, detail, chosen }: FlowStepsProps): JSX.Element {
  const timeline = run.timeline.value
  const { runId, steps, status } = detail
  const end = status === 'running' ? now.value : 0
  const scale = useMemo(() => timeline && flowScale(detail, timeline.lives, end), [timeline, detail, end])
  if (!timeline || !scale || !steps) return <Loading what="the steps" />
  const { groups } = steps
  if (groups.total === 0) return <Empty title="No steps yet">The function of the flow has not requested any.</Empty>
  const at = chosen?.run === runId ? chosen.at.split('#')[0] : undefined
  return (
    <div class="timeline flow">
      {isGone(detail) && <GoneBar detail={detail} timeline={timeline} inner={[]} />}
      <FlowFacts detail={detail} />
      <Axis scale={scale} takeovers={[]} />
      <div role="list" aria-label="Steps">
        {groups.items.map((group) => (
          <Group key={group.name} runId={runId} group={group} scale={scale} at={at} />
        ))}
      </div>
      <Pager of={groups} what="names" turn={(from) => run.turn(from)} />
    </div>
  )
}

function flowScale(
  { createdAt, updatedAt }: RunDetail,
  lives: readonly { from: string; to: string | undefined }[],
  until: number,
): TimeScale {
  const from = Date.parse(createdAt)
  const to = Math.max(from, Date.parse(updatedAt), until)
  const busy: Stretch[] = lives.map((life) => ({
    from: Date.parse(life.from),
    to: life.to === undefined ? to : Date.parse(life.to),
  }))
  return timeScale(busy, from, to)
}

/** What the flow waits for, events that it has not taken, and recorded steps that it no longer requests. */
function FlowFacts({ detail: { runId, steps } }: { readonly detail: RunDetail }): JSX.Element | null {
  if (!steps) return null
  const { waits, events, left } = steps
  if (waits.total + events.total + left.total === 0) return null
  return (
    <ul class="flow-facts">
      {waits.items.map(({ step, wait, event, until }) => (
        <li key={step}>
          <Link to={selectionPath({ run: runId, at: step })} replace>
            {step}
          </Link>{' '}
          {wait === 'sleep' ? 'sleeps' : wait === 'event' ? `waits for event ${event}` : 'waits for an answer'}
          {until !== undefined && ` until ${longTime(until)}`}
        </li>
      ))}
      <More of={waits} what="more steps wait" />
      {events.items.map(({ seq, name, value, id, by, at }) => (
        <li key={seq}>
          Event <strong>{name}</strong> was received {longTime(at)}
          {by !== undefined && ` from ${by}`}
          {id !== undefined && ` (${id})`}, and no step has taken it: <code>{JSON.stringify(value)}</code>
        </li>
      ))}
      <More of={events} what="more events" />
      {left.total > 0 && (
        <li>
          Recorded, but no longer requested by the code: {someNames(left.items)}
          {left.total > left.items.length && `, ${left.total - left.items.length} more`}
        </li>
      )}
    </ul>
  )
}

function More({ of: { items, total }, what }: { readonly of: Part; readonly what: string }): JSX.Element | null {
  return total > items.length ? (
    <li class="faint">
      {amount(total - items.length)} {what}
    </li>
  ) : null
}

interface GroupProps {
  readonly runId: string
  readonly group: StepGroup
  readonly scale: TimeScale
  /** The selected step. */
  readonly at: string | undefined
}

function Group({ runId, group, scale, at }: GroupProps): JSX.Element {
  const { name, single, total, failed, startedAt, settledAt, status } = group
  const open = total - group.done - failed
  const [isOpen, setOpen] = useState(!single && (total <= fewKeys || (at?.startsWith(`${name}[`) ?? false)))
  const tone: BarTone = failed > 0 ? 'bad' : open > 0 ? 'busy' : 'good'
  const bars = startedAt === undefined ? [] : [{ from: startedAt, to: open > 0 ? undefined : settledAt, tone }]
  if (single)
    return (
      <Line scale={scale} bars={bars} chosen={at === name} fold={<span class="fold" />}>
        <StepLink runId={runId} name={name} chosen={at === name}>
          <strong class="clip">{name}</strong>
          {status && <Status status={status} />}
        </StepLink>
      </Line>
    )
  const fold = (
    <button
      type="button"
      class="fold"
      aria-label={`Steps of ${name}`}
      aria-expanded={isOpen}
      onClick={() => setOpen(!isOpen)}
    >
      <Icon name="chevron" size={14} />
    </button>
  )
  return (
    <>
      <Line scale={scale} bars={bars} fold={fold}>
        <span class="line-link" onClick={() => setOpen(!isOpen)}>
          <strong class="clip">{name}</strong>
          <span class="faint clip">{countWords(group)}</span>
          {failed > 0 && <span class="step-state is-failed">{amount(failed)} failed</span>}
        </span>
      </Line>
      {isOpen && <Keys runId={runId} group={group} scale={scale} at={at} />}
    </>
  )
}

/** `1.2k steps, 3 in progress` */
function countWords({ total, running, waiting }: StepGroup): string {
  const parts = [
    total === 1 ? '1 step' : `${amount(total)} steps`,
    running > 0 && `${amount(running)} in progress`,
    waiting > 0 && `${amount(waiting)} waiting`,
  ]
  return parts.filter(Boolean).join(', ')
}

function Keys({ runId, group: { name }, scale, at }: GroupProps): JSX.Element {
  const [from, setFrom] = useState(0)
  const { value, error, again } = useResource(`steps ${runId} ${name} ${from}`, (signal) =>
    call('GET /runs/{run}/tasks', { params: { run: runId }, query: { name, from }, signal }),
  )
  if (!value) return error === undefined ? <Loading what={name} /> : <Failed error={error} again={again} />
  return (
    <>
      {value.items.map((step) => (
        <Line key={step.name} scale={scale} bars={stepBars(step)} chosen={at === step.name} depth={1}>
          <StepLink runId={runId} name={step.name} chosen={at === step.name}>
            <span class="clip step-name">{step.name}</span>
            <Status status={step.status} />
            {step.child !== undefined && <Icon name="crew" size={14} />}
            <span class="faint clip">
              {step.attempts > 1 ? `${step.attempts} attempts · ` : ''}
              {step.error?.message ?? step.raw}
            </span>
          </StepLink>
        </Line>
      ))}
      <Pager of={value} what="steps" turn={setFrom} />
    </>
  )
}

const stepTones: { readonly [status in TaskDetail['status']]?: BarTone } = {
  executed: 'good',
  failed: 'bad',
  running: 'busy',
  waiting: 'asks',
}

function stepBars({ status, startedAt, completedAt, error }: TaskDetail): Bar[] {
  if (startedAt === undefined) return []
  return [{ from: startedAt, to: completedAt ?? (error ? startedAt : undefined), tone: stepTones[status] ?? 'quiet' }]
}

interface StepLinkProps {
  readonly runId: string
  readonly name: string
  readonly chosen: boolean
  readonly children: ComponentChildren
}

function StepLink({ runId, name, chosen, children }: StepLinkProps): JSX.Element {
  return (
    <Link
      to={selectionPath({ run: runId, at: name })}
      replace
      class="line-link"
      aria-current={chosen ? 'true' : undefined}
    >
      {children}
    </Link>
  )
}

interface LineProps {
  readonly scale: TimeScale
  readonly bars: readonly Bar[]
  readonly chosen?: boolean
  readonly depth?: number
  readonly fold?: JSX.Element
  readonly children: ComponentChildren
}

function Line({ scale, bars, chosen = false, depth = 0, fold, children }: LineProps): JSX.Element {
  return (
    <div class={`line ${depth === 0 ? 'is-task' : 'is-step'} ${chosen ? 'is-chosen' : ''}`} role="listitem">
      <div class={`line-label depth-${depth}`} style={{ '--level': depth }}>
        {fold}
        {children}
      </div>
      <div class="lane" aria-hidden="true">
        {bars.map((bar, index) => (
          <BarMark key={index} bar={bar} scale={scale} />
        ))}
      </div>
    </div>
  )
}

interface PagerProps {
  readonly of: Part
  readonly what: string
  turn(from: number): void
}

function Pager({ of: { items, from, total }, what, turn }: PagerProps): JSX.Element | null {
  const [size] = useState(Math.max(1, items.length))
  if (total <= items.length && from === 0) return null
  const next = from + items.length
  return (
    <div class="pager">
      <button type="button" class="quiet" disabled={from === 0} onClick={() => turn(Math.max(0, from - size))}>
        Previous
      </button>
      <span class="number faint">
        {from + 1} to {next} of {total.toLocaleString('en')} {what}
      </span>
      <button type="button" class="quiet" disabled={next >= total} onClick={() => turn(next)}>
        Next
      </button>
    </div>
  )
}
