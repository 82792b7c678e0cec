// Watches runs on a server for changes by other processes. The server notifies of urgent changes; the steps of watched
// runs are polled, all of them with one query. Where notifications aren't available, everything is polled.
import type { RunId } from './store.ts'
import { createWatchers, type Watchers } from './watchers.ts'

/** Counters of a run. Every new entry and every message changes one of them. */
export interface RunCounters {
  readonly seq: number
  readonly inbox: number
  readonly waiting: number
}

export interface WatchedServer {
  /** Reads the counters of these runs. A run that doesn't exist has none. */
  readCounters(runs: readonly RunId[]): Promise<Map<RunId, RunCounters>>
  /**
   * Listens until the connection is lost or the signal aborts; calls `onStart` once it listens. A notification is `c`
   * (changed) or `p` (posted) followed by the run's id, or an empty string, which wakes all watchers. Doesn't keep the
   * process alive. Resolves with 'unsupported' if notifications aren't available.
   */
  listen(onNotice: (text: string) => void, onStart: () => void, signal: AbortSignal): Promise<'unsupported' | void>
}

const pollMs = 200
/** Without notifications, watchers of all runs are woken at this longer interval, since they read more. */
const pollAllMs = 1_000
const longestPauseMs = 30_000

/** Wakes watchers when the server notifies, or when a poll finds changed counters. */
export function watchServer(server: WatchedServer): Watchers {
  const lastCounters = new Map<RunId, RunCounters>()
  let watch: AbortController | undefined
  const watchers = createWatchers({
    start() {
      watch = new AbortController()
      const listener = startListening(server, watchers, watch.signal)
      startPolling(listener, watch.signal)
    },
    stop() {
      watch?.abort()
      lastCounters.clear()
    },
  })

  function startPolling(listener: Listener, signal: AbortSignal): void {
    let allWokenAt = performance.now()
    let isPolling = false
    const timer = setInterval(() => {
      if (isPolling) return
      isPolling = true
      // during an outage the next round tries again
      compareCounters(listener)
        .catch(() => undefined)
        .finally(() => (isPolling = false))
      if (listener.isListening() || performance.now() - allWokenAt < pollAllMs) return
      allWokenAt = performance.now()
      if (watchers.watched().all) watchers.changed()
    }, pollMs)
    // a watcher alone must not keep the process alive
    timer.unref()
    signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  async function compareCounters(listener: Listener): Promise<void> {
    const { steps, messages } = watchers.watched()
    const runs = new Set(listener.isListening() ? steps : [...steps, ...messages])
    for (const run of lastCounters.keys()) if (!runs.has(run)) lastCounters.delete(run)
    if (runs.size === 0) return
    const counters = await server.readCounters([...runs])
    for (const run of runs) {
      const [before, now] = [lastCounters.get(run), counters.get(run)]
      if (now) lastCounters.set(run, now)
      else lastCounters.delete(run)
      if (now && (now.inbox !== before?.inbox || now.waiting !== before.waiting)) watchers.posted(run)
      else if (now?.seq !== before?.seq) watchers.changed(run)
    }
  }
  return watchers
}

interface Listener {
  isListening(): boolean
}

/** Listens until the signal aborts. Reconnects after a lost connection, and then wakes all watchers. */
function startListening(server: WatchedServer, watchers: Watchers, signal: AbortSignal): Listener {
  let isListening = false
  let tries = 0

  function onStart(): void {
    tries = 0
    isListening = true
    // earlier notifications were missed
    watchers.changed()
  }

  async function keepListening(): Promise<void> {
    for (; !signal.aborted; tries++) {
      try {
        if ((await server.listen(onNotice, onStart, signal)) === 'unsupported') return
      } catch {
        // unreachable, or the connection was lost
      } finally {
        isListening = false
      }
      if (!signal.aborted) await pause(Math.min(pollMs * 2 ** tries, longestPauseMs) * (0.5 + Math.random() / 2))
    }
  }

  function onNotice(text: string): void {
    const run = text.slice(1)
    if (text === '') watchers.changed()
    else if (text.startsWith('p')) watchers.posted(run)
    else watchers.changed(run)
  }

  void keepListening()
  return { isListening: () => isListening }
}

/** Doesn't keep the process alive. */
function pause(ms: number): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
