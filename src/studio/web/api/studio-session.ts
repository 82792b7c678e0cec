// Who looks, and what this studio lets them do.
import { signal } from '@preact/signals'
import type { Studio } from '../../api/contract.ts'
import { ApiError, call, onLocked } from './client.ts'

/** undefined until it is known; `locked` when a token is needed first. */
export const session = signal<Studio | 'locked' | undefined>(undefined)
export const sessionError = signal<unknown>(undefined)

/** A token was good until now: the studio was started again with others, or somebody logged out in another tab. */
export const lockedOut = signal(false)

onLocked(() => {
  if (typeof session.peek() !== 'object') return
  lockedOut.value = true
  session.value = 'locked'
})

const nameKey = 'reprise.by'

/** The name that answers are signed with. */
export const signature = signal('')

export function mayAnswer(): boolean {
  const { value } = session
  return typeof value === 'object' && value.role !== 'look'
}

export function mayAct(): boolean {
  const { value } = session
  return typeof value === 'object' && value.role === 'act'
}

export async function openSession(): Promise<void> {
  try {
    const studio = await call('GET /studio')
    session.value = studio
    sessionError.value = undefined
    signature.value = stored(nameKey) ?? studio.by ?? ''
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) session.value = 'locked'
    else sessionError.value = error
  }
}

export async function unlock(token: string): Promise<void> {
  await call('POST /session', { body: { token } })
  lockedOut.value = false
  await openSession()
}

export async function logOut(): Promise<void> {
  await call('DELETE /session')
  lockedOut.value = false
  session.value = 'locked'
}

export function sign(name: string): void {
  signature.value = name
  try {
    localStorage.setItem(nameKey, name)
  } catch {
    // it is asked for again next time
  }
}

function stored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}
