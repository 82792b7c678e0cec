// Entries to the state of a run. Pure and without Node, so that engine, command line and page all read a journal the
// same way. Paths decide where an entry belongs, never its position: a journal from which a person removed a line still
// folds, and a task without its `task.completed` is a task that is not done.
import { isProgress, journalVersion, type Entry, type EntryOf, type Limit, type StoredOutput } from '../entries.ts'
import { runHandlers, markWoken } from './fold-run.ts'
import { finishFold, noteMissingEntries, excludeEntries } from './hand-edits.ts'
import { forgetOutput, voidAttempts, restartTask, undoSkips, withdrawQuestions } from './reset-task.ts'
import { readJson } from '../json.ts'
import { iterationLimits } from './iteration-limits.ts'
import { attemptNumber, callPath, childName, isNestedAttempt, parentPath } from '../paths.ts'
import { attemptAt, callAt, addOrphanCall, taskAt } from './at-path.ts'
import { newAttempt } from './new-attempt.ts'
import { newTally, tallied, tallyAll } from './tally.ts'
import { addSpending } from './spend.ts'
import { noUsage, replyText, spentOn, type AttemptState, type RunState, type TaskState } from './state.ts'

export function fold(entries: Iterable<Entry>): RunState {
  const state = emptyState()
  for (const entry of entries) applyEntry(state, entry)
  return finishFold(state)
}

/** `run` is the name under which the journal is stored; left out, the journal says it. */
export function emptyState(run = ''): RunState {
  return {
    run,
    incarnation: '',
    crew: '',
    version: '',
    status: 'queued',
    inputs: {},
    priority: 0,
    createdAt: '',
    updatedAt: '',
    owner: { host: '', boot: '', pid: 0, start: '', instance: '' },
    lives: 0,
    fruitless: 0,
    failures: 0,
    spent: { ...noUsage },
    spending: new Map(),
    activeMs: 0,
    updatedMs: 0,
    token: 0,
    taskChanges: [],
    tasks: new Map(),
    attempts: new Map(),
    tally: newTally(),
    outputs: new Map(),
    questions: new Map(),
    unanswered: new Set(),
    inheritedCalls: [],
    cached: new Map(),
    seq: 0,
    lastStep: 0,
    missing: [],
    changed: [],
  }
}

/** Applies one entry to the state, in place: ten thousand entries must not mean ten thousand copies. */
export function applyEntry(state: RunState, entry: Entry): void {
  noteMissingEntries(state, entry.seq - 1)
  state.seq = entry.seq
  // many entries share a millisecond
  const at = entry.at === state.updatedAt ? state.updatedMs : Date.parse(entry.at)
  const passed = at - state.updatedMs - (entry.jump ?? 0)
  if (isWorkedOn(state, entry) && passed > 0) state.activeMs += passed
  state.token = entry.token
  state.updatedMs = at
  state.updatedAt = entry.at
  if (entry.v !== journalVersion) {
    state.unknown ??= `version ${entry.v} of entry ${entry.seq}`
    return
  }
  const type: string = entry.type
  const handler = Object.hasOwn(handlers, type) ? handlers[entry.type] : undefined
  if (!handler) {
    state.unknown ??= `type ${JSON.stringify(type)} of entry ${entry.seq}`
    return
  }
  if (isProgress(entry)) state.fruitless = 0
  const apply = handler as (state: RunState, entry: Entry) => void
  if (entry.type === 'run.created' || entry.type === 'run.resumed') {
    apply(state, entry)
    tallyAll(state)
  } else tallied(state, entry, apply)
}

/**
 * Whether a process was working on the run until this entry: not while it was suspended, nor before another process
 * took it over, even if only to record an answer, nor while it lay in a file.
 */
function isWorkedOn({ status, token }: RunState, entry: Entry): boolean {
  return status === 'running' && entry.token === token && entry.type !== 'run.resumed' && entry.type !== 'run.imported'
}

