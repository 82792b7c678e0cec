// The rules for tools that must not run twice. A `once` call is known by task, tool, key and occurrence within its
// attempt. Whatever is not clearly the first and only time is settled by the tool's own code or by a person, never by
// guessing.
import { defined } from '../../base/defined.ts'
import type { Answers, OnceCall, Question } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { AttemptState, CallState, RunState, ToolOutcome } from '../../journal/state/state.ts'
import { attemptsOnPath, rootAttempt } from '../../journal/paths.ts'
import { callQuestionText, doubtQuestionText, lostEntriesText } from '../inbox/questions.ts'

type NewQuestion = Question extends infer Q ? (Q extends Question ? Omit<Q, 'id'> : never) : never

export type Decision =
  | { readonly act: 'call'; readonly input?: Json; readonly allowedBy?: string }
  | {
      readonly act: 'return'
      readonly outcome: ToolOutcome
      readonly source: 'recorded' | 'answered'
      readonly by?: string | undefined
    }
  /** `of` is the path of the call whose outcome is unknown. */
  | { readonly act: 'settle'; readonly of: string; readonly question: NewQuestion }
  | { readonly act: 'ask'; readonly question: NewQuestion }
  | { readonly act: 'wait' }
  | { readonly act: 'fail'; readonly reason: string }

export interface CallQuery {
  readonly task: string
  /** Whether a call recorded under this name of a tool is one of the tool that is called. */
  isTool(recorded: string): boolean
  readonly key: string
  readonly occurrence: number
  readonly input: Json
  /** Calls of tasks and tools that are gone: this may be one of them under another name. */
  readonly unclaimed: readonly OnceCall[]
  /** Whether the tool itself can find out what happened to a call. */
  readonly settles: boolean
  /** Whether a person must approve it. */
  readonly approval: boolean
}

/** What to do about a call that may be repeated, but only if a person says so. */
export function decideApproval(state: RunState, call: CallState, asked: CallQuery): Decision {
  return (
    decideByAnswer(state, call) ??
    (asked.approval ? { act: 'ask', question: approvalQuestion(call, asked, []) } : { act: 'call' })
  )
}

/** An answer allows one call: once that is made, it is used up. */
function decideByAnswer(state: RunState, call: CallState): Decision | undefined {
  const question = state.questions.get(call.questions.at(-1) ?? '')
  if (!question || question.used) return undefined
  return question.answer
    ? decideAnswered(question.question, question.answer as Answers['call' | 'doubt'])
    : { act: 'wait' }
}

function approvalQuestion(
  call: CallState,
  { input, key }: CallQuery,
  earlier: readonly OnceCall[],
  lost?: string,
): NewQuestion {
  const { tool } = call.request
  return {
    kind: 'call',
    path: call.path,
    tool,
    input,
    key,
    earlier,
    text: callQuestionText(tool, input, earlier, lost),
  }
}

/** What to do about a `once` call that has no outcome yet. */
export function decideOnce(state: RunState, attempt: AttemptState, call: CallState, asked: CallQuery): Decision {
  const decided = decideByAnswer(state, call)
  if (decided) return decided
  if (call.calledAt !== undefined) return decideDoubt(call, asked)

  const others = onceCalls(state, asked.task).filter(
    (other) => asked.isTool(other.tool) && !(isFromOtherRun(other) && state.effects === 'again'),
  )
  const isHere = belongsTo(state, attempt)
  const here = others.filter((other) => isHere(other) && other.path !== call.path)
  const before = others.filter((other) => !isHere(other))
  const same = before.findLast((other) => other.key === asked.key && other.occurrence === asked.occurrence)
  if (
    same &&
    typeof same.outcome === 'object' &&
    'result' in same.outcome &&
    !(isFromOtherRun(same) && state.effects === 'ask')
  ) {
    return { act: 'return', outcome: { result: same.outcome.result }, source: 'recorded' }
  }
  const failedHere = here.filter((other) => other.key === asked.key && hasFailed(state, other))
  const known = [...before, ...failedHere].filter((other) => other.made || other.given).map(toOnceCall)
  const earlier = [...known, ...asked.unclaimed]
  const lost = lostEntriesText(state, asked.task)
  const first = earlier.length === 0 && !asked.approval
  if (first && lost === undefined) return { act: 'call' }
  const repeated = approvalQuestion(call, asked, earlier, lost)
  // it may have been made, and the entry that said so is missing
  if (asked.settles && first) return { act: 'settle', of: call.path, question: repeated }
  // an equal call of this run whose outcome is unknown: the tool itself may know it
  if (asked.settles && same?.outcome === 'unknown' && !same.inherited)
    return { act: 'settle', of: same.path, question: repeated }
  return { act: 'ask', question: repeated }
}

