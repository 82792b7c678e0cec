// Messages to runs. Posting one wakes the root.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { Message, RunId } from '../store.ts'
import { unsureFirst, type Connection } from './connection.ts'
import { refreshRoot, untakenMessages } from './readiness.ts'

type PostStatus = 'posted' | 'exists' | 'ended'

export async function postMessage(connection: Connection, run: RunId, message: Message): Promise<PostStatus> {
  const { files } = connection
  const { status } = await connection.lockedRoot<{ status: PostStatus }>(rootRunId(run), async (roots, root) => {
    const state = await connection.loadExisting(run)
    const rootState = await connection.loadExisting(rootRunId(run))
    const messages = await files.messages(run)
    if (state.taken.has(message.id) || messages.some(({ id }) => id === message.id)) return { status: 'exists' }
    if (isEnded(state.row.status) || isEnded(rootState.row.status)) return { status: 'ended' }
    if (!root.unsure) return unsureFirst
    await files.post(run, message)
    await refreshRoot(files, roots, rootRunId(run))
    return { status: 'posted' }
  })
  return status
}

export function listMessages(connection: Connection, run: RunId): Promise<Message[]> {
  return connection.guarded(async () => {
    const state = await connection.loadUndamaged(run)
    return state === undefined ? [] : untakenMessages(connection.files, run, state)
  })
}
