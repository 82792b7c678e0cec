// Entries about the run as a whole: its status, the processes that work on it, and what it waits for.
import { defined } from '../../base/options.ts'
import type { EntryOf } from '../entries.ts'
import { nextRunId, previousRunId } from '../paths.ts'
import {
  amount,
  anything,
  json,
  list,
  object,
  one,
  optional,
  priority,
  record,
  text,
  time,
  yes,
} from '../check/shapes.ts'
import {
  by,
  declaredTasks,
  failure,
  handEdit,
  limit,
  onceCalls,
  orphanedTasks,
  owner,
  taskChanges,
  texts,
} from '../check/value-shapes.ts'
import { describeOrphan, describeTaskChanges, givenUpReason, movedWords } from '../describe.ts'
import { taskAt } from '../state/at-path.ts'
import { applyTaskChanges, declareTasks, restartTask, excludeEntries, noteLostEntries } from '../state/change-tasks.ts'
import { withdrawQuestion } from '../state/questions.ts'
import { markWoken, type RunState } from '../state/state.ts'
import { closeFlow, retrySteps } from '../state/steps.ts'
import { byWhom, type EntryRows } from './entry-row.ts'

export const runRows: EntryRows<'run'> = {
  'run.created': {
    fields: {
      run: text,
      incarnation: text,
      crew: text,
      version: text,
      inputs: record(json),
      given: optional(record(json)),
      tasks: declaredTasks,
      owner,
      parent: optional(object({ run: text, incarnation: text, from: optional(text), request: optional(text) })),
      plan: optional(
        list(object({ task: text, action: text, reasons: texts, fields: optional(texts), unless: optional(texts) })),
      ),
      reuse: optional(object({ maxAgeSeconds: optional(amount) })),
      calls: optional(onceCalls),
      lost: optional(list(object({ task: text, run: text, entries: list(amount) }))),
      effects: optional(one('ask', 'again', 'never')),
      trials: optional(amount),
      queued: optional(yes),
      notBefore: optional(time),
      priority: optional(priority),
      through: optional(text),
      module: optional(object({ file: text, export: optional(text) })),
      flow: optional(yes),
      seed: optional(text),
      previous: optional(text),
      chat: optional(yes),
      by,
    },
    status: ({ queued }) => (queued ? 'queued' : 'running'),
    everyTask: true,
    listed: true,
    progress: false,
    // logged before it is written
    log: undefined,
    apply(state, entry) {
      const { incarnation, crew, version, inputs, owner: process, queued, calls = [], priority: rank = 0 } = entry
      // the id under which the journal is stored takes precedence, so that a copied journal is a run of its own
      if (state.run === '') state.run = entry.run
      Object.assign(state, { incarnation, crew, version, inputs, owner: process })
      Object.assign(state, { createdAt: entry.at, inheritedCalls: calls, priority: rank, lives: queued ? 0 : 1 })
      if (queued) state.forWorkers = true
      const { notBefore, trials, through, parent, effects, plan, reuse, module, given } = entry
      Object.assign(state, defined({ notBefore, trials, through, parent, effects, plan, reuse, module, given }))
      const { flow, seed, chat } = entry
      const previous =
        entry.previous !== undefined && entry.run !== state.run ? previousRunId(state.run) : entry.previous
      Object.assign(state, defined({ flow, seed, chat, previous }))
      declareTasks(state, entry.tasks)
      for (const lost of entry.lost ?? []) {
        const task = state.tasks.get(lost.task)
        if (task) task.lostBefore = lost
      }
    },
  },
  'run.resumed': {
    fields: {
      owner,
      via: optional(object({ dispatcher: text, id: text })),
      version: optional(text),
      through: optional(text),
      tasks: optional(declaredTasks),
      changes: optional(taskChanges),
      edited: optional(handEdit),
      budget: optional(limit),
      retry: optional(texts),
      by,
    },
    status: 'running',
    everyTask: true,
    listed: true,
    progress: false,
    log: ({ owner: { label, pid }, edited, changes }) => {
      const resumed = `resumed by ${label === undefined ? '' : `${label}, `}process ${pid}`
      const again =
        edited &&
        `entries of the journal were missing or changed; executed again: ${edited.tasks.join(', ') || 'nothing'}`
      const changed = changes && `its tasks have changed: ${describeTaskChanges(changes)}`
      return [resumed, again, changed].filter((words) => words !== undefined).join('; ')
    },
    apply(state, entry) {
      // counts only processes that were cut off: others recorded why they stopped
      state.fruitless = state.status === 'running' ? state.fruitless + 1 : 0
      state.owner = entry.owner
      if (entry.via) state.via = entry.via
      state.lives += 1
      clearStop(state)
      if (entry.version !== undefined) state.version = entry.version
      if (entry.through === undefined) delete state.through
      else state.through = entry.through
      if (entry.budget) {
        state.budget = entry.budget
        for (const asked of state.unanswered) if (asked.question.kind === 'limit') withdrawQuestion(state, asked)
      }
      if (entry.edited) recordEdit(state, entry.edited)
      applyTaskChanges(state, entry)
      if (state.flow) return entry.retry && retrySteps(state, entry.seq, entry.retry)
      for (const task of state.tasks.values()) if (task.status === 'failed' && !task.final) task.status = 'pending'
    },
  },
  'run.suspended': {
    fields: {
      reason: text,
      through: optional(text),
      orphaned: optional(orphanedTasks),
      children: optional(texts),
      to: optional(text),
      arrived: optional(yes),
      until: optional(time),
    },
    status: 'suspended',
    listed: true,
    progress: true,
    log: (entry) => {
      const { reason, through, orphaned, until } = entry
      if (reason === 'moved') return movedWords(entry)
      if (reason === 'takeovers') return `suspended: it ${givenUpReason}`
      const when = until === undefined ? '' : ` until ${until}`
      const what = `suspended: ${reason}${through === undefined ? '' : ` ${through}`}${when}`
      return orphaned ? `${what}: ${orphaned.map(describeOrphan).join('; ')}` : what
    },
    apply(state, { reason, through, children, orphaned, to, arrived, until }) {
      delete state.woken
      state.suspended = { reason, ...defined({ through, children, orphaned, to, arrived, until }) }
    },
  },
  'run.yielded': {
    fields: {},
    status: 'queued',
    listed: true,
    progress: true,
    log: () => 'handed back to the queue',
    apply(state) {
      delete state.notBefore
    },
  },
  'run.requeued': {
    fields: { by },
    status: 'queued',
    listed: true,
    progress: true,
    log: (entry) => `handed to the workers${byWhom(entry)}`,
    apply(state) {
      state.forWorkers = true
      // as after a resume without options, nothing delays the run or stops it early
      delete state.notBefore
      delete state.through
      clearStop(state)
    },
  },
  'run.imported': {
    fields: {},
    listed: true,
    progress: false,
    log: () => 'imported',
    apply(state) {
      state.imported = true
      delete state.forWorkers
    },
  },
  'run.woken': {
    fields: { child: text },
    listed: true,
    progress: true,
    log: ({ child }) => `woken by run ${child}`,
    apply: markWoken,
  },
  'run.completed': {
    fields: { value: anything, left: optional(texts), next: optional(text) },
    status: 'completed',
    everyTask: true,
    listed: true,
    progress: true,
    log: ({ next }) => (next === undefined ? 'completed' : `completed; it continues as run ${next}`),
    apply(state, { value, left, next }) {
      if (state.flow) closeFlow(state)
      // imported under another id, the runs that continue one another refer to one another by their new ids
      Object.assign(state, defined({ value, left, next: next && nextRunId(state.run) }))
    },
  },
  'run.failed': {
    fields: {
      error: failure,
      task: optional(text),
      retryAt: optional(time),
      progress: optional(yes),
      steps: optional(texts),
    },
    status: 'failed',
    listed: true,
    progress: true,
    log: ({ task, error }) => `failed${task === undefined ? '' : ` in task ${task}`}: ${error.message}`,
    apply(state, { at, error, task, retryAt, progress, steps }) {
      if (steps) state.failedSteps = steps
      state.error = { ...error, ...defined({ task }) }
      state.failures = progress ? 1 : state.failures + 1
      state.failedAt = at
      if (retryAt !== undefined) state.retryAt = retryAt
    },
  },
  'run.cancelled': {
    fields: { by, reason: optional(text) },
    status: 'cancelled',
    listed: true,
    progress: true,
    log: (entry) => `cancelled${byWhom(entry)}`,
    apply() {},
  },
}

/** Removes what the state has about why the run stopped. */
function clearStop(state: RunState): void {
  delete state.suspended
  delete state.error
  delete state.failedSteps
  delete state.retryAt
  delete state.woken
  delete state.imported
}

/**
 * Marks the missing and changed entries that a resume names as recorded. Others were edited after that resume, and
 * aren't recorded yet.
 */
function recordEdit(state: RunState, edit: NonNullable<EntryOf<'run.resumed'>['edited']>): void {
  state.handEdited = true
  state.missing = excludeEntries(state.missing, edit.missing)
  state.changed = excludeEntries(state.changed, edit.changed)
  noteLostEntries(state, edit.missing)
  for (const name of edit.tasks) restartTask(state, taskAt(state, name), true)
}
