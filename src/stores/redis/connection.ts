// The connections to a server: one for all commands, which the client pipelines, and one for notifications. Each is
// opened when needed, and again after it was lost. A command that cannot be sent rejects at once: retries are up to
// patient-store.ts.
import { createHash } from 'node:crypto'
import type { RedisClient } from 'redis'
import { RepriseError } from '../../base/errors.ts'
import { whenMissing } from '../../base/optional-package.ts'
import type { CallStage } from '../patient-store.ts'
import { storeClosedError } from '../rules/refusals.ts'
import { isAnswer, redisError, replyCode } from './errors.ts'
import type { RedisAddress, RedisSettings } from './url.ts'
import { luaFiles } from './lua-files.ts'

export type Argument = string | Buffer
type MakeClient = ReturnType<typeof RedisClient.factory>
export type Client = ReturnType<MakeClient>

export interface RedisConnection {
  /** Without the password. */
  readonly url: string
  /** Executes a read-only command. Rejects with STORE_UNAVAILABLE during an outage. */
  read<Reply>(command: readonly Argument[]): Promise<Reply>
  /** Executes read-only commands in order, not atomically. Resolves with strings as bytes. Rejects like `read`. */
  readBytes<Replies extends unknown[]>(commands: readonly (readonly Argument[])[]): Promise<Replies>
  /**
   * Executes a script. Rejects with STORE_UNAVAILABLE if nothing was written, and with OUTCOME_UNKNOWN if the reply was
   * lost.
   */
  script<Reply>(name: ScriptName, args: readonly Argument[]): Promise<Reply>
  /**
   * Listens on a channel until the connection is lost or the signal aborts; calls `onStart` once it listens. Doesn't
   * keep the process alive.
   */
  listen(channel: string, onNotice: (text: string) => void, onStart: () => void, signal: AbortSignal): Promise<void>
  /** Waits for calls in progress, then closes the connection for commands. Refuses later calls. */
  close(): Promise<void>
}

const connectMs = 10_000
/** How long a sentinel may take to reply before the next one is tried. */
const sentinelMs = 2_000
/** Interval of pings: a connection that only listens sends nothing, so its loss would go unnoticed. */
const aliveMs = 10_000
/** Maximum of a Node timer. */
const longestTimerMs = 2 ** 31 - 1
/** Maps RESP bulk strings (`$`) to buffers. */
const asBytes = { typeMapping: { [0x24]: Buffer } } as const

/** Shared by all connections: `createClient` creates a class for each set of options, which takes 50 ms. */
let makeClient: MakeClient | undefined

