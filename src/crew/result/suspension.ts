// Why a run is suspended, and what can be done about it. Of a result, and of whatever else tells people of it.
import { answering } from '../../engine/people/questions.ts'
import type { Question } from '../../journal/entries.ts'
import { childRun, rootRun } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { nextWords, type Next } from '../../next.ts'

export interface Suspension {
  /** Why, in one sentence without advice. */
  readonly facts: string
  /** An open question is to be answered first; else the run is to be resumed, or the one that it works for. */
  readonly next: Next
}

/** `questions`: the open ones, also those of tasks that are crews. */
export function suspensionOf(state: RunState, questions: readonly Question[]): Suspension {
  const { run, suspended } = state
  const because = (facts: string, next: Next = { act: 'resume', runId: run }): Suspension => ({ facts, next })
  switch (suspended?.reason) {
    case 'questions':
    case 'limit':
    case 'child': {
      const [first] = questions
      const asked = questions.map(({ id, text }) => `${id}: ${text}`).join(' and ')
      if (first) return because(`Run ${run} waits for an answer to ${asked}`, answering(run, first))
      const runs = (suspended.children ?? []).map((attempt) => childRun(run, attempt))
      return because(`Run ${run} ${runs.length === 0 ? 'has its answers' : `waited for ${runs.join(' and ')}`}`)
    }
    case 'parent': {
      const root = rootRun(run)
      return because(`Run ${run} works for run ${root}, which has used up its budget`, { act: 'resume', runId: root })
    }
    case 'through':
      return because(`Run ${run} stopped after task ${suspended.through}, as asked`)
    case 'takeovers':
      return because(
        `Run ${run} was taken up five times without a new step, so it is left alone until somebody finds out what ends its processes`,
      )
    case 'edited':
      return because(`Run ${run} lacks entries, or some were changed, and it has tasks to do`)
    default:
      return because(`Run ${run} was stopped`)
  }
}

/** In the library's words: one call for each open question, and the one that continues the run. */
export function suspensionWords(runId: string, { facts, next }: Suspension, questions: readonly Question[]): string {
  if (next.act === 'resume') return `${facts}; ${nextWords(next)}`
  const answers = questions.map((question) => nextWords(answering(runId, question)))
  return `${facts} (${[...answers, nextWords({ act: 'resume', runId })].join(', then ')})`
}
