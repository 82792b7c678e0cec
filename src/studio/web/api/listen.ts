// Server-sent events, read by `fetch`: unlike the browser's EventSource it gives every event whatever its name, and
// says why a connection is over. When it breaks, it comes back with the last id it saw, so that nothing is missed.
import { apiUrl, ApiError, checkLocked } from './client.ts'

export interface ServerEvent {
  readonly id: string | undefined
  readonly name: string
  readonly data: string
}

interface Subscription {
  readonly path: string
  readonly params?: { readonly [name: string]: string }
  /** The last event that is known. */
  readonly after?: number
  /** `stop`: this was the last one, and there is nothing to come back for. */
  hear(event: ServerEvent): 'stop' | void
  /** Whether there is a connection now. */
  connected?(is: boolean): void
  /** It won't come back: the run is gone, or one may not look. */
  refused?(error: ApiError): void
}

const longestPauseMs = 10_000

/** Until the function that it returns is called. */
export function listen(listening: Subscription): () => void {
  const stop = new AbortController()
  void follow(listening, stop.signal)
  return () => stop.abort()
}

async function follow(listening: Subscription, signal: AbortSignal): Promise<void> {
  const { path, params = {}, after, hear, connected, refused } = listening
  let last = after === undefined ? undefined : String(after)
  let pause = 500
  while (!signal.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
      const response = await fetch(apiUrl(path, { params }), { headers, signal })
      if (response.status === 204) return
      checkLocked(response)
      if (response.status >= 400 && response.status < 500) {
        refused?.(new ApiError(response.status, { code: 'REFUSED', message: `it was refused (${response.status})` }))
        return
      }
      if (!response.ok || !response.body) throw new Error(response.statusText)
      connected?.(true)
      pause = 500
      for await (const event of eventsIn(response.body)) {
        last = event.id ?? last
        if (signal.aborted || hear(event) === 'stop') return
      }
    } catch {
      if (signal.aborted) return
    }
    connected?.(false)
    await waitFor(pause, signal)
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
    // or the connection stays open after nobody listens any more
    await reader.cancel().catch(() => {})
  }
}

export function readFrame(frame: string): ServerEvent | undefined {
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

/** A page that comes back to the front tries at once. */
function waitFor(ms: number, signal: AbortSignal): Promise<void> {
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
    signal.addEventListener('abort', done, { once: true })
  })
}
