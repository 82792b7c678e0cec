// The session: facts about the studio, and the role and name of the user.
import { signal } from '@preact/signals'
import type { Studio } from '../../api/contract.ts'
import { ApiError, call, onLocked } from './client.ts'

/** Undefined until loaded; `locked` if the studio needs a token. */
export const session = signal<Studio | 'locked' | undefined>(undefined)
export const sessionError = signal<unknown>(undefined)

/** Whether the session has ended: the studio restarted with other tokens, or the user logged out in another tab. */
export const lockedOut = signal(false)

onLocked(() => {
  if (typeof session.peek() !== 'object') return
  lockedOut.value = true
  session.value = 'locked'
})

const nameKey = 'reprise.by'

/** The name recorded with answers and actions. */
export const signature = signal('')

/** The `by` field of a request. */
export function signed(): { readonly by?: string } {
  const by = signature.peek().trim()
  return by === '' ? {} : { by }
}

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
    // without storage, the name lasts until the page is closed
  }
}

function stored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}
