// Messages for runs: leaving one, which wakes the root, and those that no line of the journal has taken.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { Message, RunId } from '../store.ts'
import { unsureFirst, type Connection } from './connection.ts'
import { refreshRoot, untakenMessages as waitingIn } from './readiness.ts'

type PostResult = 'posted' | 'exists' | 'ended'

export async function postMessage(access: Connection, run: RunId, message: Message): Promise<PostResult> {
  const { files } = access
  const { is } = await access.lockedRoot<{ is: PostResult }>(rootRunId(run), async (roots, root) => {
    const state = await access.loadExisting(run)
    const top = await access.loadExisting(rootRunId(run))
    const known = await files.messages(run)
    if (state.taken.has(message.id) || known.some(({ id }) => id === message.id)) return { is: 'exists' }
    if (isEnded(state.row.status) || isEnded(top.row.status)) return { is: 'ended' }
    if (!root.unsure) return unsureFirst
    await files.post(run, message)
    await refreshRoot(files, roots, rootRunId(run))
    return { is: 'posted' }
  })
  return is
}

export function listMessages(access: Connection, run: RunId): Promise<Message[]> {
  return access.guarded(async () => {
    const state = await access.loadUndamaged(run)
    return state === undefined ? [] : waitingIn(access.files, run, state)
  })
}
