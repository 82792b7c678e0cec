// Hints that something changed in the store, for whatever is in sight: each resource of the page is read again when the
// number moves. That the connection is lost is known here too, since this one is always open.
import { signal } from '@preact/signals'
import { listen } from './listen.ts'

export const changes = signal(0)

/** undefined: not yet known. */
export const connected = signal<boolean | undefined>(undefined)

/** Until the function that it returns is called. */
export function followChanges(): () => void {
  const stop = listen({
    path: '/changes',
    hear: ({ name }) => {
      if (name === 'change') changes.value++
    },
    connected: (is) => {
      connected.value = is
    },
  })
  return () => {
    stop()
    connected.value = undefined
  }
}
