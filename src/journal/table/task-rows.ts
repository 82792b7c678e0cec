// Entries about tasks and their attempts. Paths decide where an entry belongs: a task without its `task.completed`
// isn't done, whichever lines a person removed.
import type { EntryOf, StoredOutput } from '../entries.ts'
import { amount, anything, flag, object, one, optional, record, text, time, yes } from '../check/shapes.ts'
import {
  by,
  conversation,
  effect,
  failure,
  fingerprint,
  listedItems,
  onceCalls,
  output,
  outputPlace,
  request,
  taskFailures,
  texts,
  usage,
} from '../check/value-shapes.ts'
import { plural } from '../../text/words.ts'
import { readJson } from '../json.ts'
import { attemptNumber, childName, isNestedAttempt, taskInPath } from '../paths.ts'
import { iterationLimits, newAttempt, recordFunctionResult, taskAt } from '../state/at-path.ts'
import {
  excludeEntries,
  forgetOutput,
  renameTasks,
  reopenList,
  restartTask,
  taskTexts,
  undoSkips,
  voidAttempts,
} from '../state/change-tasks.ts'
import { leaveItems, listItems, usageWithItems } from '../state/items.ts'
import { withdrawQuestions } from '../state/questions.ts'
import { failureValue, noteSettled } from '../state/steps.ts'
import { addSpending } from '../state/tally.ts'
import { markWoken, replyText, type AttemptState, type RunState, type TaskState } from '../state/state.ts'
import { byWhom, type EntryRows } from './entry-row.ts'