/**
 * It threw, or a coworker's time was up while it was in progress for them: then nobody has asked yet what happened to
 * it.
 */
function hasFailed(state: RunState, { outcome, attempt }: Pick<CallRecord, 'outcome' | 'attempt'>): boolean {
  if (outcome !== 'unknown') return 'error' in outcome
  return attemptsOnPath(attempt).some((path) => state.attempts.get(path)?.status === 'failed')
}

/** Whether a call belongs to the attempt: work within its steps does, but not that of an attempt that was sent back. */
export function belongsTo(state: RunState, attempt: AttemptState): (call: { readonly attempt: string }) => boolean {
  const root = rootAttempt(attempt.path)
  const sentBack = carriedAttempts(state, attempt.path)
  return ({ attempt: of }) => rootAttempt(of) === root && !attemptsOnPath(of).some((path) => sentBack.has(path))
}

/** The attempts whose conversations this one, and those that it is part of, continue. */
function carriedAttempts(state: RunState, path: string): Set<string> {
  const carried = new Set<string>()
  for (const attempt of attemptsOnPath(path)) {
    let before = state.attempts.get(attempt)?.carries?.path
    while (before !== undefined) {
      carried.add(before)
      before = state.attempts.get(before)?.carries?.path
    }
  }
  return carried
}

/** How many calls may be made because `settle` says so, before a person is asked why they never end. */
const settleLimit = 3

function decideDoubt(call: CallState, { key, input, settles }: CallQuery): Decision {
  const { tool } = call.request
  const calledAt = call.calledAt as string
  const owner = call.calledBy as NonNullable<CallState['calledBy']>
  const why = call.abandoned ?? 'no result was recorded'
  const text = doubtQuestionText(tool, input, calledAt, owner, why)
  const question: NewQuestion = { kind: 'doubt', path: call.path, tool, input, key, calledAt, owner, text }
  return settles && call.times < settleLimit ? { act: 'settle', of: call.path, question } : { act: 'ask', question }
}

function decideAnswered(question: Question, answer: Answers['call' | 'doubt']): Decision {
  switch (answer.decision) {
    case 'fail':
      return { act: 'fail', reason: answer.reason }
    case 'deny':
      return { act: 'return', outcome: { denied: answer.reason }, source: 'answered', by: answer.by }
    case 'use':
    case 'happened':
      return { act: 'return', outcome: { result: answer.result }, source: 'answered', by: answer.by }
    case 'approve':
      return { act: 'call', allowedBy: question.id, ...defined({ input: answer.input }) }
    case 'run':
      return { act: 'call', allowedBy: question.id }
  }
}

/** Whether it was made in a run that this one was made from: what to do about such calls is said by `effects`. */
export function isFromOtherRun({ inherited, own }: Pick<CallRecord, 'inherited' | 'own'>): boolean {
  return inherited && own === undefined
}

type CallRecord = OnceCall & {
  readonly path: string
  readonly attempt: string
  readonly inherited: boolean
  /** The tool was started; otherwise its result came from a record or a person. */
  readonly made: boolean
}

