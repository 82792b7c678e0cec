// Checks that must pass after any history and any kills. Each returns one sentence per defect.
import { startedCall } from '../../src/journal/call-entries.ts'
import { isEnded } from '../../src/journal/state/state.ts'
import type { At, Step } from './act.ts'
import type { Known } from './history.ts'
import { effectsIn, type Effect, type Happened } from './ledger.ts'
import { hashOf } from './random.ts'
import { rootOf } from './run-ids.ts'
import type { Looked } from './stage.ts'

/** Steps and effects as journals record them, and as they happened. */
export interface Counts {
  readonly replies: number
  readonly called: number
  readonly requests: number
  readonly effects: number
  /** Those calls and effects that only read: nothing waits until their entries are on disk. */
  readonly calledReads: number
  readonly reads: number
}

const handedOn = ['delegate_work', 'ask_coworker']

export function countsOf(runs: readonly Looked[], happened: readonly Happened[]): Counts {
  const entries = runs.flatMap((run) => run.entries)
  const called = entries
    .filter((entry) => !(entry.type === 'tool.called' && handedOn.includes(entry.tool)))
    .flatMap((entry) => startedCall(entry) ?? [])
  const effects = effectsIn(happened)
  return {
    replies: entries.filter(({ type }) => type === 'model.replied').length,
    called: called.length,
    requests: happened.filter(({ what }) => what === 'request').length,
    effects: effects.length,
    calledReads: called.filter(({ effect }) => effect === 'read').length,
    reads: effects.filter(({ effect }) => effect === 'read').length,
  }
}

/** Upper limit of the work in progress in a process. */
const inFlight = 12

/**
 * Checks that no recorded work is repeated: in a life, no more happens than is recorded, except for what was in
 * progress at a kill.
 */
export function repeatedWork(before: Counts, after: Counts, killed: boolean, throws: boolean): string[] {
  const grown = (key: keyof Counts): number => after[key] - before[key]
  const lostReplies = grown('requests') - grown('replies')
  const lostCalls = grown('called') - grown('effects')
  const lostReads = grown('calledReads') - grown('reads')
  const most = killed ? inFlight : 0
  return [
    ...(lostReplies < 0 || lostReplies > most
      ? [
          `repeated: ${grown('requests')} requests for ${grown('replies')} recorded replies${killed ? ' before a kill' : ''}`,
        ]
      : []),
    ...(!throws && (lostCalls - lostReads < 0 || lostReads < -most || lostCalls > most)
      ? [`repeated: ${grown('effects')} effects for ${grown('called')} recorded calls${killed ? ' before a kill' : ''}`]
      : []),
  ]
}

/** Checks that everything in the journals happened, and that everything that happened is in the journals. */
export function untrueJournals(
  runs: readonly Looked[],
  at: At,
  known: ReadonlyMap<string, Known>,
  happened: readonly Happened[],
): string[] {
  const done = new Set(effectsIn(happened).map(({ key }) => key))
  const problems: string[] = []
  for (const { run, state, entries } of runs) {
    const called = new Set(entries.flatMap((entry) => startedCall(entry)?.idempotencyKey ?? []))
    for (const attempt of state.attempts.values()) {
      for (const call of attempt.turns.flatMap((turn) => turn.calls)) {
        if (call.source || !call.outcome || !('result' in call.outcome) || handedOn.includes(call.request.tool))
          continue
        if (call.idempotencyKey !== undefined && !done.has(call.idempotencyKey))
          problems.push(`untrue: ${run} has a result of ${call.path}, which never happened`)
      }
    }
    const root = known.get(rootOf(run))
    // the other store may have a run of the same id, and a deleted run may have had it
    for (const effect of root && root.at !== at ? [] : effectsIn(happened.slice(root?.born ?? 0))) {
      // a read may have been made by a process that was killed before its entry was on disk
      if (effect.run === run && effect.effect !== 'read' && !called.has(effect.key))
        problems.push(`untrue: ${effect.tool} of ${effect.path} is in no entry of ${run}`)
    }
  }
  return problems
}

