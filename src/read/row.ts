// The listing row of a run, from which lists are shown mostly without reading journals. The append that changes what
// the row shows also writes the row.
import { defined } from '../base/options.ts'
import { journalVersion, type Entry } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { isNestedAttempt } from '../journal/paths.ts'
import type { CallState, RunState, TaskState } from '../journal/state/state.ts'
import { unfinishedCrews, activeChildren } from '../journal/state/tally.ts'
import type { OutputKey, RunRow } from '../stores/store.ts'
import { dueTime, spentPart, type RowSummary } from './row-summary.ts'

/** In characters of JSON. Larger inputs are left out of the row, and a list that shows them reads the journal. */
const inputsLimit = 2_048

export function listingRow(state: RunState): RunRow {
  const { done, failures, removed, crews } = state.tally
  const inputs = JSON.stringify(state.inputs)
  const children = unfinishedCrews(state)
  const open = [...crews].flatMap((name) =>
    state.tasks.get(name)?.removed ? [] : activeChildren(state, name).map(({ path }) => path),
  )
  const summary: RowSummary = {
    incarnation: state.incarnation,
    done,
    ...(failures === 0 ? {} : { failed: failures }),
    total: state.tasks.size - removed,
    lives: state.lives,
    usage: { ...state.spent },
    ...(state.spending.size === 0 ? {} : { spent: [...state.spending.values()].map(spentPart) }),
    questions: state.unanswered.size,
    seq: state.seq,
    ...(children.length === 0 ? {} : { children: children.map((attempt) => attempt.path), open }),
    ...defined({
      flow: state.flow,
      parentIncarnation: state.parent?.incarnation,
      from: state.parent?.from,
      dueAt: dueTime(state),
      imported: state.imported,
      forWorkers: state.forWorkers,
      trials: state.trials,
      next: state.next,
      previous: state.previous,
      chat: state.chat,
    }),
    ...defined({ suspended: state.suspended, woken: state.woken, error: state.error, module: state.module }),
  }
  return {
    run: state.run,
    crew: state.crew,
    version: state.version,
    format: journalVersion,
    priority: state.priority,
    status: state.status,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    ...(state.parent ? { forkedFrom: state.parent.run } : {}),
    inputs: inputs.length <= inputsLimit ? inputs : '',
    summary: JSON.stringify(summary),
  }
}

/** Returns the keys by which `reuse` finds new outputs. Outputs whose making had side effects are not reused. */
export function outputKeys(state: RunState, entries: readonly Entry[]): OutputKey[] {
  return entries.flatMap((entry) => {
    if (entry.type !== 'task.completed' || entry.path === undefined || isNestedAttempt(entry.path)) return []
    // if its failed tasks had succeeded, the nested crew might have another output
    if (entry.failures) return []
    const attempt = state.attempts.get(entry.path)
    const task = attempt && state.tasks.get(attempt.task)
    if (!task || hadSideEffects(state, task)) return []
    return [{ task: task.name, fingerprint: digest(attempt.fingerprint), seq: entry.seq }]
  })
}

/** Whether the task, its coworkers or its child runs made calls that must not be repeated. */
function hadSideEffects(state: RunState, { attempts, nested, childCalls = [] }: TaskState): boolean {
  const turns = [...attempts, ...nested].flatMap((path) => state.attempts.get(path)?.turns ?? [])
  return childCalls.length > 0 || turns.some((turn) => turn.calls.some(isUnrepeatable))
}

function isUnrepeatable({ effect, source }: CallState): boolean {
  return effect === 'once' || (source !== undefined && source !== 'cached')
}