/**
 * Every `once` call that was made for a task, in this run and in those that it was made from; or every call that
 * `counted` picks.
 */
export function onceCalls(
  state: RunState,
  task?: string,
  counted: (call: CallState) => boolean = countsAsOnce,
): CallRecord[] {
  const inherited = state.inheritedCalls.filter((call) => task === undefined || call.task === task)
  const found: CallRecord[] = inherited.map((call) => ({
    ...call,
    path: '',
    attempt: '',
    inherited: true,
    made: !call.given,
  }))
  for (const owner of state.tasks.values()) {
    if (task === undefined) found.push(...(owner.childCalls ?? []).map(childCallRecord))
    if (task !== undefined && owner.name !== task) continue
    for (const path of [...owner.attempts, ...owner.nested]) {
      const attempt = state.attempts.get(path) as AttemptState
      // counted in the same pass: an attempt may have thousands of calls
      const equal = new Map<string, number>()
      for (const call of attempt.turns.flatMap((turn) => turn.calls)) {
        const key = callKey(call)
        const same = JSON.stringify([call.request.tool, key])
        const occurrence = equal.get(same) ?? 0
        if (counted(call)) found.push(toCallRecord(state, owner.name, attempt, call, { key, occurrence }))
        if (call.key !== undefined) equal.set(same, occurrence + 1)
      }
    }
  }
  return found
}

function childCallRecord(call: OnceCall): CallRecord {
  return { ...call, path: '', attempt: '', inherited: false, made: !call.given }
}

function countsAsRepeatable(call: CallState): boolean {
  return countsAsOnce(call) || call.effect === 'idempotent'
}

/** Calls that were made, and those whose result was taken from a record or from a person. */
function countsAsOnce({ effect, source, outcome }: CallState): boolean {
  return (
    effect === 'once' || (source !== undefined && source !== 'cached' && outcome !== undefined && 'result' in outcome)
  )
}

export function toOnceCall(call: CallRecord): OnceCall {
  const { task, tool, key, occurrence, input, calledAt, outcome, given, effect, idempotencyKey } = call
  return { task, tool, key, occurrence, input, calledAt, outcome, ...defined({ given, effect, idempotencyKey }) }
}

/**
 * What a new run must know: calls that were made, and results that a person gave. Those taken from a record are in it
 * already. Of calls with the same idempotency key, only the newest: a run in a chain of replays must not carry one for
 * each of them.
 */
export function callsToInherit(state: RunState): CallRecord[] {
  const calls = onceCalls(state, undefined, countsAsRepeatable).filter((call) => call.made || call.given)
  const newest = new Map(calls.map((call, index) => [callIdentityKey(call) ?? String(index), call]))
  return calls.filter((call, index) => newest.get(callIdentityKey(call) ?? String(index)) === call)
}

function callIdentityKey({ task, tool, key, occurrence, idempotencyKey }: OnceCall): string | undefined {
  return idempotencyKey === undefined ? undefined : JSON.stringify([task, tool, key, occurrence, idempotencyKey])
}

/**
 * The keys that the tool was given for the same call in the runs that this one was made from: several when coworkers
 * made it. A call that is to be made once more, by `effects: 'again'` or since a person approved it, is another one.
 */
export function inheritedKeys(
  { effects, inheritedCalls }: RunState,
  { task, key, occurrence, isTool }: Pick<CallQuery, 'task' | 'key' | 'occurrence' | 'isTool'>,
): string[] {
  const isRepeated = ({ effect }: OnceCall): boolean =>
    effects === 'again' || (effects === 'ask' && effect !== 'idempotent')
  return inheritedCalls
    .filter((call) => call.task === task && isTool(call.tool) && call.key === key && call.occurrence === occurrence)
    .filter((call) => call.own || !isRepeated(call))
    .flatMap((call) => call.idempotencyKey ?? [])
    .toReversed()
}

