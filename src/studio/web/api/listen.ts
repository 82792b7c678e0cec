// Server-sent events over `fetch`, which unlike EventSource reports events of any name and the status of a refusal.
// After a disconnect, `listen` reconnects with the last event id, so no event is lost.
import { apiUrl, ApiError, checkLocked } from './client.ts'
import { signal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'

export interface ServerEvent {
  readonly id: string | undefined
  readonly name: string
  readonly data: string
}

interface Subscription {
  readonly path: string
  readonly params?: { readonly [name: string]: string }
  /** The id of the last known event. */
  readonly after?: number
  /** Returns `stop` for the last event, so that there is no reconnect. */
  onEvent(event: ServerEvent): 'stop' | void
  onConnection?(isOpen: boolean): void
  /** The server refused the stream; there is no reconnect. */
  onRefused?(error: ApiError): void
}

const longestPauseMs = 10_000

/** Listens until the returned function is called. */
export function listen(subscription: Subscription): () => void {
  const stop = new AbortController()
  void follow(subscription, stop.signal)
  return () => stop.abort()
}

async function follow(subscription: Subscription, abort: AbortSignal): Promise<void> {
  const { path, params = {}, after, onEvent, onConnection, onRefused } = subscription
  let last = after === undefined ? undefined : String(after)
  let pause = 500
  while (!abort.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
      const response = await fetch(apiUrl(path, { params }), { headers, signal: abort })
      if (response.status === 204) return
      checkLocked(response)
      if (response.status >= 400 && response.status < 500) {
        onRefused?.(
          new ApiError(response.status, {
            code: 'REFUSED',
            message: `the server refused the event stream with status ${response.status}`,
          }),
        )
        return
      }
      if (!response.ok || !response.body) throw new Error(response.statusText)
      onConnection?.(true)
      pause = 500
      for await (const event of eventsIn(response.body)) {
        last = event.id ?? last
        if (abort.aborted || onEvent(event) === 'stop') return
      }
    } catch {
      if (abort.aborted) return
    }
    onConnection?.(false)
    await waitFor(pause, abort)
    pause = Math.min(longestPauseMs, pause * 2)
  }
}

async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      const frames = text.split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const event = readFrame(frame)
        if (event) yield event
      }
    }
  } finally {
    // otherwise the connection stays open
    await reader.cancel().catch(() => {})
  }
}

function readFrame(frame: string): ServerEvent | undefined {
  let id: string | undefined
  let name = 'message'
  const data: string[] = []
  for (const line of frame.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('data: ')) data.push(line.slice(6))
  }
  return data.length === 0 ? undefined : { id, name, data: data.join('\n') }
}

/** Ends early when the page is shown or hidden, when the browser goes online, or when `abort` aborts. */
function waitFor(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      removeEventListener('online', done)
      document.removeEventListener('visibilitychange', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener('online', done)
    document.addEventListener('visibilitychange', done)
    abort.addEventListener('abort', done, { once: true })
  })
}

/** Increases when runs may have changed. Resources on the page reload then. */
export const changes = signal(0)

/** Calls the function with every change after the first rendering. The function may return a cleanup. */
export function useChanges(onChange: () => void | (() => void)): void {
  const seen = useRef(changes.peek())
  useSignalEffect(() => {
    const { value } = changes
    if (value === seen.current) return
    seen.current = value
    return onChange()
  })
}

/** Whether the server can be reached. Undefined until known. */
export const connected = signal<boolean | undefined>(undefined)

/** Follows the changes until the returned function is called. */
export function followChanges(): () => void {
  const stop = listen({
    path: '/changes',
    onEvent: ({ name }) => {
      if (name === 'change') changes.value++
    },
    onConnection: (isOpen) => {
      connected.value = isOpen
    },
  })
  return () => {
    stop()
    connected.value = undefined
  }
}
