// The rules for tools that must not run twice. A `once` call is identified by task, tool, key and occurrence within its
// attempt. Unless it is clearly the first and only such call, the tool's own `settle` or a person decides; nothing is
// guessed. Decisions are data; complete-calls.ts carries them out.
import { defined } from '../../base/options.ts'
import type { Answers, OnceCall, Question } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { AttemptState, CallState, RunState, ToolOutcome } from '../../journal/state/state.ts'
import { attemptsOnPath, rootAttempt } from '../../journal/paths.ts'
import { inheritedCallsOf } from './inherited-calls.ts'
import { callQuestionText, doubtQuestionText, lostEntriesText } from '../../read/questions.ts'

type NewQuestion = Question extends infer Q ? (Q extends Question ? Omit<Q, 'id'> : never) : never

export type Decision =
  | { readonly type: 'call'; readonly input?: Json; readonly allowedBy?: string }
  | {
      readonly type: 'return'
      readonly outcome: ToolOutcome
      readonly source: 'recorded' | 'answered'
      readonly by?: string | undefined
    }
  /** `path`: the call whose outcome is unknown. `question`: for a person, if the tool cannot tell. */
  | { readonly type: 'settle'; readonly path: string; readonly question: NewQuestion }
  | { readonly type: 'ask'; readonly question: NewQuestion }
  | { readonly type: 'wait' }
  | { readonly type: 'fail'; readonly reason: string }

export interface CallQuery {
  readonly task: string
  /** Whether `recorded` is a present or past name of the called tool. */
  isTool(recorded: string): boolean
  readonly key: string
  readonly occurrence: number
  readonly input: Json
  /** Calls of tasks and tools that the code no longer has: this call may be one of them under another name. */
  readonly unclaimed: readonly OnceCall[]
  /** The tool has a `settle` function, which can find out what happened to a call. */
  readonly settles: boolean
  readonly needsApproval: boolean
}

/** Decides about a repeatable call that needs a person's approval, or about which a person was asked. */
export function decideApproval(state: RunState, call: CallState, asked: CallQuery): Decision {
  return (
    decideByAnswer(state, call) ??
    (asked.needsApproval ? { type: 'ask', question: approvalQuestion(call, asked, []) } : { type: 'call' })
  )
}

/** Decides by the question about the call, if there is one. An answer allows one call, and is used up by it. */
function decideByAnswer(state: RunState, call: CallState): Decision | undefined {
  const question = state.questions.get(call.questions.at(-1) ?? '')
  if (!question || question.used) return undefined
  return question.answer
    ? decideAnswered(question.question, question.answer as Answers['call' | 'doubt'])
    : { type: 'wait' }
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

/**
 * Decides about a `once` call that has no outcome yet. The first row that applies counts:
 *
 * | the call                                                               | decision            |
 * | ---------------------------------------------------------------------- | ------------------- |
 * | has a question with an unused answer                                   | as answered         |
 * | has an open question                                                   | wait                |
 * | was started, but no outcome was recorded (a doubt)                     | settle              |
 * | equals an earlier call with a result: same key and occurrence (1)      | return that result  |
 * | has no earlier calls (2), needs no approval, and no entries are lost   | call                |
 * | has no earlier calls, needs no approval, but lost entries may hold it  | settle              |
 * | equals an earlier call of this run whose outcome is unknown            | settle that call    |
 * | otherwise                                                              | ask                 |
 *
 * `settle` becomes `ask` if the tool has no `settle`, if that cannot tell, or if a call in doubt was started 3 times.
 * (1) With `effects: 'ask'`, results of the run that this run was forked from don't count.
 * (2) Earlier calls are: calls of the same task and tool in earlier attempts, and in earlier runs unless
 * `effects: 'again'`; failed calls of this attempt with the same key; calls of tasks and tools that the code no longer
 * has.
 */
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
    return { type: 'return', outcome: { result: same.outcome.result }, source: 'recorded' }
  }
  const failedHere = here.filter((other) => other.key === asked.key && hasFailed(state, other))
  const known = [...before, ...failedHere].filter((other) => other.made || other.given).map(toOnceCall)
  const earlier = [...known, ...asked.unclaimed]
  const lost = lostEntriesText(state, asked.task)
  const isFirst = earlier.length === 0 && !asked.needsApproval
  if (isFirst && lost === undefined) return { type: 'call' }
  const question = approvalQuestion(call, asked, earlier, lost)
  if (asked.settles && isFirst) return { type: 'settle', path: call.path, question }
  if (asked.settles && same?.outcome === 'unknown' && !same.inherited)
    return { type: 'settle', path: same.path, question }
  return { type: 'ask', question }
}

/** Whether no call of the task is recorded, in this run or in the runs it was forked from, and none may be lost. */
export function isUncalled(state: RunState, task: string): boolean {
  const { attempts = [], nested = [] } = state.tasks.get(task) ?? {}
  const isKnown = attempts.length > 0 || nested.length > 0 || inheritedCallsOf(state, task).length > 0
  return !isKnown && lostEntriesText(state, task) === undefined
}

/** Whether the call threw, or a coworker's attempt failed while the call ran. Then no question about it was asked. */
function hasFailed(state: RunState, { outcome, attempt }: Pick<CallRecord, 'outcome' | 'attempt'>): boolean {
  if (outcome !== 'unknown') return 'error' in outcome
  return attemptsOnPath(attempt).some((path) => state.attempts.get(path)?.status === 'failed')
}