const handlers: { [T in Entry['type']]: (state: RunState, entry: EntryOf<T>) => void } = {
  ...runHandlers,
  'task.offered': (state, entry) => {
    const { from, output, conversation } = entry
    if (!isOutput(output)) return
    state.outputs.set(entry.seq, output.raw)
    taskAt(state, entry.path).offered = { from, output, conversation }
  },
  'task.inherited': (state, entry) => {
    const task = taskAt(state, entry.path)
    const output = entry.output ?? task.offered?.output
    // the offer was removed by hand
    if (!output || !isOutput(output)) return
    state.outputs.set(entry.seq, output.raw)
    const conversation = entry.output ? entry.conversation : task.offered?.conversation
    Object.assign(task, { status: 'completed', source: 'inherited', output, from: entry.from, seq: entry.seq })
    if (conversation) task.conversation = conversation
    if (entry.stale) task.stale = entry.stale
    if (entry.condition) task.condition = entry.condition
  },
  'task.started': (state, entry) => {
    const path = entry.path as string
    const task = taskAt(state, path)
    if (isNestedAttempt(path)) {
      task.nested.push(path)
      state.attempts.set(path, newAttempt(state, entry))
      if (entry.child) kickedOff(state, task, path)
      return
    }
    for (const earlier of task.attempts) {
      const attempt = state.attempts.get(earlier)
      if (attempt?.status === 'open') attempt.status = 'void'
    }
    withdrawQuestions(state, task)
    // the writer knew all entries before this one, except those that a resume had found missing by then: none was of
    // this task
    if (task.lost && attemptNumber(path) === 1) task.lost = excludeEntries(task.lost, state.missing)
    task.status = 'running'
    task.startedAt ??= entry.at
    task.attempts.push(path)
    delete task.error
    delete task.final
    if (entry.condition) task.condition = entry.condition
    state.attempts.set(path, newAttempt(state, entry))
  },
  'task.completed': (state, entry) => {
    const task = taskAt(state, entry.path)
    const attempt = state.attempts.get(entry.path as string)
    const last = attempt?.turns.at(-1)
    // the last turn must be the answer: a turn with calls in its place means that the answer was removed by hand
    const said = last?.calls.length === 0 ? replyText(last.reply) : undefined
    // what a function kicked off says in its own journal what it gave
    const raw = entry.raw ?? (attempt?.child === undefined ? said : '')
    if (!attempt || raw === undefined || !isOutput({ raw, structured: entry.structured })) return
    endAttempt(state, task, attempt, entry)
    if (isNestedAttempt(attempt.path)) {
      attempt.answer = raw
      return
    }
    const output: StoredOutput = {
      raw,
      structured: entry.structured,
      ...(entry.within === undefined ? {} : { within: entry.within }),
      ...(attempt.agent === '' ? {} : { agent: attempt.agent }),
      usage: spentOn(state, task),
      startedAt: task.startedAt ?? attempt.startedAt,
      completedAt: entry.at,
      fingerprint: attempt.fingerprint,
      ...iterationLimits(state, task, attempt),
      ...uncountedIn(state, task, entry.uncounted),
    }
    forgetOutput(task)
    withdrawQuestions(state, task)
    state.outputs.set(entry.seq, raw)
    Object.assign(task, { status: 'completed', source: 'executed', output, seq: entry.seq })
    if (entry.failures) task.failures = entry.failures
    state.failures = 0
  },
  'task.failed': (state, entry) => {
    const task = taskAt(state, entry.path)
    const nested = isNestedAttempt(entry.path ?? '') ? state.attempts.get(entry.path as string) : undefined
    if (nested) {
      nested.status = 'failed'
      nested.refusal = entry.error.message
      withdrawQuestions(state, task, `${nested.path}/`)
      return
    }
    task.status = 'failed'
    task.error = entry.error
    if (entry.final) task.final = true
    withdrawQuestions(state, task)
    const attempt = state.attempts.get(entry.path as string)
    if (attempt) attempt.status = 'failed'
  },
  'task.skipped': (state, entry) => {
    const task = taskAt(state, entry.path)
    const attempt = state.attempts.get(entry.path as string)
    if (attempt) endAttempt(state, task, attempt, entry)
    task.status = 'skipped'
    if (entry.condition) task.condition = entry.condition
    if (entry.failed) task.failed = entry.failed
  },
  'task.edited': (state, entry) => {
    const task = taskAt(state, entry.path)
    if (!isOutput(entry)) return
    voidAttempts(state, task)
    const output: StoredOutput = {
      raw: entry.raw,
      structured: entry.structured,
      usage: spentOn(state, task),
      startedAt: task.startedAt ?? entry.at,
      completedAt: entry.at,
    }
    forgetOutput(task)
    state.outputs.set(entry.seq, entry.raw)
    Object.assign(task, { status: 'completed', source: 'edited', output, seq: entry.seq })
    undoSkips(state, task)
    markWoken(state)
  },
  'task.invalidated': (state, entry) => {
    restartTask(state, taskAt(state, entry.path))
    markWoken(state)
  },
  'callback.returned': (state, entry) => {
    if (entry.path === undefined) state.told = entry.of
    else taskAt(state, entry.path).told = entry.of
  },
  'file.written': (state, { path, of, file }) => {
    taskAt(state, path).written = { of, file }
  },
  'model.replied': (state, entry) => {
    const path = entry.path as string
    state.lastStep = entry.seq
    const calls = entry.parts.filter((part) => part.type === 'call')
    const attempt = attemptAt(state, entry)
    addSpending(state, entry.at, attempt.request.model, entry.usage)
    loseTries(state, attempt, entry)
    attempt.turns.push({
      path,
      reply: entry,
      calls: calls.map((request, index) => ({ path: callPath(path, index), request, times: 0, questions: [] })),
    })
  },
  'model.failed': (state, entry) => {
    const attempt = state.attempts.get(parentPath(entry.path as string))
    if (attempt) loseTries(state, attempt, entry)
  },
  'tool.called': (state, entry) => {
    const call = callAt(state, entry.path) ?? addOrphanCall(state, entry)
    Object.assign(call, { effect: entry.effect, key: entry.key, calledAt: entry.at, calledBy: state.owner })
    if (entry.input !== undefined) call.input = entry.input
    const allowed = state.questions.get(entry.allowedBy ?? '')
    if (allowed) allowed.used = true
    call.idempotencyKey = entry.idempotencyKey
    if (entry.allowedBy === undefined) delete call.allowedBy
    else call.allowedBy = entry.allowedBy
    if (entry.cacheKey !== undefined) call.cacheKey = entry.cacheKey
    call.times += 1
    delete call.abandoned
  },
  'tool.returned': (state, entry) => {
    state.lastStep = entry.seq
    const call = callAt(state, entry.path)
    if (!call) return
    call.outcome = entry.outcome
    addUncounted(state.attempts.get(parentPath(parentPath(call.path))), entry)
    // its call was removed by hand: it may have been one that must not be repeated
    const happened = 'result' in entry.outcome || 'unreadable' in entry.outcome
    if (happened && entry.source === undefined && call.calledAt === undefined) {
      Object.assign(call, { effect: 'once', calledAt: entry.at, calledBy: state.owner })
    }
    if (entry.source) call.source = entry.source
    if (entry.stack !== undefined) call.stack = entry.stack
    if (entry.key !== undefined) call.key = entry.key
    if (call.cacheKey !== undefined && entry.source === undefined && 'result' in entry.outcome)
      state.cached.set(call.cacheKey, { path: call.path, outcome: entry.outcome })
  },
  'tool.abandoned': (state, entry) => {
    const call = callAt(state, entry.path)
    if (!call) return
    if (entry.begun === false) {
      delete call.calledAt
      delete call.effect
      call.times -= 1
      // the answer has allowed nothing yet
      const allowed = state.questions.get(call.allowedBy ?? '')
      if (allowed) allowed.used = false
    } else {
      call.abandoned = entry.reason
    }
  },
  'guardrail.judged': (state, entry) => {
    const attempt = state.attempts.get(entry.path as string)
    if (!attempt) return
    addUncounted(attempt, entry)
    if (entry.verdict === 'accepted') {
      attempt.accepted.push(entry.raw === undefined ? {} : { raw: entry.raw })
      return
    }
    attempt.status = 'refused'
    attempt.refusal = entry.reason ?? ''
    attempt.refusedBy = entry.guardrail
  },
  'context.summarised': (state, { path = '', through, summary, seq }) => {
    const attempt = state.attempts.get(path)
    if (attempt) attempt.summary = { through, text: summary, seq }
  },
  'question.asked': (state, entry) => {
    // a question asked again at the same place must not be settled by the earlier answer
    for (const earlier of state.questions.values()) {
      if (earlier.answer && earlier.question.path === entry.question.path) earlier.used = true
    }
    const replaced = state.questions.get(entry.question.id)
    if (replaced) state.unanswered.delete(replaced)
    const asked = { question: entry.question, askedAt: entry.at }
    state.questions.set(entry.question.id, asked)
    state.unanswered.add(asked)
    callAt(state, entry.question.path)?.questions.push(entry.question.id)
  },
  'question.answered': (state, entry) => {
    const asked = state.questions.get(entry.question)
    if (!asked) return
    asked.answer = entry.answer
    state.unanswered.delete(asked)
    markWoken(state)
    // what it does not raise stays as it was when it was reached
    if (entry.answer.decision === 'raise' && asked.question.kind === 'limit')
      state.budget = { ...(asked.question.limit as Limit), ...(entry.answer.to as Limit) }
  },
  'message.refused': () => {},
}

