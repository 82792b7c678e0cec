// Why a run stands as it does, as a sentence of facts: what to do about it is for those who show it.
import { childRun } from '../journal/paths.ts'
import type { RunState } from '../journal/state/state.ts'
import { plural } from '../text/words.ts'
import type { RunViewStatus } from './status.ts'

interface Standing {
  readonly runId: string
  readonly status: RunViewStatus
  readonly openQuestions: number
  readonly suspended: RunState['suspended']
  readonly error: RunState['error']
}

/** Of a run that waits, was stopped or failed. */
export function whyOf({ runId, status, openQuestions, suspended, error }: Standing): string | undefined {
  switch (status) {
    case 'waiting':
      return `it waits for ${plural(openQuestions, 'answer')}`
    case 'stopped':
      return whyStopped(runId, suspended)
    case 'failed':
      return error?.message
    default:
      return undefined
  }
}

function whyStopped(runId: string, suspended: RunState['suspended']): string {
  switch (suspended?.reason) {
    case 'questions':
    case 'limit':
      return 'the answers that it waited for are there'
    case 'child':
      return `it waited for ${(suspended.children ?? []).map((attempt) => childRun(runId, attempt)).join(' and ')}`
    case 'parent':
      return 'the run that it works for has used up its budget'
    case 'through':
      return `it was to stop after task ${suspended.through}`
    case 'takeovers':
      return 'it was taken up five times without a new step'
    case 'edited':
      return 'entries of its journal are missing or were changed, and it has tasks to do'
    default:
      return 'it was stopped'
  }
}