/** `greet` is called with each new connection until it has resolved once. Calls wait for it, and reject like it. */
export async function openConnection(
  settings: RedisSettings,
  greet: (client: Client) => Promise<void>,
): Promise<RedisConnection> {
  const { displayUrl: url, prefix, timeoutMs } = settings
  const { default: redis } = await import('redis').catch(whenMissing('redis', 'a redis: store'))
  const newClient = (makeClient ??= redis.RedisClient.factory())
  const inProgress = new Set<Promise<unknown>>()
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

  function createClient(
    { host, port }: RedisAddress,
    credentials: { readonly password?: string | undefined } = settings,
  ): Client {
    const client = newClient({
      socket: {
        host,
        port,
        connectTimeout: connectMs,
        reconnectStrategy: false,
        ...(settings.tls && { tls: true as const, ...settings.tls }),
      },
      ...(credentials === settings && {
        ...(settings.username !== undefined && { username: settings.username }),
        database: settings.database,
      }),
      ...(credentials.password !== undefined && { password: credentials.password }),
      disableOfflineQueue: true,
    })
    // failed commands report it
    client.on('error', () => undefined)
    // calls keep the process alive, connections don't
    client.unref()
    return client
  }

  /** Executes `work`. If the server hangs, closes the connection, so that all its commands fail. */
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
    const client = createClient(address, { password: settings.sentinelPassword })
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
      const opened = (client = createClient(await findServer(settings, askSentinel)))
      await inTime(opened, async () => {
        await opened.connect()
        if (settings.sentinel !== undefined) await checkMaster(opened)
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
      // another connection may be opening already
      if (current === opening) current = undefined
    }
    const opening = connect(lost)
    current = opening
    opening.catch(lost)
    return opening
  }

  function using<T>(stage: CallStage, work: (client: Client) => Promise<T>): Promise<T> {
    const call = attempt(stage, work)
    inProgress.add(call)
    awake ??= setInterval(() => undefined, longestTimerMs)
    const settled = (): void => {
      inProgress.delete(call)
      if (inProgress.size > 0) return
      clearInterval(awake)
      awake = undefined
    }
    call.then(settled, settled)
    return call
  }

  async function attempt<T>(stage: CallStage, work: (client: Client) => Promise<T>): Promise<T> {
    const client = await connected()
    try {
      return await inTime(client, () => work(client))
    } catch (error) {
      const code = codeOf(error)
      if (!isAnswer(code)) client.destroy()
      throw redisError(error, code, url, wasSent(error) ? stage : 'not sent')
    }
  }

  return {
    url,
    read: (command) => using('read', (client) => client.sendCommand(command as Argument[])),
    readBytes: (commands) =>
      using('read', async (client) => {
        // not as a transaction, which a server refuses when its memory is full
        const replies = commands.map((command) => client.sendCommand(command as Argument[], asBytes))
        return (await Promise.all(replies)) as never
      }),
    script: (name, args) =>
      using('write', async (client) => {
        const { text, sha } = findScript(name)
        const rest = ['1', prefix, ...args]
        try {
          return await client.sendCommand(['EVALSHA', sha, ...rest])
        } catch (error) {
          if (codeOf(error) !== 'NOSCRIPT') throw error
          return client.sendCommand(['EVAL', text, ...rest])
        }
      }),
    async listen(channel, onNotice, onStart, signal) {
      const client = createClient(await findServer(settings, askSentinel))
      const { promise: lost, resolve } = Promise.withResolvers<void>()
      for (const event of ['terminated', 'end']) client.once(event, () => resolve())
      const end = (): void => client.destroy()
      signal.addEventListener('abort', end, { once: true })
      try {
        await inTime(client, async () => {
          await client.connect()
          if (!signal.aborted) await client.subscribe(channel, onNotice)
        })
        if (signal.aborted) return
        onStart()
        const heartbeat = setInterval(() => void checkAlive(client).catch(end), aliveMs).unref()
        await lost
        clearInterval(heartbeat)
      } finally {
        signal.removeEventListener('abort', end)
        end()
      }
    },
    async close() {
      if (closed) return
      closed = true
      await Promise.allSettled(inProgress)
      const client = await current?.catch(() => undefined)
      client?.destroy()
    },
  }
}

/** Rejects if the sentinel named a replica, which may lack the last writes: what a sentinel knows may be outdated. */
async function checkMaster(client: Client): Promise<void> {
  const about = await client.sendCommand<string>(['INFO', 'replication'])
  if (!/^role:master\r?$/m.test(about)) throw new Error('the server that the sentinels name is now a replica')
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
  const script = { text, sha: createHash('sha1').update(text).digest('hex') }
  loadedScripts.set(name, script)
  return script
}

/** Sends a command to one sentinel, with a short time limit. */
type Ask = <Reply>(address: RedisAddress, command: readonly string[]) => Promise<Reply>

/** Finds the server's address. Rejects with the error of the last sentinel if none knows it. */
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

export type ScriptName =
  | 'acquire'
  | 'append'
  | 'claim'
  | 'create'
  | 'delete'
  | 'free'
  | 'list'
  | 'post'
  | 'ready'
  | 'release'
  | 'renew'
  | 'rights'

export function scriptText(name: ScriptName): string {
  return ['common', 'batch', name].map((file) => luaFiles[file]).join('')
}
