// What the files say of a root and the runs that work for it. People put files there, change them and take them away,
// so a file that cannot be read says nothing, and is looked at again the next time.
import { isDeepStrictEqual } from 'node:util'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { recordsMessages } from '../rules/ready.ts'
import type { Message, RunId } from '../store.ts'
import { completeRow, journalDueAt, type JournalState } from './journal.ts'
import { notReady, type Roots, type Readiness, type StoredRoot } from './roots.ts'
import type { RunFiles } from './run-files.ts'

/** All but the messages. */
export function readReadiness(state: JournalState): Omit<Readiness, 'waiting'> {
  const row = completeRow(state)
  if (row === undefined || state.damage !== undefined) return notReady
  const { crew, version, format, priority, status } = row
  return { lane: { crew, version, format }, priority, ended: isEnded(status), dueAt: journalDueAt(state) }
}

/** The messages of a run that no line of it has taken. */
export async function untakenMessages(files: RunFiles, run: RunId, state: JournalState): Promise<Message[]> {
  const all = await files.messages(run)
  return all.filter((message) => !state.taken.has(message.id))
}

/** Makes the row of a root say what its files say. `unit`: it and the runs that work for it, where they are known. */
export async function refreshRoot(
  files: RunFiles,
  roots: Roots,
  run: RunId,
  unit?: readonly RunId[],
): Promise<StoredRoot> {
  let unsure = false
  async function readable<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch {
      unsure = true
      return undefined
    }
  }
  async function waitingFor(id: RunId): Promise<number> {
    const state = await files.load(id)
    if (state?.damage !== undefined) throw state.damage
    if (state === undefined || !recordsMessages(state.row.status)) return 0
    return (await untakenMessages(files, id, state)).length
  }

  const state = await readable(() => files.load(run))
  if (state?.damage !== undefined) unsure = true
  const said = state === undefined ? notReady : readReadiness(state)
  let waiting = 0
  if (said.lane !== undefined) {
    const all = unit ?? (await files.ids()).filter((id) => rootRunId(id) === run)
    for (const id of all) waiting += (await readable(() => waitingFor(id))) ?? 0
  }
  const stored = roots.get(run)
  const settled = { ...stored, ...said, waiting, unsure }
  // one that cannot be read is looked at by every claim: written each time, it would be ready since then
  if (!stored.unsure || !isDeepStrictEqual(settled, stored)) roots.put(run, settled)
  return settled
}