/** The keys given for the same call in earlier attempts of this run, where the task or the tool had another name. */
export function earlierKeys(
  state: RunState,
  { task, key, occurrence, isTool }: Pick<CallQuery, 'task' | 'key' | 'occurrence' | 'isTool'>,
): string[] {
  return onceCalls(state, task, countsAsRepeatable)
    .filter((call) => !call.inherited && isTool(call.tool) && call.key === key && call.occurrence === occurrence)
    .flatMap((call) => call.idempotencyKey ?? [])
    .toReversed()
}

/**
 * The keys given for the other calls of the attempt, except calls whose outcome is unknown: an equal call is another
 * try at those.
 */
export function siblingKeys(state: RunState, task: string, attempt: AttemptState, call: CallState): string[] {
  const { attempts = [], nested = [] } = state.tasks.get(task) ?? {}
  const isHere = belongsTo(state, attempt)
  return [...attempts, ...nested].flatMap((path) => {
    if (!isHere({ attempt: path })) return []
    const isOver = hasFailed(state, { outcome: 'unknown', attempt: path })
    const calls = (state.attempts.get(path)?.turns ?? []).flatMap((turn) => turn.calls)
    const counted = calls.filter((other) => other !== call && (!isOver || hasOutcome(state, other)))
    return counted.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])
  })
}

/**
 * How many calls of the same tool and key the attempt made before this one. `keys` are those not recorded yet, by path.
 */
export function callOccurrence(
  attempt: AttemptState,
  call: CallState,
  key: string,
  keys?: ReadonlyMap<string, string>,
  isTool: (name: string) => boolean = (name) => name === call.request.tool,
): number {
  let count = 0
  for (const { calls } of attempt.turns) {
    for (const other of calls) {
      if (other === call) return count
      if (isTool(other.request.tool) && (other.key ?? keys?.get(other.path)) === key) count += 1
    }
  }
  return count
}

function callKey({ key, input, request }: CallState): string {
  return key ?? digest(input ?? request.input)
}

function toCallRecord(
  state: RunState,
  task: string,
  attempt: AttemptState,
  call: CallState,
  known: { readonly key: string; readonly occurrence: number },
): CallRecord {
  const answered = call.outcome ? undefined : resultFromAnswer(state, call)
  const given = answered !== undefined || (call.effect !== 'once' && call.source === 'answered')
  return {
    task,
    tool: call.request.tool,
    ...known,
    input: call.input ?? call.request.input,
    calledAt: call.calledAt ?? attempt.startedAt,
    outcome: answered ?? onceOutcome(call),
    path: call.path,
    attempt: attempt.path,
    inherited: false,
    made: call.effect === 'once' || call.effect === 'idempotent',
    ...defined({
      given: given ? true : undefined,
      effect: call.effect === 'idempotent' ? call.effect : undefined,
      idempotencyKey: call.idempotencyKey,
    }),
  }
}

/** What a person has answered about a call that has no outcome yet: the run has not been continued since. */
function resultFromAnswer(state: RunState, call: CallState): { readonly result: Json } | undefined {
  const asked = state.questions.get(call.questions.at(-1) ?? '')
  const answer = asked?.used ? undefined : asked?.answer
  return answer && 'result' in answer ? { result: answer.result } : undefined
}

function hasOutcome(state: RunState, call: CallState): boolean {
  return call.outcome !== undefined || resultFromAnswer(state, call) !== undefined
}

function onceOutcome(call: CallState): OnceCall['outcome'] {
  if (!call.outcome) return 'unknown'
  if ('result' in call.outcome) return call.outcome
  if ('error' in call.outcome) return { error: call.outcome.error }
  if ('unreadable' in call.outcome)
    return { result: `the call happened, its result is unreadable at ${call.outcome.unreadable}` }
  return { error: `denied: ${call.outcome.denied}` }
}
