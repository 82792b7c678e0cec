// Something that is read from the server and shown: what there is, what went wrong, and how to read it again. While it
// is read again, what was there stays.
import { useSignalEffect } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { changes } from './changes.ts'

export interface Resource<T> {
  readonly value: T | undefined
  readonly error: unknown
  again(): void
}

/** Reads at least this far apart while things keep changing. */
const apartMs = 400

/** `key` says what is read: another key forgets what was there. `live`: again with every change in the store. */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { live = true }: { readonly live?: boolean } = {},
): Resource<T> {
  const [{ of, value, error }, set] = useState<{ of: string; value: T | undefined; error: unknown }>({
    of: key,
    value: undefined,
    error: undefined,
  })
  const newest = useRef({ load, key, readAt: 0, under: undefined as AbortController | undefined, due: false })
  newest.current.load = load
  newest.current.key = key

  const again = useCallback(() => {
    const state = newest.current
    state.under?.abort()
    const under = new AbortController()
    state.under = under
    state.readAt = performance.now()
    state.due = false
    const asked = state.key
    const settle = (problem: unknown, read?: T): void => {
      if (under.signal.aborted) return
      state.under = undefined
      set((before) => {
        // what was read before is better than nothing
        const kept = before.of === asked ? before.value : undefined
        return { of: asked, value: problem === undefined ? read : kept, error: problem }
      })
      if (state.due) setTimeout(() => state.due && again(), apartMs)
    }
    state.load(under.signal).then((read) => settle(undefined, read), settle)
  }, [])

  useEffect(() => {
    again()
    return () => newest.current.under?.abort()
  }, [key, again])

  const seen = useRef(changes.peek())
  useSignalEffect(() => {
    const current = changes.value
    if (!live || current === seen.current) return
    seen.current = current
    // a slow read is not begun anew, or it would never end while things change
    newest.current.due = true
    if (newest.current.under) return
    const wait = Math.max(0, apartMs - (performance.now() - newest.current.readAt))
    const timer = setTimeout(again, wait)
    return () => clearTimeout(timer)
  })

  return of === key ? { value, error, again } : { value: undefined, error: undefined, again }
}
