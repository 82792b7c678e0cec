// The rows of a run together with those of the runs of its crews that are open, at whatever depth. One that is under
// way, waits or has failed is open by itself, and so is one in which something is chosen; the others when somebody
// opens them. Pure: which runs are still to be read is part of what comes out.
import { isInTreeOf } from '../../../journal/paths.ts'
import type { RunDetail } from '../../api/contract.ts'
import type { AttemptSpan, Timeline } from '../../../runs/timeline.ts'
import { timelineRows, type TimelineRow } from './timeline-rows.ts'

/** As far as it is known. */
export interface ChildRun {
  readonly detail: RunDetail | undefined
  readonly timeline: Timeline | undefined
  readonly error: unknown
}

interface TreeRowsRequest {
  readonly root: { readonly detail: RunDetail; readonly timeline: Timeline; readonly saying: Iterable<string> }
  /** Those that are followed now, by id. */
  readonly children: ReadonlyMap<string, ChildRun>
  /** What somebody opened (true) or closed, by the key of the fold. */
  readonly folds: ReadonlyMap<string, boolean>
  /** The run in which something is chosen. */
  readonly chosen: string
}

interface TreeRows {
  readonly rows: readonly TimelineRow[]
  /** The runs that are open and not followed yet. */
  readonly wanted: readonly string[]
}

/** So many are opened by themselves: each is read again with every change. */
const openByDefault = 5

export function treeRows({ root, children, folds, chosen }: TreeRowsRequest): TreeRows {
  const wanted: string[] = []
  let unasked = 0
  const isOpen = ({ child = '', status }: AttemptSpan): boolean => {
    const byHand = folds.get(child)
    if (byHand !== undefined) return byHand
    const unsettled = status === 'open' || status === 'failed'
    // one that has been shown stays, also when it is done
    const shown = children.has(child) || isInTreeOf(chosen, child)
    if (!shown && (!unsettled || unasked >= openByDefault)) return false
    if (unsettled) unasked++
    return true
  }
  const within = (attempt: AttemptSpan, level: number): readonly TimelineRow[] | undefined => {
    const { child = '' } = attempt
    if (!isOpen(attempt)) return undefined
    const known = children.get(child)
    if (!known) wanted.push(child)
    if (known?.detail && known.timeline) return rowsOf(known.detail, known.timeline, level, [])
    return [missingRow(child, level, known?.error)]
  }
  const rowsOf = (detail: RunDetail, timeline: Timeline, level: number, saying: Iterable<string>): TimelineRow[] =>
    timelineRows({
      tasks: detail.tasks,
      timeline,
      level,
      under: detail.status === 'running',
      saying,
      isOpen: (key) => folds.get(key) ?? true,
      within,
    })
  return { rows: rowsOf(root.detail, root.timeline, 0, root.saying), wanted }
}

function missingRow(run: string, level: number, error: unknown): TimelineRow {
  const words = error === undefined ? 'Reading its run …' : `Its run can’t be shown: ${(error as Error).message}`
  return { type: 'missing', run, key: `missing ${run}`, depth: 0, level, at: '', words, bars: [] }
}
