// The timeline: a virtual list of tasks and steps with bars over time. Shortcuts move the selection, which is part of
// the address.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { isInTreeOf } from '../../../journal/paths.ts'
import { clock, duration, preciseDuration } from '../../../text/words.ts'
import type { RunDetail } from '../../api/contract.ts'
import type { Timeline } from '../../../runs/timeline.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Empty, Loading } from '../parts/states.tsx'
import { now } from '../parts/time.tsx'
import { useNarrow, WindowList } from '../parts/window-list.tsx'
import { GoneBar, isGone } from './run-head.tsx'
import type { ChildRuns, LiveRun } from './live-run.ts'
import type { Selection } from '../routing/router.tsx'
import { treeRows, type ChildRun, type Fold, type TimelineRow } from './timeline-rows.ts'
import { lastRecorded, findTakeovers, type Takeover } from './takeovers.ts'
import { markPlace, timeScale, type Stretch, type TimeScale } from './time-scale.ts'
import { TimelineLine } from './timeline-line.tsx'

interface TimelineProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  readonly inner: ChildRuns
  readonly chosen: Selection | undefined
  choose(next: Selection): void
}

export function TimelineView({ run, detail, inner, chosen, choose }: TimelineProps): JSX.Element {
  const timeline = run.timeline.value
  const isNarrow = useNarrow()
  const version = run.version.value
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map())
  const isRunning = detail.status === 'running'
  const streaming = [...run.streamed.value.keys()].join('\n')
  const { followed } = inner
  const children: ReadonlyMap<string, ChildRun> = new Map(
    [...followed.value].map(([id, child]) => [
      id,
      {
        detail: child.detail.value,
        timeline: child.timeline.value,
        error: child.error.value,
        streaming: [...child.streamed.value.keys()],
      },
    ]),
  )
  // timelines grow in place, so their versions tell whether one has grown
  const grown = [...followed.value.values()].map((child) => child.version.value).join()
  const known = useSame([...children.values()].flatMap((child) => [child.detail, child.timeline, child.error]))
  const chosenRun = chosen?.run ?? detail.runId
  const { rows, wanted } = useMemo(
    () =>
      timeline
        ? treeRows({
            root: { detail, timeline, streaming: streaming === '' ? [] : streaming.split('\n') },
            children,
            folds,
            chosen: chosenRun,
          })
        : { rows: [], wanted: [] },
    [timeline, version, detail, folds, streaming, grown, known, chosenRun],
  )
  useEffect(() => inner.follow(wanted), [inner, wanted])
  // the clock moves only the bars of a run in progress
  const end = isRunning ? now.value : 0
  const scale = useMemo(
    () => timeline && timelineScale(timeline, children, end),
    [timeline, version, grown, known, end],
  )
  const childTimelines = [...children.values()].flatMap((child) => child.timeline ?? [])
  // the last process of a given-up run recorded no step after it resumed the run; another process gave the run up
  const diedAt =
    !timeline || !isGone(detail)
      ? undefined
      : detail.status === 'abandoned'
        ? lastRecorded([timeline, ...childTimelines])?.at
        : timeline.lives.at(-1)?.from
  const takeovers = useMemo(() => findTakeovers(timeline?.lives ?? [], diedAt), [timeline, version, diedAt])
  const index = rows.findIndex((row) => row.run === chosen?.run && row.at === chosen.at)

  const move = (by: 1 | -1, fits: (row: TimelineRow) => boolean): void => {
    for (let next = index < 0 && by < 0 ? 0 : index + by; next >= 0 && next < rows.length; next += by) {
      const row = rows[next]
      // several rows may share one selection
      if (row && fits(row) && row.type !== 'missing' && !(row.run === chosen?.run && row.at === chosen.at))
        return choose(row)
    }
  }
  const toggle = (row: TimelineRow, { key, open }: Fold): void => {
    setFolds(new Map(folds).set(key, !open))
    if (!open) return
    // keeps the selection visible
    if (chosen && isInTreeOf(chosen.run, key)) choose(row)
    inner.drop(key)
  }
  const current = rows[index]
  useShortcuts('Timeline', [
    { keys: 'j', does: 'Next row', run: () => move(1, () => true) },
    { keys: 'k', does: 'Previous row', run: () => move(-1, () => true) },
    { keys: 'J', does: 'Next task', run: () => move(1, ({ type }) => type === 'task') },
    { keys: 'K', does: 'Previous task', run: () => move(-1, ({ type }) => type === 'task') },
    {
      keys: 'Enter',
      does: 'Go to the details',
      run: () => document.querySelector<HTMLElement>('.detail')?.focus(),
    },
    { keys: 'l', does: 'Expand or collapse', run: () => current?.fold && toggle(current, current.fold) },
  ])

  if (!timeline || !scale) return <Loading what="the timeline" />
  if (rows.length === 0) return <Empty title="Not started yet">A worker or a resume starts the run.</Empty>
  return (
    <div class="timeline">
      {isGone(detail) && <GoneBar detail={detail} timeline={timeline} inner={childTimelines} />}
      <Axis scale={scale} takeovers={takeovers} />
      <WindowList
        rows={rows}
        rowHeight={isNarrow ? 42 : 32}
        keyOf={rowKey}
        label="Tasks and steps"
        current={index < 0 ? undefined : index}
        render={(row) => (
          <TimelineLine
            row={row}
            scale={scale}
            takeovers={takeovers}
            chosen={row === current}
            toggle={toggle}
            run={run}
          />
        )}
      />
    </div>
  )
}

