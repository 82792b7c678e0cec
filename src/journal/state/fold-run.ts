// What entries about the run as a whole do to its state: how it stands, who works on it, and what it waits for.
import { defined } from '../../base/defined.ts'
import type { EntryOf, EntryType } from '../entries.ts'
import { taskAt } from './at-path.ts'
import { applyTaskChanges } from './change-tasks.ts'
import { declareTasks } from './declare-tasks.ts'
import { restartTask, withdrawQuestion } from './reset-task.ts'
import { noteLostEntries, excludeEntries } from './hand-edits.ts'
import type { RunState } from './state.ts'

type RunEntryType = Extract<EntryType, `run.${string}`>

export const runHandlers: { [T in RunEntryType]: (state: RunState, entry: EntryOf<T>) => void } = {
  'run.created': (state, entry) => {
    Object.assign(state, {
      // the name under which it is stored decides, so that the copy of a journal is a run of its own
      run: state.run === '' ? entry.run : state.run,
      incarnation: entry.incarnation,
      crew: entry.crew,
      version: entry.version,
      inputs: entry.inputs,
      owner: entry.owner,
    })
    Object.assign(state, { createdAt: entry.at, inheritedCalls: entry.calls ?? [], priority: entry.priority ?? 0 })
    Object.assign(state, entry.queued ? { status: 'queued', lives: 0 } : { status: 'running', lives: 1 })
    if (entry.queued) state.forWorkers = true
    if (entry.notBefore !== undefined) state.notBefore = entry.notBefore
    if (entry.trials !== undefined) state.trials = entry.trials
    if (entry.through !== undefined) state.through = entry.through
    if (entry.parent) state.parent = entry.parent
    if (entry.effects) state.effects = entry.effects
    if (entry.plan) state.plan = entry.plan
    if (entry.reuse) state.reuse = entry.reuse
    if (entry.module) state.module = entry.module
    if (entry.given !== undefined) state.given = entry.given
    declareTasks(state, entry.tasks)
    for (const lost of entry.lost ?? []) {
      const task = state.tasks.get(lost.task)
      if (task) task.lostBefore = lost
    }
  },
  'run.resumed': (state, entry) => {
    // only a run that was cut off counts: one that was suspended or failed has said why
    state.fruitless = state.status === 'running' ? state.fruitless + 1 : 0
    state.status = 'running'
    state.owner = entry.owner
    if (entry.via) state.via = entry.via
    state.lives += 1
    delete state.suspended
    delete state.error
    delete state.retryAt
    delete state.woken
    delete state.imported
    if (entry.version !== undefined) state.version = entry.version
    if (entry.through === undefined) delete state.through
    else state.through = entry.through
    if (entry.budget) {
      state.budget = entry.budget
      for (const asked of state.unanswered) if (asked.question.kind === 'limit') withdrawQuestion(state, asked)
    }
    if (entry.edited) recordEdit(state, entry.edited)
    applyTaskChanges(state, entry)
    for (const task of state.tasks.values()) if (task.status === 'failed' && !task.final) task.status = 'pending'
  },
  'run.suspended': (state, entry) => {
    state.status = 'suspended'
    delete state.woken
    const { reason, through, children, orphaned, to, arrived } = entry
    state.suspended = { reason, ...defined({ through, children, orphaned, to, arrived }) }
  },
  'run.yielded': (state) => {
    state.status = 'queued'
    delete state.notBefore
  },
  'run.requeued': (state) => {
    state.status = 'queued'
    state.forWorkers = true
    // as a resume that is told nothing: all that kept it from being continued is over
    delete state.notBefore
    delete state.suspended
    delete state.error
    delete state.retryAt
    delete state.woken
    delete state.imported
    delete state.through
  },
  'run.imported': (state) => {
    state.imported = true
    delete state.forWorkers
  },
  'run.woken': (state) => markWoken(state),
  'run.completed': (state) => {
    state.status = 'completed'
  },
  'run.failed': (state, entry) => {
    state.status = 'failed'
    state.error = { ...entry.error, ...(entry.task === undefined ? {} : { task: entry.task }) }
    state.failures = entry.progress ? 1 : state.failures + 1
    state.failedAt = entry.at
    if (entry.retryAt !== undefined) state.retryAt = entry.retryAt
  },
  'run.cancelled': (state) => {
    state.status = 'cancelled'
  },
}

/** What a run that is suspended may have waited for is there. */
export function markWoken(state: RunState): void {
  if (state.status === 'suspended') state.woken = true
}

/** Only what it names: a later edit may have touched lines before this entry, and is still to be recorded. */
function recordEdit(state: RunState, edit: NonNullable<EntryOf<'run.resumed'>['edited']>): void {
  state.handEdited = true
  state.missing = excludeEntries(state.missing, edit.missing)
  state.changed = excludeEntries(state.changed, edit.changed)
  noteLostEntries(state, edit.missing)
  for (const name of edit.tasks) restartTask(state, taskAt(state, name))
}