export const taskRows: EntryRows<'task'> = {
  'task.offered': {
    fields: { path: text, from: outputPlace, output, conversation: optional(conversation) },
    listed: true,
    progress: false,
    log: undefined,
    apply(state, entry) {
      if (!isOutput(entry.output)) return
      state.outputs.set(entry.seq, entry.output.raw)
      taskAt(state, entry.path).offered = { from: entry.from, output: entry.output, conversation: entry.conversation }
    },
  },
  'task.inherited': {
    fields: {
      path: text,
      from: outputPlace,
      output: optional(output),
      conversation: optional(conversation),
      reasons: optional(texts),
      stale: optional(texts),
      condition: optional(fingerprint),
      items: optional(listedItems),
      after: optional(amount),
      error: optional(failure),
      fingerprint: optional(fingerprint),
      timedOut: optional(yes),
    },
    listed: true,
    progress: true,
    log: ({ path, from, reasons, stale }) => {
      const why = reasons ? `, since ${reasons.join('; ')}` : ''
      return `task ${path} inherited from run ${from.run}${why}${stale ? ` (stale: ${stale.join('; ')})` : ''}`
    },
    apply(state, entry) {
      const task = taskAt(state, entry.path)
      noteRequested(state, task, entry)
      if (entry.error) {
        Object.assign(task, { status: 'failed', error: entry.error, from: entry.from })
        if (entry.fingerprint) task.fingerprint = entry.fingerprint
        return noteSettled(state, task, entry, { value: failureValue(entry.error) })
      }
      const inherited = entry.output ? entry : task.offered
      const stored = inherited?.output
      // undefined if the offer was removed by hand
      if (!stored || !isOutput(stored)) return
      if (entry.items) listItems(state, task, entry.items)
      state.outputs.set(entry.seq, stored.raw)
      Object.assign(task, {
        status: 'completed',
        source: 'inherited',
        output: stored,
        from: entry.from,
        seq: entry.seq,
      })
      if (entry.timedOut) task.timedOut = true
      noteSettled(state, task, entry, { value: stored.raw })
      if (inherited.conversation) task.conversation = inherited.conversation
      if (entry.stale) task.stale = entry.stale
      if (entry.condition) task.condition = entry.condition
    },
  },
  'task.started': {
    fields: {
      path: text,
      request: optional(request),
      fingerprint,
      condition: optional(fingerprint),
      agent: optional(text),
      child: optional(yes),
      code: optional(yes),
      call: optional(object({ effect, key: text, idempotencyKey: text })),
      carries: optional(object({ path: text, message: text })),
      because: optional(texts),
      items: optional(listedItems),
      after: optional(amount),
      input: anything,
      wait: optional(one('sleep', 'question', 'event')),
      until: optional(time),
    },
    // the row counts child runs, and open questions, which a new attempt withdraws
    listed: ({ child, items, path = '' }) =>
      child === true || items !== undefined || (!isNestedAttempt(path) && attemptNumber(path) > 1),
    progress: false,
    startsChild: ({ child }) => child === true,
    log: ({ path = '', agent, because, items }) => {
      const task = `task ${taskInPath(path)} started (${path})${items ? `, with ${plural(items.length, 'item')}` : ''}`
      const what = isNestedAttempt(path) ? `attempt ${path} started` : task
      const why = because ? `, because ${because.join('; ')}` : ''
      return `${what}${agent === undefined ? '' : ` by ${agent}`}${why}`
    },
    apply(state, entry) {
      const path = entry.path as string
      const task = taskAt(state, path)
      if (isNestedAttempt(path)) {
        task.nested.push(path)
        state.attempts.set(path, newAttempt(state, entry))
        if (entry.child) addKickoff(state, task, path)
        return
      }
      for (const earlier of task.attempts) {
        const attempt = state.attempts.get(earlier)
        if (attempt?.status === 'open') attempt.status = 'void'
      }
      withdrawQuestions(state, task)
      // the process that wrote this entry had read the entries in `missing` and still started a first attempt, so they
      // weren't about this task. Entries that an earlier resume recorded as missing may be
      if (task.lost && attemptNumber(path) === 1) task.lost = excludeEntries(task.lost, state.missing)
      task.status = 'running'
      task.startedAt ??= entry.at
      task.attempts.push(path)
      if (entry.after !== undefined && task.attempts.length === 1) state.steps += 1
      noteRequested(state, task, entry)
      delete task.error
      delete task.final
      if (entry.condition) task.condition = entry.condition
      if (entry.items || task.items) listItems(state, task, entry.items ?? [])
      state.attempts.set(path, { ...newAttempt(state, entry), texts: taskTexts(task, state) })
    },
  },
  'task.completed': {
    fields: {
      path: text,
      raw: optional(text),
      structured: flag,
      within: optional(text),
      spent: optional(record(usage)),
      calls: optional(onceCalls),
      returned: optional(yes),
      uncounted: optional(texts),
      failures: optional(taskFailures),
      event: optional(amount),
      timedOut: optional(yes),
    },
    listed: true,
    progress: true,
    step: (entry) => entry.returned === true,
    log: (entry) => `${describeEnded(entry)} completed`,
    apply(state, entry) {
      const isRead = entry.returned === true && recordFunctionResult(state, entry)
      const task = taskAt(state, entry.path)
      const attempt = state.attempts.get(entry.path as string)
      const last = attempt?.turns.at(-1)
      // if the last turn has calls, the answer was removed by hand
      const reply = last?.calls.length === 0 ? replyText(last.reply) : undefined
      // the output of a kickoff by a function is in the journal of the child run
      const event = entry.event === undefined ? undefined : state.events.get(entry.event)
      const raw = entry.raw ?? event?.raw ?? (attempt?.child === undefined ? reply : '')
      if (!attempt || raw === undefined) return
      // the JSON of a large result isn't parsed twice
      if (!isRead && !isOutput({ raw, structured: entry.structured })) return
      endAttempt(state, task, attempt, entry)
      if (event) state.events.delete(event.seq)
      if (isNestedAttempt(attempt.path)) {
        attempt.answer = raw
        return
      }
      const made: StoredOutput = {
        raw,
        structured: entry.structured,
        ...(entry.within === undefined ? {} : { within: entry.within }),
        ...(attempt.agent === '' ? {} : { agent: attempt.agent }),
        ...(event?.by === undefined ? {} : { by: event.by }),
        ...(attempt.texts ? { texts: attempt.texts } : {}),
        usage: usageWithItems(state, task),
        startedAt: task.startedAt ?? attempt.startedAt,
        completedAt: entry.at,
        fingerprint: attempt.fingerprint,
        ...iterationLimits(state, task, attempt),
        ...uncountedIn(state, task, entry.uncounted),
        ...(entry.failures === undefined ? {} : { failures: entry.failures }),
      }
      forgetOutput(task)
      withdrawQuestions(state, task)
      state.outputs.set(entry.seq, raw)
      Object.assign(task, { status: 'completed', source: 'executed', output: made, seq: entry.seq })
      if (entry.timedOut) task.timedOut = true
      delete task.failures
      noteSettled(state, task, entry, { value: raw, began: attempt.seq })
      state.failures = 0
    },
  },
  'task.failed': {
    fields: { path: text, error: failure, final: optional(yes), retryAt: optional(time) },
    listed: true,
    progress: true,
    log: (entry) =>
      `${describeEnded(entry)} failed: ${entry.error.message}${entry.final ? '; the run continues without it' : ''}`,
    apply(state, entry) {
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
      if (entry.retryAt !== undefined) {
        Object.assign(task, { status: 'running', until: entry.retryAt, failures: (task.failures ?? 0) + 1 })
        return
      }
      delete task.failures
      noteSettled(state, task, entry, { value: failureValue(entry.error), began: attempt?.seq })
    },
  },
  'task.renamed': {
    fields: { path: text, to: text },
    everyTask: true,
    listed: true,
    progress: true,
    log: ({ path, to }) => `task ${path} renamed to ${to}`,
    apply(state, { path = '', to }) {
      renameTasks(state, { [path]: to })
    },
  },
  'task.skipped': {
    fields: {
      path: text,
      reason: text,
      condition: optional(fingerprint),
      failed: optional(texts),
      spent: optional(record(usage)),
      calls: optional(onceCalls),
    },
    listed: true,
    progress: true,
    log: ({ path, reason }) => `task ${path} skipped: ${reason}`,
    apply(state, entry) {
      const task = taskAt(state, entry.path)
      const attempt = state.attempts.get(entry.path as string)
      if (attempt) endAttempt(state, task, attempt, entry)
      task.status = 'skipped'
      noteSettled(state, task, entry, { value: '', began: attempt?.seq })
      if (entry.condition) task.condition = entry.condition
      if (entry.failed) task.failed = entry.failed
    },
  },
  'task.edited': {
    fields: { path: text, raw: text, structured: flag, by },
    listed: true,
    progress: true,
    log: (entry) => `task ${entry.path} edited${byWhom(entry)}`,
    apply(state, entry) {
      const task = taskAt(state, entry.path)
      if (!isOutput(entry)) return
      const spent = usageWithItems(state, task)
      voidAttempts(state, task)
      leaveItems(state, task)
      const edited: StoredOutput = {
        raw: entry.raw,
        structured: entry.structured,
        texts: taskTexts(task, state),
        usage: spent,
        startedAt: task.startedAt ?? entry.at,
        completedAt: entry.at,
      }
      forgetOutput(task)
      state.outputs.set(entry.seq, entry.raw)
      Object.assign(task, { status: 'completed', source: 'edited', output: edited, seq: entry.seq })
      state.touched = entry.seq
      noteSettled(state, task, entry, { value: entry.raw })
      undoSkips(state, task)
      reopenList(state, task)
      markWoken(state)
    },
  },
  'task.invalidated': {
    fields: { path: text, by, reason: optional(text), because: optional(texts) },
    listed: true,
    progress: true,
    log: (entry) =>
      `task ${entry.path} invalidated${byWhom(entry)}${entry.because ? `: ${entry.because.join('; ')}` : ''}`,
    apply(state, entry) {
      const task = taskAt(state, entry.path)
      if (entry.because) (task.restarts ??= []).push(entry.seq)
      else state.touched = entry.seq
      restartTask(state, task)
      markWoken(state)
    },
  },
}

