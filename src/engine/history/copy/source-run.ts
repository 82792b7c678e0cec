// A run as it is to be copied: read as a whole and checked, so that nothing of a damaged one is written elsewhere. A
// store gets the lines as they are; what it keeps besides, and no other store can be asked for, is folded from them.
import { RepriseError } from '../../../base/errors.ts'
import { childRun } from '../../../journal/paths.ts'
import { isEnded, type RunState } from '../../../journal/state/state.ts'
import { rangesOf } from '../../../text/words.ts'
import type { Batch, Message, OutputKey, RunId, RunRow, Store } from '../../../stores/store.ts'
import { recordedMessage } from '../../people/inbox.ts'
import { dueOf } from '../../read/due.ts'
import { readRun } from '../../read/read-run.ts'
import { outputKeys } from '../../read/row.ts'
import { checkReadable } from '../../run/lifecycle.ts'
import { completedAt } from '../import-run.ts'
import { checkWhole } from './half-copied.ts'

export interface SourceRun {
  readonly row: RunRow
  readonly entries: number
  readonly due: Batch['due']
  /** Those of its outputs that others can find. */
  readonly outputs: readonly OutputKey[]
  /** Messages that nobody has recorded. */
  readonly waiting: readonly Message[]
  /** Messages that are recorded: their ids are never free again. */
  readonly recorded: readonly Message[]
  /** The runs that its attempts name, which may never have been made. */
  readonly children: readonly RunId[]
  /** Of a run that was being executed: the token of the lease that its last entry was written under. */
  readonly token: number
}

/** JOURNAL_DAMAGED, BLOB_MISSING. RUN_NOT_FOUND when it is gone. */
export async function readSource(from: Store, row: RunRow, now: number): Promise<SourceRun> {
  const { run } = row
  checkWhole(from, row)
  const outputs: OutputKey[] = []
  const recorded = new Map<string, Message>()
  const children: RunId[] = []
  const { state } = await readRun(from, run, (entry, after) => {
    outputs.push(...outputKeys(after, [entry]).map((key) => ({ ...key, ...completedAt(entry) })))
    const message = recordedMessage(after, entry)
    if (message && !recorded.has(message.id)) recorded.set(message.id, message)
    if (entry.type === 'task.started' && entry.child) children.push(childRun(run, entry.path ?? ''))
  })
  checkReadable(state, undefined)
  checkComplete(state)
  const waiting = row.status === 'completed' ? [] : await from.inbox(run)
  for (const { id } of waiting) recorded.delete(id)
  return {
    row,
    entries: state.seq,
    due: sinceWhen(dueOf(state), row, now),
    outputs,
    waiting,
    // nobody can leave anything for a run that has ended
    recorded: isEnded(row.status) ? [] : [...recorded.values()],
    children,
    token: state.status === 'running' ? state.token : 0,
  }
}

/** A store numbers entries without gaps, and notes the last one itself: elsewhere nobody would know what is missing. */
function checkComplete({ run, status, missing, changed, lost = [] }: RunState): void {
  const gone = [...missing, ...lost]
  const numbers = gone.length > 0 ? gone : changed
  if (numbers.length === 0) return
  const one = numbers.length === 1
  const what = `${one ? 'entry' : 'entries'} ${rangesOf(numbers)} of run ${run} ${one ? 'is' : 'are'}`
  const how = gone.length > 0 ? 'missing' : 'not as written'
  const advice =
    gone.length > 0 || isEnded(status)
      ? 'replay it, and copy what that gives'
      : 'resume it, which records that, and copy it then'
  throw new RepriseError('JOURNAL_DAMAGED', `${what} ${how}; ${advice}`, { runId: run })
}

/** One that has been due for long comes before others there too. */
function sinceWhen(due: Batch['due'], { updatedAt }: RunRow, now: number): Batch['due'] {
  const since = due === 'now' ? Date.parse(updatedAt) : Number.NaN
  return since <= now ? since : due
}
