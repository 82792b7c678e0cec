// The properties of a server and what they mean for durability. A server that evicts keys cannot keep journals, nor can
// a server without persistence, unless the URL allows it.
import { RepriseError } from '../../base/errors.ts'
import { storeNewerError, storeOlderError } from '../rules/refusals.ts'
import { type Client, scriptText } from './connection.ts'
import { clusterAdvice } from './errors.ts'
import type { RedisSettings } from './url.ts'

/** The layout that this code writes. A store notes the oldest layout whose code may write it. */
export const formatNumber = 3

const oldestServer = [6, 2] as const

export interface RedisServer {
  /** `redis 7.0.15` or `valkey 8.1.0`. */
  readonly version: string
  readonly role: string
  readonly isCluster: boolean
  readonly eviction: string
  /** Undefined if the user may not read it. */
  readonly appendfsync: string | undefined
  readonly appendonly: boolean
  /** Whether it writes snapshots. */
  readonly snapshots: boolean
  readonly replicas: number
  readonly usedBytes: number
  /** 0: unlimited. */
  readonly maxBytes: number
}

/** Reads the server's properties from INFO and CONFIG. */
export async function readServer(client: Pick<Client, 'sendCommand'>): Promise<RedisServer> {
  const about = new Map(
    (await client.sendCommand<string>(['INFO']))
      .split('\r\n')
      .map((line): [string, string] => [line.split(':', 1)[0] ?? '', line.slice(line.indexOf(':') + 1)]),
  )
  const setting = async (name: string): Promise<string | undefined> => {
    try {
      const found = await client.sendCommand<string[] | { [name: string]: string }>(['CONFIG', 'GET', name])
      return Array.isArray(found) ? found[1] : found[name]
    } catch {
      // hosted servers often forbid CONFIG
      return undefined
    }
  }
  const isValkey = about.has('valkey_version')
  return {
    version: isValkey ? `valkey ${about.get('valkey_version')}` : `redis ${about.get('redis_version')}`,
    role: about.get('role') ?? '',
    isCluster: about.get('redis_mode') === 'cluster' || about.get('server_mode') === 'cluster',
    eviction: about.get('maxmemory_policy') ?? '',
    appendfsync: await setting('appendfsync'),
    appendonly: about.get('aof_enabled') === '1',
    // assumed if the setting cannot be read
    snapshots: (await setting('save')) !== '',
    replicas: Number(about.get('connected_slaves') ?? 0),
    usedBytes: Number(about.get('used_memory') ?? 0),
    maxBytes: Number(about.get('maxmemory') ?? 0),
  }
}

/** Throws STORE_INVALID if the server cannot keep journals. */
export function checkServer(server: RedisServer, { displayUrl: url, allowVolatile }: RedisSettings): void {
  const refuse = (words: string): never => {
    throw new RepriseError('STORE_INVALID', words)
  }
  const [name = '', version = ''] = server.version.split(' ')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (name === 'redis' && (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1])))
    refuse(`${url} is Redis ${version}: Reprise needs ${oldestServer.join('.')} or later`)
  if (server.isCluster) refuse(`${url} is part of a Redis Cluster: ${clusterAdvice}`)
  if (server.eviction.startsWith('allkeys'))
    refuse(
      `${url} evicts keys, and with them runs, when its memory is full (maxmemory-policy ${server.eviction}): set maxmemory-policy to noeviction, or use another server`,
    )
  if (!server.appendonly && !server.snapshots && !allowVolatile)
    refuse(
      `${url} keeps nothing on disk, so its runs are lost when it stops: set appendonly to yes, or allow it by ?allowVolatile=true in the URL`,
    )
}

/** Says which confirmed steps a crash may lose; undefined if none. */
export function serverCaution({ appendonly, appendfsync, snapshots }: RedisServer): string | undefined {
  if (appendonly && appendfsync === 'always') return undefined
  if (!appendonly && !snapshots) return 'the server keeps nothing on disk: all runs are lost when it stops'
  if (!appendonly)
    return 'the server writes only snapshots (appendonly no): a crash loses all steps since the last one, which may be minutes'
  if (appendfsync === 'everysec')
    return 'the server syncs once a second (appendfsync everysec): a crash may lose the steps of the last two seconds'
  if (appendfsync === 'no')
    return 'the server leaves syncing to the system (appendfsync no): a crash may lose the steps of the last half minute'
  return 'how the server syncs is unknown (CONFIG GET is not allowed): a crash may lose the last steps'
}

/** Writes the layout into a new store. Rejects with STORE_NEWER or STORE_INVALID if the store has another layout. */
export async function checkLayout(client: Pick<Client, 'sendCommand'>, settings: RedisSettings): Promise<void> {
  const [, key = '', field = ''] = layoutCommand(settings)
  // written only if missing: a server whose memory is full takes no writes, but can still delete runs
  if ((await client.sendCommand(layoutCommand(settings))) === null)
    await client.sendCommand(['HSETNX', key, field, String(formatNumber)])
  const oldest = Number(await client.sendCommand(layoutCommand(settings)))
  if (oldest > formatNumber) throw storeNewerError(settings.displayUrl, oldest, formatNumber)
  if (oldest < formatNumber)
    throw storeOlderError(settings.displayUrl, oldest, formatNumber, 'or use another prefix or database')
}

/** Rejects with STORE_INVALID if the user lacks a right that the scripts need. */
export async function checkRights(client: Pick<Client, 'sendCommand'>, { prefix }: RedisSettings): Promise<void> {
  await client.sendCommand(['EVAL', scriptText('rights'), '1', prefix, ''])
}

/** The command that reads the oldest layout whose code may write the store. */
export function layoutCommand({ prefix }: RedisSettings): string[] {
  return ['HGET', `${prefix}layout`, 'oldest-writer']
}
