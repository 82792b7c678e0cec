// The connection to a server: one for all commands, which the client sends together as they come, and one that listens.
// It is made when it is needed and made again when it was lost; a command that cannot be sent is refused at once, and
// whoever waits for a store that is away tries again (patient/).
import { createHash } from 'node:crypto'
import type { RedisClient } from 'redis'
import { RepriseError } from '../../base/errors.ts'
import { whenMissing } from '../../base/optional-package.ts'
import type { CallStage } from '../patient/outage-error.ts'
import { storeClosedError } from '../rules/refusals.ts'
import { isAnswer, redisError, replyCode } from './errors.ts'
import { scriptText, type ScriptName } from './scripts.ts'
import type { RedisAddress, RedisSettings } from './url.ts'

export type Argument = string | Buffer
type MakeClient = ReturnType<typeof RedisClient.factory>
export type Client = ReturnType<MakeClient>

export interface RedisConnection {
  /** Without the password. */
  readonly url: string
  /** One command that changes nothing. STORE_UNAVAILABLE. */
  read<Reply>(command: readonly Argument[]): Promise<Reply>
  /** Several, in this order but perhaps with others' in between, whose texts are given as bytes. STORE_UNAVAILABLE. */
  readBytes<Replies extends unknown[]>(commands: readonly (readonly Argument[])[]): Promise<Replies>
  /** STORE_UNAVAILABLE when nothing was written, OUTCOME_UNKNOWN when the answer was lost. */
  script<Reply>(name: ScriptName, given: readonly Argument[]): Promise<Reply>
  /**
   * Hears what is told on a channel until the connection is lost or the signal aborts. Keeps no process alive.
   */
  listen(channel: string, hear: (text: string) => void, begin: () => void, signal: AbortSignal): Promise<void>
  /** Ends all connections, when what is under way is done. Everything after it is refused. */
  close(): Promise<void>
}

const connectMs = 10_000
/** How long a sentinel may take: then the next one is asked. */
const sentinelMs = 2_000
/** A connection that only listens would not notice that it is dead. */
const aliveMs = 10_000
/** The longest time that a timer can have. */
const longestTimerMs = 2 ** 31 - 1
/** By the sign of texts in the protocol. */
const asBytes = { typeMapping: { [0x24]: Buffer } } as const

/** One for all connections: `createClient` makes a class for each set of options, which takes 50 ms. */
let makeClient: MakeClient | undefined

