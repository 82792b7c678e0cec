// What the server says to what somebody is typing: asked for at once at first, and then a moment after the last change.
import { useEffect, useRef, useState } from 'preact/hooks'

const pauseMs = 350

export interface TypedAnswer<T> {
  readonly value: T | undefined
  readonly problem: unknown
  /** It isn't the answer to what is asked now. */
  readonly busy: boolean
}

/** `key` says what is asked. */
export function useTypedAnswer<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): TypedAnswer<T> {
  const [state, setState] = useState<{ of: string | undefined; value: T | undefined; problem: unknown }>({
    of: undefined,
    value: undefined,
    problem: undefined,
  })
  const begun = useRef(false)
  const newest = useRef(ask)
  newest.current = ask
  useEffect(() => {
    const stop = new AbortController()
    const timer = setTimeout(
      () => {
        begun.current = true
        newest.current(stop.signal).then(
          (value) => setState({ of: key, value, problem: undefined }),
          (problem: unknown) => {
            if (!stop.signal.aborted) setState({ of: key, value: undefined, problem })
          },
        )
      },
      begun.current ? pauseMs : 0,
    )
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [key])
  return { value: state.value, problem: state.problem, busy: state.of !== key }
}