/** Checks that a run has every call of its ancestors once. */
export function multipliedCalls(runs: readonly Looked[]): string[] {
  return runs.flatMap(({ run, state: { inheritedCalls } }) => {
    const different = new Set(inheritedCalls.map(hashOf)).size
    return different < inheritedCalls.length
      ? [`known calls: ${run} knows ${inheritedCalls.length} calls, of which ${different} differ`]
      : []
  })
}

/** Finds `once` effects that their run or an ancestor already had, and that no person allowed again. */
export function doubledEffects(
  runs: readonly Looked[],
  known: ReadonlyMap<string, Known>,
  happened: readonly Happened[],
  since: number,
): string[] {
  // an answer of a person allows one call
  const allowed = new Map<string, number>()
  for (const entry of runs.flatMap((run) => run.entries)) {
    if (entry.type !== 'tool.called' || entry.allowedBy === undefined) continue
    allowed.set(entry.idempotencyKey, (allowed.get(entry.idempotencyKey) ?? 0) + 1)
  }
  return happened.slice(since).flatMap((effect, index) => {
    if (effect.what !== 'effect' || effect.effect !== 'once') return []
    const at = since + index
    const times = effectsIn(happened.slice(0, at)).filter(({ run, key }) => run === effect.run && key === effect.key)
    if (times.length < (allowed.get(effect.key) ?? 0)) return []
    const before = earlierEffects(effect, at, known, happened)
    const what = `once: ${effect.tool} of ${effect.path} in ${effect.run} again, without being asked`
    return before ? [`${what}: it was done in ${before.run}`] : []
  })
}

function earlierEffects(
  effect: Effect,
  at: number,
  known: ReadonlyMap<string, Known>,
  happened: readonly Happened[],
): Effect | undefined {
  const alike = (run: string, from: number, until: number): Effect | undefined =>
    effectsIn(happened.slice(from, until)).find(
      (one) =>
        rootOf(one.run) === run &&
        one.path === effect.path &&
        one.tool === effect.tool &&
        hashOf(one.input) === hashOf(effect.input),
    )
  const root = rootOf(effect.run)
  let run = known.get(root)
  const here = alike(root, run?.born ?? 0, at)
  if (here) return here
  let until = at
  while (run && !run.again && run.parent !== undefined) {
    until = Math.min(until, run.born)
    const parent = known.get(run.parent)
    // a run with the same id may have been created since
    const found = alike(run.parent, parent && parent.born < until ? parent.born : 0, until)
    if (found) return found
    run = parent
  }
  return undefined
}

/** Checks what a step must leave behind, and what it must not. */
export function badTraces(
  step: Step,
  before: readonly Looked[],
  after: readonly Looked[],
  news: readonly Happened[],
): string[] {
  const there = new Map(after.map((one) => [one.run, one]))
  switch (step.act) {
    case 'delete':
      return after.filter(({ run }) => rootOf(run) === step.run).map(({ run }) => `delete: ${run} is still there`)
    case 'prune':
      return before.flatMap(({ run }) => {
        const root = there.get(rootOf(run))
        return root && !there.has(run) && !isEnded(root.state.status)
          ? [`prune: ${run} is gone, and ${root.run} is unfinished`]
          : []
      })
    case 'cancel':
      return after
        .filter(({ run, state }) => rootOf(run) === step.run && !isEnded(state.status) && state.status !== 'failed')
        .map(({ run, state }) => `cancel: ${run} is ${state.status}, and ${step.run} was cancelled`)
    case 'backtest':
      return news.flatMap((one) => {
        if (one.what === 'callback') return [`backtest: a callback of ${one.path} was called`]
        return one.what === 'effect' && one.effect !== 'read' ? [`backtest: ${one.tool} of ${one.path} was done`] : []
      })
    default:
      return []
  }
}