/** Notes after which result the function of a flow requested the step, and what the step waits for. */
function noteRequested(
  state: RunState,
  task: TaskState,
  { after, wait, until }: Partial<Pick<EntryOf<'task.started'>, 'after' | 'wait' | 'until'>>,
): void {
  if (after === undefined) return
  task.after ??= after
  state.lastAfter = Math.max(state.lastAfter, after)
  if (wait !== undefined) task.wait = wait
  if (until === undefined) delete task.until
  else task.until = until
}

/** What ended: `task note`, or, for an attempt within a step, `attempt note#1/3.0/analyst#1`. */
function describeEnded({ path = '' }: EntryOf<'task.completed' | 'task.failed'>): string {
  return isNestedAttempt(path) ? `attempt ${path}` : `task ${taskInPath(path)}`
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
    for (const [model, part] of Object.entries(spent)) addSpending(state, at, model, part)
  }
  if (calls) task.childCalls = [...(task.childCalls ?? []), ...calls]
}

/** Adds a kickoff by a function. It replaces an open kickoff of the same name, which had other inputs. */
function addKickoff(state: RunState, task: TaskState, path: string): void {
  const kickoffs = (task.kickoffs ??= new Map<string, string>())
  const name = childName(path)
  const before = state.attempts.get(kickoffs.get(name) ?? '')
  if (before?.status === 'open') before.status = 'void'
  kickoffs.set(name, path)
}

/** Runs that were kicked off by the task's code or within its nested crew, but not as child runs. */
function uncountedIn(
  state: RunState,
  { attempts, nested }: TaskState,
  within: readonly string[] = [],
): Pick<StoredOutput, 'uncounted'> {
  const own = [...attempts, ...nested].flatMap((path) => state.attempts.get(path)?.uncounted ?? [])
  const uncounted = [...new Set([...own, ...within])]
  return uncounted.length > 0 ? { uncounted } : {}
}

/** Whether an output is usable: a hand edit may have broken its JSON. */
function isOutput({ raw, structured }: Pick<StoredOutput, 'raw' | 'structured'>): boolean {
  return !structured || readJson(raw) !== undefined
}
