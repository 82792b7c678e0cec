// Why a run stands as it does, in facts: what to do about it is for those who show it.
import { childRun, rootRun } from '../journal/paths.ts'
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

/** Of a run that waits, was stopped or failed: a sentence. */
export function whyOf({ runId, status, openQuestions, suspended, error }: Standing): string | undefined {
  switch (status) {
    case 'waiting':
      return `it waits for ${plural(openQuestions, 'answer')}`
    case 'stopped':
      return `it ${stoppedWords(runId, suspended)}`
    case 'failed':
      return error?.message
    default:
      return undefined
  }
}

/** Of a run that is suspended and waits for no answer: `was stopped`. */
export function stoppedWords(runId: string, suspended: RunState['suspended']): string {
  switch (suspended?.reason) {
    case 'questions':
    case 'limit':
      return 'has its answers'
    case 'child': {
      const runs = (suspended.children ?? []).map((attempt) => childRun(runId, attempt))
      return runs.length === 0 ? 'has its answers' : `waited for ${runs.join(' and ')}`
    }
    case 'parent':
      return `works for run ${rootRun(runId)}, which has used up its budget`
    case 'through':
      return `stopped after task ${suspended.through}, as asked`
    case 'takeovers':
      return 'was taken up five times without a new step, so it is left alone until somebody finds out what ends its processes'
    case 'edited':
      return 'lacks entries, or some were changed, and it has tasks to do'
    default:
      return 'was stopped'
  }
}
