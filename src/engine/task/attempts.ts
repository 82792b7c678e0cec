// Which attempt at a task to continue: the open one, if what it was made from is the same or the caller wants it
// continued as it was started; otherwise a new one. The same for every kind of task.
import { RepriseError } from '../../base/errors.ts'
import type { EntryBodies, Fingerprint, NewEntry } from '../../journal/entries.ts'
import { explainChange } from '../../journal/fingerprint.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { conditionFingerprint } from '../run/condition.ts'
import type { TaskDefinition } from '../definition.ts'
import { runOutputs } from '../run/context-fields.ts'
import type { Life } from '../life.ts'
import { refusedAnswer, revisedAnswer } from '../model/engine-prompts.ts'

export interface CurrentAttempt {
  /** The open attempt, to be continued. */
  readonly kept: AttemptState | undefined
  /**
   * For the entry of a new attempt: what has changed since the one that is given up was started, and what the condition
   * saw.
   */
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
  const underWay = last?.status === 'open' || last?.status === 'refused' ? last : undefined
  const reasons = underWay ? explainChange(underWay.fingerprint, fingerprint) : []
  const words = `has changed since it was started: ${reasons.join('; ')}`
  const next = { act: 'resume', runId: state.run, changed: 'restart' } as const
  if (reasons.length > 0 && changed === 'refuse')
    throw new RepriseError('DEFINITION_CHANGED', `it ${words}`, { runId: state.run, task: task.name, next })
  const keeps = reasons.length === 0 || (changed === 'continue' && underWay !== undefined && hasSteps(underWay))
  if (reasons.length > 0) {
    const what = keeps
      ? "it continues as it was started; resume the run with changed: 'restart' to start it anew"
      : 'it starts anew'
    crew.logger.warn(`run ${state.run}: task ${task.name} ${words}; ${what}`)
  }
  return {
    kept: keeps ? underWay : undefined,
    because: {
      ...(keeps ? {} : { because: reasons }),
      ...(known.length === 0 ? conditionFingerprint(crew, task, state) : {}),
    },
    fingerprint,
    next: nextAttempt(state, task.name),
  }
}

/** Whether there is anything to keep: a reply, a call of the function, a run of the nested crew. */
export function hasSteps({ child, carries, pinned, turns }: AttemptState): boolean {
  if (child !== undefined || carries !== undefined) return true
  return pinned ? turns.length > 0 : turns[0]?.calls[0]?.calledAt !== undefined
}

/** After the highest number of that name: lines may have been removed by hand, and renamed tasks keep their paths. */
export function nextAttempt({ attempts, tasks }: RunState, task: string): string {
  let number = Math.max(0, ...(tasks.get(task)?.attempts ?? []).map(attemptNumber)) + 1
  while (attempts.has(attemptPath(task, number))) number += 1
  return attemptPath(task, number)
}

/** The attempt at a task that has no conversation. `kind` says what a new one is. */
export async function attemptWithoutModel(
  life: Life,
  { kept, because, fingerprint, next }: CurrentAttempt,
  kind: Pick<EntryBodies['task.started'], 'code' | 'child'>,
): Promise<AttemptState> {
  if (kept) return kept
  const started: NewEntry = { type: 'task.started', path: next, fingerprint, ...kind, ...because }
  if (kind.child) await life.append([started])
  else life.note([started])
  return life.state.attempts.get(next) as AttemptState
}

/** What a model is told first in the attempt that continues this one. */
export function revisionMessage({ refusal = '', refusedBy }: AttemptState): string {
  return refusedBy === 'person' ? revisedAnswer(refusal) : refusedAnswer(refusal)
}

/** How many attempts were refused before this one, in the conversation that it continues. */
export function countRefusals(state: RunState, attempt: AttemptState): number {
  const carried = attempt.carries && state.attempts.get(attempt.carries.path)
  if (!carried) return 0
  return (carried.refusedBy === 'person' ? 0 : 1) + countRefusals(state, carried)
}

export function triesWord(count: number): string {
  return count === 1 ? 'one try' : `${count} tries`
}
