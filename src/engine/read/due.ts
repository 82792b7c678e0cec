// When a run next needs a worker, computed from its journal and stored with every append.
import { parentRunId } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Batch } from '../../stores/store.ts'
import type { RowSummary } from './row-summary.ts'

/** Whether the run was suspended because its processes died again and again (run/resume-run.ts). */
export function isGivenUp({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  return suspended?.reason === 'takeovers'
}

/** Undefined if no worker executes the run: it waits, has ended, was imported, or is a child, so its root is due. */
export function dueAt(state: RunState): Batch['due'] {
  if (state.imported || parentRunId(state.run) !== undefined) return undefined
  switch (state.status) {
    case 'queued':
      return state.notBefore === undefined ? 'now' : Date.parse(state.notBefore)
    case 'running':
      return 'now'
    case 'suspended':
      return isWoken(state) ? 'now' : undefined
    case 'failed':
      return state.retryAt === undefined ? undefined : Date.parse(state.retryAt)
    case 'completed':
    case 'cancelled':
      return undefined
  }
}

/** Whether a requeue would continue the run: it rests, or would only be tried again later. */
export function isParked({ status, imported }: RunState): boolean {
  if (status === 'completed' || status === 'cancelled') return false
  return status === 'suspended' || status === 'failed' || imported === true
}

/** The time for which the run waits, if any, in ISO 8601. */
export function dueTime(state: RunState): string | undefined {
  const due = dueAt(state)
  return typeof due === 'number' ? new Date(due).toISOString() : undefined
}

/** Whether something arrived that a suspended run waits for. A run that was stopped only continues by a resume. */
export function isWoken(run: Pick<RowSummary, 'suspended' | 'woken'>): boolean {
  return run.woken === true && canWake(run)
}

export interface Wakeable extends Pick<RowSummary, 'suspended' | 'woken'> {
  readonly imported?: boolean | undefined
}

/** Whether a worker continues a suspended run, or its root, because something that it waits for has arrived. */
export function isReady(run: Wakeable): boolean {
  return !run.imported && isWoken(run)
}

/** Whether a suspended run waits for something whose arrival wakes it. */
export function canWake({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  const reason = suspended?.reason
  return reason === 'questions' || reason === 'limit' || reason === 'child' || reason === 'parent'
}

/** Whether a worker may continue the run now, in ms since 1970. */
export function isDue(state: RunState, now: number): boolean {
  const due = dueAt(state)
  return due === 'now' || (due !== undefined && due <= now)
}