function endAttempt(
  state: RunState,
  task: TaskState,
  attempt: AttemptState,
  { at, spent, calls }: Pick<EntryOf<'task.completed'>, 'at' | 'spent' | 'calls'>,
): void {
  attempt.status = 'completed'
  if (spent) {
    attempt.spent = spent
    for (const [model, usage] of Object.entries(spent)) addSpending(state, at, model, usage)
  }
  if (calls) task.childCalls = [...(task.childCalls ?? []), ...calls]
}

/** By a function. An attempt of the same name before it, which was given other inputs, is given up. */
function kickedOff(state: RunState, task: TaskState, path: string): void {
  const kickoffs = (task.kickoffs ??= new Map<string, string>())
  const name = childName(path)
  const before = state.attempts.get(kickoffs.get(name) ?? '')
  if (before?.status === 'open') before.status = 'void'
  kickoffs.set(name, path)
}

function addUncounted(
  attempt: AttemptState | undefined,
  { uncounted }: { readonly uncounted?: readonly string[] },
): void {
  if (attempt && uncounted) (attempt.uncounted ??= []).push(...uncounted)
}

/** The runs that code of the task, or of its crew, began beside it. */
function uncountedIn(
  state: RunState,
  { attempts, nested }: TaskState,
  within: readonly string[] = [],
): Pick<StoredOutput, 'uncounted'> {
  const own = [...attempts, ...nested].flatMap((path) => state.attempts.get(path)?.uncounted ?? [])
  const uncounted = [...new Set([...own, ...within])]
  return uncounted.length > 0 ? { uncounted } : {}
}

/** Tries that failed and were paid for all the same. */
function loseTries(
  state: RunState,
  attempt: AttemptState,
  { at, tries = [] }: Pick<EntryOf<'model.replied'>, 'at' | 'tries'>,
): void {
  for (const { usage } of tries) {
    if (!usage) continue
    addSpending(state, at, attempt.request.model, usage)
    attempt.lost.push({ usage, at })
  }
}

/** A text that was edited so that it isn't JSON any more is not an output. */
function isOutput({ raw, structured }: Pick<StoredOutput, 'raw' | 'structured'>): boolean {
  return !structured || readJson(raw) !== undefined
}