/** `greet`: called once with a connection before anything else is done. What it rejects with, every call does. */
export async function openConnection(
  place: RedisSettings,
  greet: (client: Client) => Promise<void>,
): Promise<RedisConnection> {
  const { displayUrl: url, prefix, timeoutMs } = place
  const { default: redis } = await import('redis').catch(whenMissing('redis', 'a redis: store'))
  const newClient = (makeClient ??= redis.RedisClient.factory())
  const underWay = new Set<Promise<unknown>>()
  let awake: NodeJS.Timeout | undefined
  let current: Promise<Client> | undefined
  let wasOpen = false
  let closed = false

  function codeOf(error: unknown): string | undefined {
    return error instanceof redis.ErrorReply ? replyCode(error.message) : undefined
  }

  function wasSent(error: unknown): boolean {
    return !(error instanceof redis.ClientOfflineError || error instanceof redis.ClientClosedError)
  }

  function made({ host, port }: RedisAddress, more: { readonly password?: string | undefined } = place): Client {
    const client = newClient({
      socket: {
        host,
        port,
        connectTimeout: connectMs,
        reconnectStrategy: false,
        ...(place.tls && { tls: true as const, ...place.tls }),
      },
      ...(more === place && {
        ...(place.username !== undefined && { username: place.username }),
        database: place.database,
      }),
      ...(more.password !== undefined && { password: more.password }),
      disableOfflineQueue: true,
    })
    // told by the commands that fail
    client.on('error', () => undefined)
    // calls keep the process alive, and connections do not
    client.unref()
    return client
  }

  /** A server that hangs is given up: everything that was sent to it fails. */
  async function inTime<T>(client: Client, work: () => Promise<T>, ms = timeoutMs): Promise<T> {
    let isLate = false
    const giveUp = (): void => {
      isLate = true
      client.destroy()
    }
    const timer = setTimeout(giveUp, ms).unref()
    try {
      return await work()
    } catch (error) {
      throw isLate ? new Error(`no answer within ${ms} ms`, { cause: error }) : error
    } finally {
      clearTimeout(timer)
    }
  }

  async function askSentinel<Reply>(address: RedisAddress, command: readonly string[]): Promise<Reply> {
    const client = made(address, { password: place.sentinelPassword })
    const ask = async (): Promise<Reply> => {
      await client.connect()
      return client.sendCommand([...command])
    }
    try {
      return await inTime(client, ask, Math.min(sentinelMs, timeoutMs))
    } finally {
      client.destroy()
    }
  }

  async function connect(lost: () => void): Promise<Client> {
    let client: Client | undefined
    try {
      const opened = (client = made(await findServer(place, askSentinel)))
      await inTime(opened, async () => {
        await opened.connect()
        if (place.sentinel !== undefined) await checkMaster(opened)
        if (!wasOpen) await greet(opened)
      })
      for (const event of ['terminated', 'end']) opened.once(event, lost)
      if (!opened.isOpen || !opened.isReady) throw new Error('the connection was lost at once')
      wasOpen = true
      return opened
    } catch (error) {
      client?.destroy()
      throw redisError(error, codeOf(error), url, wasOpen ? 'not sent' : 'never open')
    }
  }

  async function connected(): Promise<Client> {
    if (closed) throw storeClosedError(url)
    if (current) return current
    const lost = (): void => {
      // another one may be under way already
      if (current === opening) current = undefined
    }
    const opening = connect(lost)
    current = opening
    opening.catch(lost)
    return opening
  }

  function using<T>(sent: CallStage, work: (client: Client) => Promise<T>): Promise<T> {
    const call = attempt(sent, work)
    underWay.add(call)
    awake ??= setInterval(() => undefined, longestTimerMs)
    const over = (): void => {
      underWay.delete(call)
      if (underWay.size > 0) return
      clearInterval(awake)
      awake = undefined
    }
    call.then(over, over)
    return call
  }

  async function attempt<T>(sent: CallStage, work: (client: Client) => Promise<T>): Promise<T> {
    const client = await connected()
    try {
      return await inTime(client, () => work(client))
    } catch (error) {
      const code = codeOf(error)
      if (!isAnswer(code)) client.destroy()
      throw redisError(error, code, url, wasSent(error) ? sent : 'not sent')
    }
  }

  return {
    url,
    read: (command) => using('read', (client) => client.sendCommand(command as Argument[])),
    readBytes: (commands) =>
      using('read', async (client) => {
        // not as a transaction, which a server without memory refuses
        const sent = commands.map((command) => client.sendCommand(command as Argument[], asBytes))
        return (await Promise.all(sent)) as never
      }),
    script: (name, given) =>
      using('write', async (client) => {
        const { text, sha } = findScript(name)
        const rest = ['1', prefix, ...given]
        try {
          return await client.sendCommand(['EVALSHA', sha, ...rest])
        } catch (error) {
          if (codeOf(error) !== 'NOSCRIPT') throw error
          return client.sendCommand(['EVAL', text, ...rest])
        }
      }),
    async listen(channel, hear, begin, signal) {
      const client = made(await findServer(place, askSentinel))
      const { promise: lost, resolve } = Promise.withResolvers<void>()
      for (const event of ['terminated', 'end']) client.once(event, () => resolve())
      const end = (): void => client.destroy()
      signal.addEventListener('abort', end, { once: true })
      try {
        await inTime(client, async () => {
          await client.connect()
          if (!signal.aborted) await client.subscribe(channel, hear)
        })
        if (signal.aborted) return
        begin()
        const alive = setInterval(() => void checkAlive(client).catch(end), aliveMs).unref()
        await lost
        clearInterval(alive)
      } finally {
        signal.removeEventListener('abort', end)
        end()
      }
    },
    async close() {
      if (closed) return
      closed = true
      await Promise.allSettled(underWay)
      const client = await current?.catch(() => undefined)
      client?.destroy()
    },
  }
}

/** One that a sentinel named a moment ago may be a replica by now: what it has may be old. */
async function checkMaster(client: Client): Promise<void> {
  const about = await client.sendCommand<string>(['INFO', 'replication'])
  if (!/^role:master\r?$/m.test(about)) throw new Error('the server that the sentinels name is a replica by now')
}

async function checkAlive(client: Client): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new RepriseError('STORE_UNAVAILABLE', 'no answer')), aliveMs / 2).unref()
  await Promise.race([client.ping(), promise]).finally(() => clearTimeout(timer))
}

interface ScriptSource {
  readonly text: string
  readonly sha: string
}
const loadedScripts = new Map<ScriptName, ScriptSource>()

function findScript(name: ScriptName): ScriptSource {
  const found = loadedScripts.get(name)
  if (found) return found
  const text = scriptText(name)
  const made = { text, sha: createHash('sha1').update(text).digest('hex') }
  loadedScripts.set(name, made)
  return made
}

/** Asks one sentinel, and does not wait for long. */
type Ask = <Reply>(address: RedisAddress, command: readonly string[]) => Promise<Reply>

/** Rejects with what the last sentinel said. */
async function findServer({ addresses, sentinel, displayUrl: shown }: RedisSettings, ask: Ask): Promise<RedisAddress> {
  if (sentinel === undefined) return addresses[0] as RedisAddress
  let why: unknown
  for (const address of addresses) {
    try {
      const found = await ask<[string, string] | null>(address, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinel])
      if (found) return { host: found[0], port: Number(found[1]) }
      const words = `the sentinel ${address.host}:${address.port} knows no server "${sentinel}": check sentinel=name in ${shown}`
      why = new RepriseError('STORE_INVALID', words)
    } catch (error) {
      why = error
    }
  }
  throw why
}
