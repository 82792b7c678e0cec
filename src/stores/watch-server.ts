// Changes that others make on a server. It tells what must be heard soon; the steps of runs that somebody follows are
// looked for, all of them with one question. Where the server cannot be listened to, everything is looked for.
import type { RunId } from './store.ts'
import { createWatchers, type Watchers } from './watchers.ts'

/** What tells of a run whether it has changed. */
export interface RunCounters {
  readonly seq: number
  readonly inbox: number
  readonly waiting: number
}

export interface WatchedServer {
  /** Of the runs that are there. */
  readCounters(runs: readonly RunId[]): Promise<Map<RunId, RunCounters>>
  /**
   * Hears until the connection is lost or the signal aborts; `begin` is called when it does. What is heard is `c` or
   * `p` and the run that has changed or got a message, or nothing: then whoever watches looks. Keeps no process alive.
   * 'deaf' where nothing can be heard at all.
   */
  listen(hear: (text: string) => void, begin: () => void, signal: AbortSignal): Promise<'deaf' | void>
}

const lookMs = 200
/** Whoever watches all runs is woken so often where nothing is told: to look at all of them costs more. */
const allMs = 1_000
const longestPause = 30_000

export function watchServer(server: WatchedServer): Watchers {
  const seen = new Map<RunId, RunCounters>()
  let watch: AbortController | undefined
  const watchers = createWatchers({
    start() {
      watch = new AbortController()
      const ear = listenTo(server, watchers, watch.signal)
      look(ear, watch.signal)
    },
    stop() {
      watch?.abort()
      seen.clear()
    },
  })

  function look(ear: Ear, signal: AbortSignal): void {
    let wokenAll = performance.now()
    let isLooking = false
    const timer = setInterval(() => {
      if (isLooking) return
      isLooking = true
      // away: looked for again in the next round
      compare(ear)
        .catch(() => undefined)
        .finally(() => (isLooking = false))
      if (ear.hears() || performance.now() - wokenAll < allMs) return
      wokenAll = performance.now()
      if (watchers.watched().all) watchers.changed()
    }, lookMs)
    // A watcher alone keeps no process alive.
    timer.unref()
    signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  async function compare(ear: Ear): Promise<void> {
    const { steps, messages } = watchers.watched()
    const runs = new Set(ear.hears() ? steps : [...steps, ...messages])
    for (const run of seen.keys()) if (!runs.has(run)) seen.delete(run)
    if (runs.size === 0) return
    const found = await server.readCounters([...runs])
    for (const run of runs) {
      const [before, now] = [seen.get(run), found.get(run)]
      if (now) seen.set(run, now)
      else seen.delete(run)
      if (now && (now.inbox !== before?.inbox || now.waiting !== before.waiting)) watchers.posted(run)
      else if (now?.seq !== before?.seq) watchers.changed(run)
    }
  }
  return watchers
}

interface Ear {
  /** Whether the server is listened to now. */
  hears(): boolean
}

/** Until the signal aborts. A connection that is lost is made again; what was said meanwhile everybody looks for. */
function listenTo(server: WatchedServer, watchers: Watchers, signal: AbortSignal): Ear {
  let isHearing = false
  let tries = 0

  function begin(): void {
    tries = 0
    isHearing = true
    watchers.changed()
  }

  async function keepListening(): Promise<void> {
    for (; !signal.aborted; tries++) {
      try {
        if ((await server.listen(hear, begin, signal)) === 'deaf') return
      } catch {
        // away, or lost
      } finally {
        isHearing = false
      }
      if (!signal.aborted) await pause(Math.min(lookMs * 2 ** tries, longestPause) * (0.5 + Math.random() / 2))
    }
  }

  function hear(text: string): void {
    const run = text.slice(1)
    if (text === '') watchers.changed()
    else if (text.startsWith('p')) watchers.posted(run)
    else watchers.changed(run)
  }

  void keepListening()
  return { hears: () => isHearing }
}

/** Keeps no process alive. */
function pause(ms: number): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