/** Returns a test for calls of the attempt and its coworkers, without calls of refused attempts that it continues. */
export function belongsTo(state: RunState, attempt: AttemptState): (call: { readonly attempt: string }) => boolean {
  const root = rootAttempt(attempt.path)
  const carried = carriedAttempts(state, attempt.path)
  return (call) => rootAttempt(call.attempt) === root && !attemptsOnPath(call.attempt).some((path) => carried.has(path))
}

/** Returns the attempts whose conversations this attempt and its enclosing attempts continue. */
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

/** Once a call was started this often without an outcome, a person is asked instead of `settle`. */
const settleLimit = 3

function decideDoubt(call: CallState, { key, input, settles }: CallQuery): Decision {
  const { tool } = call.request
  const calledAt = call.calledAt as string
  const owner = call.calledBy as NonNullable<CallState['calledBy']>
  const why = call.abandoned ?? 'no result was recorded'
  const text = doubtQuestionText(tool, input, calledAt, owner, why)
  const question: NewQuestion = { kind: 'doubt', path: call.path, tool, input, key, calledAt, owner, text }
  return settles && call.times < settleLimit ? { type: 'settle', path: call.path, question } : { type: 'ask', question }
}

function decideAnswered(question: Question, answer: Answers['call' | 'doubt']): Decision {
  switch (answer.decision) {
    case 'fail':
      return { type: 'fail', reason: answer.reason }
    case 'deny':
      return { type: 'return', outcome: { denied: answer.reason }, source: 'answered', by: answer.by }
    case 'use':
    case 'happened':
      return { type: 'return', outcome: { result: answer.result }, source: 'answered', by: answer.by }
    case 'approve':
      return { type: 'call', allowedBy: question.id, ...defined({ input: answer.input }) }
    case 'run':
      return { type: 'call', allowedBy: question.id }
  }
}

/** Whether the call was made in a run that this run was forked from. Then `effects` decides whether it counts. */
export function isFromOtherRun({ inherited, own }: Pick<CallRecord, 'inherited' | 'own'>): boolean {
  return inherited && own === undefined
}

type CallRecord = OnceCall & {
  readonly path: string
  readonly attempt: string
  readonly inherited: boolean
  /** The tool was started. Otherwise the result came from a record or a person. */
  readonly made: boolean
}

/**
 * Returns the calls of one task, or of all tasks, in this run and in the runs that it was forked from. Only calls that
 * `counted` accepts; by default, `once` calls.
 */
export function onceCalls(
  state: RunState,
  task?: string,
  counted: (call: CallState) => boolean = countsAsOnce,
): CallRecord[] {
  const inherited = task === undefined ? state.inheritedCalls : inheritedCallsOf(state, task)
  const found: CallRecord[] = inherited.map((call) => ({
    ...call,
    path: '',
    attempt: '',
    inherited: true,
    made: !call.given,
  }))
  const known = task === undefined ? undefined : state.tasks.get(task)
  const owners = task === undefined ? state.tasks.values() : known ? [known] : []
  for (const owner of owners) {
    if (task === undefined) found.push(...(owner.childCalls ?? []).map(childCallRecord))
    for (const path of [...owner.attempts, ...owner.nested]) {
      const attempt = state.attempts.get(path) as AttemptState
      // occurrences are counted in the same pass, since an attempt may have thousands of calls
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

/** Whether a call counts as `once`. A call of any effect does if its result came from a record or a person. */
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
 * Returns the calls that a fork must know: calls that were made, and calls whose result a person gave. A call that
 * reused a recorded result is left out, since the recorded call is listed itself. Of calls with the same idempotency
 * key, only the newest is listed, so that the list doesn't grow with a chain of replays.
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
 * Returns the idempotency keys of the same call in the runs that this run was forked from; several if coworkers made
 * it. A call that is repeated on purpose, by `effects: 'again'` or with a person's approval, is a new call with a new
 * key.
 */
export function inheritedKeys(
  state: RunState,
  { task, key, occurrence, isTool }: Pick<CallQuery, 'task' | 'key' | 'occurrence' | 'isTool'>,
): string[] {
  const { effects } = state
  const isRepeated = ({ effect }: OnceCall): boolean =>
    effects === 'again' || (effects === 'ask' && effect !== 'idempotent')
  return inheritedCallsOf(state, task)
    .filter((call) => isTool(call.tool) && call.key === key && call.occurrence === occurrence)
    .filter((call) => call.own || !isRepeated(call))
    .flatMap((call) => call.idempotencyKey ?? [])
    .toReversed()
}

/** Returns the idempotency keys of the same call in earlier attempts of this run, under any name of the tool. */
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
 * Returns the idempotency keys of the attempt's other calls. Leaves out calls with unknown outcome in failed attempts:
 * an equal call is another try at such a call, and shares its key.
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

/** Counts the attempt's earlier calls of the same tool and key. `keys`: keys not recorded yet, by path. */
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
  // a started `once` call may have happened, so it counts as made, even if a person gave its result
  const given =
    (answered !== undefined && call.calledAt === undefined) || (call.effect !== 'once' && call.source === 'answered')
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

/** Returns the result that a person gave for a call, if it is not yet recorded as the call's outcome. */
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
