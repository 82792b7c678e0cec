// Why a run is suspended, and the next step; used by results and by all surfaces.
import { answerStep } from '../../engine/inbox/questions.ts'
import type { Question } from '../../journal/entries.ts'
import { suggestDecision } from '../../journal/describe.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { nextWords, type NextStep } from '../../base/next.ts'
import { describeStop } from '../../runs/why.ts'

export interface Suspension {
  /** The reason, in one sentence without advice. */
  readonly facts: string
  /** Next step: answer the first open question; without one, resume the run, or its root. */
  readonly next: NextStep
}

/** `questions`: open questions, including those of nested crews. */
export function readSuspension(state: RunState, questions: readonly Question[]): Suspension {
  const { run, suspended, woken, imported } = state
  const [first] = questions
  const waits = ['questions', 'limit', 'child'].includes(suspended?.reason ?? '')
  if (waits && first) {
    const asked = questions.map(({ id, text }) => `${id}: ${text}`).join(' and ')
    return { facts: `Run ${run} waits for an answer to ${asked}`, next: answerStep(run, first) }
  }
  if (suspended?.reason === 'tasks-changed')
    return {
      facts: `Run ${run} ${describeStop({ runId: run, suspended })}`,
      next: parentRunId(run)
        ? { type: 'resume', runId: rootRunId(run) }
        : suggestDecision(run, suspended.orphaned ?? []),
    }
  if (suspended?.reason === 'moved')
    return { facts: `Run ${run} ${describeStop({ runId: run, suspended })}`, next: { type: 'requeue', runId: run } }
  const runId = suspended?.reason === 'parent' ? rootRunId(run) : run
  return {
    facts: `Run ${run} ${describeStop({ runId: run, suspended, woken, imported })}`,
    next: { type: 'resume', runId },
  }
}

/** In terms of the library: a call for each open question, then a call that resumes the run. */
export function describeSuspension(runId: string, { facts, next }: Suspension, questions: readonly Question[]): string {
  if (next.type === 'resume' || next.type === 'requeue') return `${facts}; ${nextWords(next)}`
  const answers = questions.map((question) => nextWords(answerStep(runId, question)))
  return `${facts} (${[...answers, nextWords({ type: 'resume', runId })].join(', then ')})`
}
