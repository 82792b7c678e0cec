// Decides which attempt at a task to continue: the open attempt if nothing that it depends on has changed, or if the
// caller lets it continue anyway; otherwise a new attempt. The same for agent tasks, function tasks and nested crews.
import { RepriseError } from '../../base/errors.ts'
import type { EntryBodies, Fingerprint } from '../../journal/entries.ts'
import { explainChange } from '../../journal/fingerprint.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { conditionFingerprint } from '../run/condition.ts'
import type { TaskDefinition } from '../definition.ts'
import { runOutputs } from '../run/context-fields.ts'
import type { Life } from '../life.ts'
import { refusedAnswer, revisedAnswer } from '../model/engine-prompts.ts'

export interface CurrentAttempt {
  /** The open attempt, if it is continued. */
  readonly kept: AttemptState | undefined
  /** For the entry of a new attempt: what has changed since the last one was started, and what the condition saw. */
  readonly because: Pick<EntryBodies['task.started'], 'because' | 'condition'>
  readonly fingerprint: Fingerprint
  /** The path of a new attempt. */
  readonly next: string
}

/** DEFINITION_CHANGED when the caller refuses changes. */
export function currentAttempt({ state, crew, options }: Life, task: TaskDefinition): CurrentAttempt {
  const { changed = 'continue' } = options
  const fingerprint = task.fingerprint(state.inputs, runOutputs(state))
  const known = state.tasks.get(task.name)?.attempts ?? []
  const last = state.attempts.get(known.at(-1) ?? '')
  const unfinished = last?.status === 'open' || last?.status === 'refused' ? last : undefined
  const reasons = unfinished ? explainChange(unfinished.fingerprint, fingerprint) : []
  const words = `has changed since it was started: ${reasons.join('; ')}`
  const next = { type: 'resume', runId: state.run, changed: 'restart' } as const
  if (reasons.length > 0 && changed === 'refuse')
    throw new RepriseError('DEFINITION_CHANGED', `it ${words}`, { runId: state.run, task: task.name, next })
  const keeps = reasons.length === 0 || (changed === 'continue' && unfinished !== undefined && hasSteps(unfinished))
  if (reasons.length > 0) {
    const what = keeps
      ? "it continues as it was started; resume the run with changed: 'restart' to start it again"
      : 'it starts again'
    crew.logger.warn(`run ${state.run}: task ${task.name} ${words}; ${what}`)
  }
  return {
    kept: keeps ? unfinished : undefined,
    because: {
      ...(keeps ? {} : { because: reasons }),
      ...(known.length === 0 ? conditionFingerprint(crew, task, state) : {}),
    },
    fingerprint,
    next: nextAttempt(state, task.name),
  }
}

/** Whether an attempt has anything to keep: a reply, a call of the function, a child run. */
export function hasSteps({ child, carries, pinned, turns }: AttemptState): boolean {
  if (child !== undefined || carries !== undefined) return true
  return pinned ? turns.length > 0 : turns[0]?.calls[0]?.calledAt !== undefined
}

/** The path of the next attempt. Skips used paths: lines may be removed by hand, and renamed tasks keep their paths. */
export function nextAttempt({ attempts, tasks }: RunState, task: string): string {
  let number = Math.max(0, ...(tasks.get(task)?.attempts ?? []).map(attemptNumber)) + 1
  while (attempts.has(attemptPath(task, number))) number += 1
  return attemptPath(task, number)
}

/** The message to the model with which the next attempt continues this refused one. */
export function revisionMessage({ refusal = '', refusedBy }: AttemptState): string {
  return refusedBy === 'person' ? revisedAnswer(refusal) : refusedAnswer(refusal)
}

/** How many attempts in this conversation were refused before this one, except by a person. */
export function countRefusals(state: RunState, attempt: AttemptState): number {
  const carried = attempt.carries && state.attempts.get(attempt.carries.path)
  if (!carried) return 0
  return (carried.refusedBy === 'person' ? 0 : 1) + countRefusals(state, carried)
}

export function triesWord(count: number): string {
  return count === 1 ? 'one try' : `${count} tries`
}
