// Folds the entries of a run into its state, as the entry table says. Pure and free of Node, so that engine,
// command line and page read a journal in the same way. Paths decide where an entry belongs, never its position: a
// journal from which a person removed a line still folds.
import { journalVersion, type Entry } from '../entries.ts'
import { entryRows, statusAfter } from '../table/entry-table.ts'
import { finishFold, noteMissingEntries } from './change-tasks.ts'
import { noUsage, type RunState } from './state.ts'
import { applyAndTally, newTally, tallyAll } from './tally.ts'

export function fold(entries: Iterable<Entry>): RunState {
  const state = emptyState()
  for (const entry of entries) applyEntry(state, entry)
  return finishFold(state)
}

/** `run` is the id under which the journal is stored. Default: the id in its first entry. */
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
    questionsOf: new Map(),
    unanswered: new Set(),
    inheritedCalls: [],
    cached: new Map(),
    seq: 0,
    lastStep: 0,
    missing: [],
    changed: [],
    steps: 0,
    lastAfter: 0,
    events: new Map(),
    eventIds: new Set(),
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
  const row = entryRows.get(entry.type)
  if (!row) {
    state.unknown ??= `type ${JSON.stringify(entry.type)} of entry ${entry.seq}`
    return
  }
  if (row.progress) state.fruitless = 0
  if (row.everyTask) {
    row.apply(state, entry)
    tallyAll(state)
  } else applyAndTally(state, entry, row)
  state.status = statusAfter(entry) ?? state.status
}

/**
 * Whether a process was working on the run between the previous entry and this one. False if the run's status was not
 * running, if this entry is the first after a takeover (even if that only records an answer), or if the run was an
 * exported file meanwhile.
 */
function isWorkedOn({ status, token }: RunState, entry: Entry): boolean {
  return status === 'running' && entry.token === token && entry.type !== 'run.resumed' && entry.type !== 'run.imported'
}
