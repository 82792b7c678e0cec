// Changes made by others. The server tells what must be heard soon; the steps of runs that somebody follows are looked
// for, all of them with one question. Where the server cannot be listened to, everything is looked for.
import type { Client } from 'pg'
import { binaryArray } from './append/binary-arrays.ts'
import { createWatchers, type Watchers } from '../watchers.ts'
import type { RunId } from '../store.ts'
import { escapeName } from './connection/escape-name.ts'
import type { Database } from './database.ts'
import { readNotice } from './notices.ts'

const lookMs = 200
/** Whoever watches all runs is woken so often where nothing is told: to look at all of them costs more. */
const allMs = 1_000
const longestPause = 30_000
const aliveMs = 30_000

interface Seen extends Record<string, unknown> {
  readonly run: string
  readonly seq: number
  readonly inbox: number
  readonly waiting: number
}

export function watchDatabase(database: Database): Watchers {
  const seen = new Map<RunId, Seen>()
  let watch: AbortController | undefined
  const watchers = createWatchers({
    start() {
      watch = new AbortController()
      const ear = listen(database, watchers, watch.signal)
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
    const heads = await database.read<Seen>(
      `select run, seq, inbox, waiting from ${database.schema}.heads where run = any($1::text[])`,
      [binaryArray('text', [...runs])],
    )
    const found = new Map(heads.map((head) => [head.run, head]))
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
function listen(database: Database, watchers: Watchers, signal: AbortSignal): Ear {
  let isHearing = false

  async function keepListening(): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        const client = await database.session()
        // a pooler is between us and the server
        if (client === undefined) return
        await listenBy(client, () => (tries = 0))
      } catch {
        // away, or lost
      }
      if (!signal.aborted) await pause(Math.min(lookMs * 2 ** tries, longestPause) * (0.5 + Math.random() / 2))
    }
  }

  /** Until the connection is lost, or not wanted any more. */
  async function listenBy(client: Client, begin: () => void): Promise<void> {
    const lost = new Promise((resolve) => client.once('end', resolve))
    const end = (): void => void client.end()
    // nothing is sent by itself over a connection that only listens, and so nobody would notice that it is dead
    const alive = setInterval(() => void client.query('select 1').catch(end), aliveMs).unref()
    signal.addEventListener('abort', end, { once: true })
    try {
      if (signal.aborted) return
      client.on('notification', ({ payload = '' }) => hear(payload))
      await client.query(`listen ${escapeName(database.channel)}`)
      begin()
      isHearing = true
      watchers.changed()
      await lost
    } finally {
      isHearing = false
      clearInterval(alive)
      signal.removeEventListener('abort', end)
      end()
    }
  }

  function hear(payload: string): void {
    const notice = readNotice(payload)
    if (notice === undefined) watchers.changed()
    else if (notice.what === 'posted') watchers.posted(notice.run)
    else watchers.changed(notice.run)
  }

  void keepListening()
  return { hears: () => isHearing }
}

/** Keeps no process alive. */
function pause(ms: number): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