/** Returns the previous list as long as the members are the same, for use as a dependency. */
function useSame(list: readonly unknown[]): readonly unknown[] {
  const before = useRef(list)
  const same = before.current.length === list.length && list.every((each, index) => each === before.current[index])
  if (!same) before.current = list
  return before.current
}

interface AxisProps {
  readonly scale: TimeScale
  readonly takeovers: readonly Takeover[]
}

export function Axis({ scale, takeovers }: AxisProps): JSX.Element {
  const ticks = axisTicks(scale)
  return (
    <div class="axis" aria-hidden="true">
      <span class="axis-label">{clock(new Date(scale.from).toISOString())}</span>
      <div class="lane">
        {ticks.map(({ place, words }) => (
          <span key={place} class="tick" style={{ left: `${place * 100}%` }}>
            {words}
          </span>
        ))}
        {takeovers.map(({ at, gone, words }) => (
          <span
            key={at}
            class={gone ? 'takeover is-gone' : 'takeover'}
            title={words}
            style={{ left: markPlace(scale, at) }}
          />
        ))}
        {scale.gaps.map((gap) => (
          <span
            key={gap.from}
            class="gap"
            title={`idle for ${duration(gap.to - gap.from)}`}
            style={{ left: `${scale.at(gap.from) * 100}%`, width: `${(scale.at(gap.to) - scale.at(gap.from)) * 100}%` }}
          />
        ))}
      </div>
    </div>
  )
}

/** A few ticks, each with the time since the start of the run. */
function axisTicks(scale: TimeScale): { readonly place: number; readonly words: string }[] {
  const found: { place: number; words: string }[] = []
  for (const share of [0, 0.25, 0.5, 0.75]) {
    const time = timeAt(scale, share)
    found.push({ place: share, words: preciseDuration(time - scale.from) })
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

function timelineScale(timeline: Timeline, inner: ReadonlyMap<string, ChildRun>, until: number): TimeScale {
  const from = Date.parse(timeline.createdAt ?? '') || 0
  // after a crash, a child run may have later entries than the run
  const last = [timeline, ...[...inner.values()].map((run) => run.timeline)].map((run) => run?.updatedAt ?? '')
  const to = Math.max(from, until, ...last.map((at) => Date.parse(at) || from))
  const busy: Stretch[] = []
  const add = (start: string, end: string | undefined): void => {
    busy.push({ from: Date.parse(start), to: end === undefined ? to : Date.parse(end) })
  }
  const addRun = ({ attempts }: Timeline): void => {
    for (const attempt of attempts) {
      busy.push({ from: Date.parse(attempt.from), to: Date.parse(attempt.from) })
      for (const step of attempt.steps) if (step.to !== undefined || until > 0) add(step.from, step.to)
      if (attempt.child === undefined) continue
      const child = inner.get(attempt.child)?.timeline
      // the activity of a child run is known only once it is open
      if (child) addRun(child)
      else if (attempt.to !== undefined) add(attempt.from, attempt.to)
    }
  }
  addRun(timeline)
  if (until > 0) add(timeline.lives.at(-1)?.from ?? timeline.createdAt ?? '', undefined)
  return timeScale(busy, from, to)
}

function rowKey({ key }: TimelineRow): string {
  return key
}
