// Computes when a root is ready, from the files of its run tree. People may add, edit and remove files. An unreadable
// file counts as empty, and its root stays `unsure`, so that the next claim reads the file again.
import { isDeepStrictEqual } from 'node:util'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { recordsMessages } from '../rules/ready.ts'
import type { Message, RunId } from '../store.ts'
import { completeRow, journalDueAt, type JournalState } from './journal-file.ts'
import { notReady, type Roots, type Readiness, type StoredRoot } from './roots.ts'
import type { RunFiles } from './run-files.ts'

/** The readiness of a root according to its journal, without the messages that wait in its tree. */
export function readReadiness(state: JournalState): Omit<Readiness, 'waiting'> {
  const row = completeRow(state)
  if (row === undefined || state.damage !== undefined) return notReady
  const { crew, version, format, priority, status } = row
  return { lane: { crew, version, format }, priority, ended: isEnded(status), dueAt: journalDueAt(state) }
}

/** Returns those messages in the inbox of a run that no line of its journal has taken. */
export async function untakenMessages(files: RunFiles, run: RunId, state: JournalState): Promise<Message[]> {
  const all = await files.messages(run)
  return all.filter((message) => !state.taken.has(message.id))
}

/** Updates a root's row from the files. `tree`: the ids of its runs, if already known. */
export async function refreshRoot(
  files: RunFiles,
  roots: Roots,
  run: RunId,
  tree?: readonly RunId[],
): Promise<StoredRoot> {
  let unsure = false
  async function tryRead<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch {
      unsure = true
      return undefined
    }
  }
  async function countMessages(id: RunId): Promise<number> {
    const state = await files.load(id)
    if (state?.damage !== undefined) throw state.damage
    if (state === undefined || !recordsMessages(state.row.status)) return 0
    return (await untakenMessages(files, id, state)).length
  }

  const state = await tryRead(() => files.load(run))
  if (state?.damage !== undefined) unsure = true
  const readiness = state === undefined ? notReady : readReadiness(state)
  let waiting = 0
  if (readiness.lane !== undefined) {
    const all = tree ?? (await files.ids()).filter((id) => rootRunId(id) === run)
    for (const id of all) waiting += (await tryRead(() => countMessages(id))) ?? 0
  }
  const stored = roots.get(run)
  const refreshed = { ...stored, ...readiness, waiting, unsure }
  // an unreadable root is refreshed by every claim; writing it each time would reset `ready_at`
  if (!stored.unsure || !isDeepStrictEqual(refreshed, stored)) roots.put(run, refreshed)
  return refreshed
}
