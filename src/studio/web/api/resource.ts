// Data loaded from the server: the value, the error, and a way to reload. The old value stays while reloading.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { errorText } from '../parts/states.tsx'
import { useChanges } from './listen.ts'

export interface Resource<T> {
  readonly value: T | undefined
  readonly error: unknown
  again(): void
}

/** Minimum time between reloads while runs keep changing. */
const minIntervalMs = 400

/** Loads a value. A new `key` drops the old value. `live`: reloads with every change in the store. */
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
  const newest = useRef({ load, key, readAt: 0, underWay: undefined as AbortController | undefined, due: false })
  newest.current.load = load
  newest.current.key = key

  const again = useCallback(() => {
    const state = newest.current
    state.underWay?.abort()
    const underWay = new AbortController()
    state.underWay = underWay
    state.readAt = performance.now()
    state.due = false
    const loading = state.key
    const settle = (problem: unknown, read?: T): void => {
      if (underWay.signal.aborted) return
      state.underWay = undefined
      set((before) => {
        // after an error, the old value is better than none
        const old = before.of === loading ? before.value : undefined
        return { of: loading, value: problem === undefined ? read : old, error: problem }
      })
      if (state.due) setTimeout(() => state.due && again(), minIntervalMs)
    }
    state.load(underWay.signal).then((read) => settle(undefined, read), settle)
  }, [])

  useEffect(() => {
    again()
    return () => newest.current.underWay?.abort()
  }, [key, again])

  useChanges(() => {
    if (!live) return
    // a slow read isn't restarted: with frequent changes it would never end
    newest.current.due = true
    if (newest.current.underWay) return
    const wait = Math.max(0, minIntervalMs - (performance.now() - newest.current.readAt))
    const timer = setTimeout(again, wait)
    return () => clearTimeout(timer)
  })

  return of === key ? { value, error, again } : { value: undefined, error: undefined, again }
}

interface Action {
  readonly busy: boolean
  /** Why the last attempt failed. Empty if it didn't fail. */
  readonly problem: string
  attempt(act: () => Promise<void>): Promise<void>
}

/** Tracks an action that the user starts with a button. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setProblem('')
    try {
      await act()
    } catch (error) {
      setProblem(errorText(error))
    }
    setBusy(false)
  }
  return { busy, problem, attempt }
}

const pauseMs = 350

interface FormResult<T> {
  readonly value: T | undefined
  readonly problem: unknown
  /** Whether the result is out of date. */
  readonly busy: boolean
}

/** Requests a result for a form: at once, and shortly after each change, which is a new `key`. */
export function useFormResult<T>(key: string, request: (signal: AbortSignal) => Promise<T>): FormResult<T> {
  const [state, setState] = useState<{ of: string | undefined; value: T | undefined; problem: unknown }>({
    of: undefined,
    value: undefined,
    problem: undefined,
  })
  const started = useRef(false)
  const newest = useRef(request)
  newest.current = request
  useEffect(() => {
    const stop = new AbortController()
    const timer = setTimeout(
      () => {
        started.current = true
        newest.current(stop.signal).then(
          (value) => setState({ of: key, value, problem: undefined }),
          (problem: unknown) => {
            if (!stop.signal.aborted) setState({ of: key, value: undefined, problem })
          },
        )
      },
      started.current ? pauseMs : 0,
    )
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [key])
  return { value: state.value, problem: state.problem, busy: state.of !== key }
}
