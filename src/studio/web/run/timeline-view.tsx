// The timeline: rows of tasks and steps with bars over time, of which only those in sight are in the document. Keys move
// through the rows, and the chosen one is in the address.
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { clock, duration } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import type { Timeline } from '../../timeline/timeline.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Empty, Loading } from '../parts/states.tsx'
import { now } from '../parts/time.tsx'
import { useNarrow } from '../parts/use-narrow.ts'
import { WindowList } from '../parts/window-list.tsx'
import type { LiveRun } from './live-run.ts'
import { timeScale, type Stretch, type TimeScale } from './time-scale.ts'
import { timelineRows, type TimelineRow } from './timeline-rows.ts'
import { TimelineLine } from './timeline-line.tsx'

interface TimelineProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  readonly at: string | undefined
  choose(at: string | undefined): void
}

export function TimelineView({ run, detail, at, choose }: TimelineProps): JSX.Element {
  const timeline = run.timeline.value
  const narrow = useNarrow()
  const version = run.version.value
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const under = detail.status === 'running'
  const speaking = [...run.said.value.keys()].join('\n')
  const rows = useMemo(
    () =>
      timeline
        ? timelineRows({
            tasks: detail.tasks,
            timeline,
            closed,
            under,
            saying: speaking === '' ? [] : speaking.split('\n'),
          })
        : [],
    [timeline, version, detail, closed, speaking],
  )
  // a second that passes moves the bars of what is under way, and nothing else
  const end = under ? now.value : 0
  const scale = useMemo(() => timeline && scaleOf(timeline, end), [timeline, version, end])
  const index = at === undefined ? -1 : rows.findIndex((row) => row.at === at)

  const move = (by: number): void => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, index < 0 ? 0 : index + by))]
    if (next) choose(next.at)
  }
  const toggle = (task: string): void => {
    const next = new Set(closed)
    if (!next.delete(task)) next.add(task)
    setClosed(next)
  }
  const current = rows[index]
  const task = current?.is === 'task' ? current.task.name : undefined
  useShortcuts('Timeline', [
    { keys: 'j', does: 'Next row', run: () => move(1) },
    { keys: 'k', does: 'Previous row', run: () => move(-1) },
    { keys: 'J', does: 'Next task', run: () => moveToTask(rows, index, 1, choose) },
    { keys: 'K', does: 'Previous task', run: () => moveToTask(rows, index, -1, choose) },
    {
      keys: 'Enter',
      does: 'Go to what is open beside it',
      run: () => document.querySelector<HTMLElement>('.detail')?.focus(),
    },
    { keys: 'l', does: 'Open or close the task', run: () => task !== undefined && toggle(task) },
  ])

  if (!timeline || !scale) return <Loading what="the timeline" />
  if (rows.length === 0) return <Empty title="Nothing has happened yet">A worker or a resume begins the run.</Empty>
  return (
    <div class="timeline">
      <Axis scale={scale} />
      <WindowList
        rows={rows}
        rowHeight={narrow ? 42 : 32}
        keyOf={keyOf}
        label="Tasks and steps"
        current={index < 0 ? undefined : index}
        render={(row) => (
          <TimelineLine row={row} scale={scale} chosen={row === current} choose={choose} toggle={toggle} run={run} />
        )}
      />
    </div>
  )
}

function moveToTask(rows: readonly TimelineRow[], index: number, by: 1 | -1, choose: (at: string) => void): void {
  for (let next = index + by; next >= 0 && next < rows.length; next += by) {
    const row = rows[next]
    if (row?.is === 'task') return choose(row.at)
  }
}

function Axis({ scale }: { readonly scale: TimeScale }): JSX.Element {
  const ticks = ticksOf(scale)
  return (
    <div class="axis" aria-hidden="true">
      <span class="axis-label">{clock(new Date(scale.from).toISOString())}</span>
      <div class="lane">
        {ticks.map(({ place, words }) => (
          <span key={place} class="tick" style={{ left: `${place * 100}%` }}>
            {words}
          </span>
        ))}
        {scale.gaps.map((gap) => (
          <span
            key={gap.from}
            class="gap"
            title={`nothing happened for ${duration(gap.to - gap.from)}`}
            style={{ left: `${scale.at(gap.from) * 100}%`, width: `${(scale.at(gap.to) - scale.at(gap.from)) * 100}%` }}
          />
        ))}
      </div>
    </div>
  )
}

/** A few marks, each with the time since the run began. */
function ticksOf(scale: TimeScale): { readonly place: number; readonly words: string }[] {
  const found: { place: number; words: string }[] = []
  for (const share of [0, 0.25, 0.5, 0.75]) {
    const time = timeAt(scale, share)
    found.push({ place: share, words: duration(time - scale.from) })
  }
  return found
}

function timeAt(scale: TimeScale, share: number): number {
  let [low, high] = [scale.from, scale.to]
  for (let round = 0; round < 40; round++) {
    const middle = (low + high) / 2
    if (scale.at(middle) < share) low = middle
    else high = middle
  }
  return low
}

function scaleOf(timeline: Timeline, until: number): TimeScale {
  const from = Date.parse(timeline.createdAt ?? '') || 0
  const to = Math.max(Date.parse(timeline.updatedAt ?? '') || from, until)
  const busy: Stretch[] = []
  const add = (begun: string, ended: string | undefined): void => {
    busy.push({ from: Date.parse(begun), to: ended === undefined ? to : Date.parse(ended) })
  }
  for (const attempt of timeline.attempts) {
    busy.push({ from: Date.parse(attempt.from), to: Date.parse(attempt.from) })
    for (const step of attempt.steps) if (step.to !== undefined || until > 0) add(step.from, step.to)
  }
  if (until > 0) add(timeline.lives.at(-1)?.from ?? timeline.createdAt ?? '', undefined)
  return timeScale(busy, from, to)
}

function keyOf({ key }: TimelineRow): string {
  return key
}
