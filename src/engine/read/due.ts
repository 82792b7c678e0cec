// When a run wants a worker, from nothing but its journal: whoever records anything in it writes this again.
import { parentRunId } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Batch } from '../../stores/store.ts'
import type { RowSummary } from './row-summary.ts'

/** Whether it was put aside because its processes ended each time (run/resume-run.ts). */
export function isGivenUp({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  return suspended?.reason === 'takeovers'
}

export const givenUpReason = 'was given up: its process ended five times in a row without a new step'

/** Undefined: nobody takes it up by itself, or it works for another run, which is taken up instead. */
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

/** Whether only a person continues it, or has it tried again before its time. */
export function isParked({ status, imported }: RunState): boolean {
  if (status === 'completed' || status === 'cancelled') return false
  return status === 'suspended' || status === 'failed' || imported === true
}

/** The time that it waits for, if it does, in ISO 8601. */
export function dueTime(state: RunState): string | undefined {
  const due = dueAt(state)
  return typeof due === 'number' ? new Date(due).toISOString() : undefined
}

/**
 * Whether what a suspended run waits for may be there. One that was stopped, as asked or for its own good, is continued
 * only by a resume.
 */
export function isWoken(run: Pick<RowSummary, 'suspended' | 'woken'>): boolean {
  return run.woken === true && canWake(run)
}

export interface Wakeable extends Pick<RowSummary, 'suspended' | 'woken'> {
  readonly imported?: boolean | undefined
}

/** Whether a suspended run has what it waited for, and a worker continues it, or the run that it works for. */
export function isReady(run: Wakeable): boolean {
  return !run.imported && isWoken(run)
}

/** Whether a suspended run waits for something that wakes it by itself when it comes. */
export function canWake({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  const reason = suspended?.reason
  return reason === 'questions' || reason === 'limit' || reason === 'child' || reason === 'parent'
}

/** Whether a worker may continue the run now, in ms since 1970. */
export function isDue(state: RunState, now: number): boolean {
  const due = dueAt(state)
  return due === 'now' || (due !== undefined && due <= now)
}
