// What a server is like, and what that means for what it keeps. One that throws keys away when it is full is no place
// for journals, and neither is one that keeps nothing on disk, unless that is asked for.
import { RepriseError } from '../../base/errors.ts'
import { storeNewerError, storeOlderError } from '../rules/refusals.ts'
import type { Client } from './connection.ts'
import { clusterAdvice } from './errors.ts'
import { scriptText } from './scripts.ts'
import type { RedisSettings } from './url.ts'

/** What this code writes. A store says which code may write it. */
export const formatNumber = 2

const oldestServer = [6, 2] as const

export interface RedisServer {
  /** `redis 7.0.15`, or `valkey 8.1.0`. */
  readonly version: string
  readonly role: string
  readonly isCluster: boolean
  readonly eviction: string
  /** What its settings say of a step that was confirmed; undefined where it may not be asked. */
  readonly appendfsync: string | undefined
  readonly appendonly: boolean
  /** Whether it writes snapshots. */
  readonly snapshots: boolean
  readonly replicas: number
  readonly usedBytes: number
  /** 0: as much as there is. */
  readonly maxBytes: number
}

export async function askServer(client: Pick<Client, 'sendCommand'>): Promise<RedisServer> {
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
      // hosted servers often keep it to themselves
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
    // one that may not be asked is taken to write them
    snapshots: (await setting('save')) !== '',
    replicas: Number(about.get('connected_slaves') ?? 0),
    usedBytes: Number(about.get('used_memory') ?? 0),
    maxBytes: Number(about.get('maxmemory') ?? 0),
  }
}

/** STORE_INVALID for one that cannot keep journals. */
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
      `${url} throws away keys when its memory is full (maxmemory-policy ${server.eviction}), and runs with them: set maxmemory-policy to noeviction, or use another server`,
    )
  if (!server.appendonly && !server.snapshots && !allowVolatile)
    refuse(
      `${url} keeps nothing on disk, and runs are gone when it ends: set appendonly to yes, or say ?allowVolatile=true in the URL if that is meant`,
    )
}

/** What may be lost of what was confirmed, in one sentence; undefined when nothing is. */
export function serverCaution({ appendonly, appendfsync, snapshots }: RedisServer): string | undefined {
  if (appendonly && appendfsync === 'always') return undefined
  if (!appendonly && !snapshots) return 'the server keeps nothing on disk: all runs are gone when it ends'
  if (!appendonly)
    return 'the server writes only snapshots (appendonly no): a crash loses all steps since the last one, which may be minutes'
  if (appendfsync === 'everysec')
    return 'the server syncs once a second (appendfsync everysec): a crash may lose the steps of the last two seconds'
  if (appendfsync === 'no')
    return 'the server leaves syncing to the system (appendfsync no): a crash may lose the steps of the last half minute'
  return 'the server does not say how it syncs (CONFIG GET is not allowed): a crash may lose the last steps'
}

/** Writes the layout number into a new store. STORE_NEWER, STORE_INVALID. */
export async function checkLayout(client: Pick<Client, 'sendCommand'>, place: RedisSettings): Promise<void> {
  const [, key = '', field = ''] = layoutCommand(place)
  // only where it is missing: a server without memory takes nothing, and runs can still be deleted
  if ((await client.sendCommand(layoutCommand(place))) === null)
    await client.sendCommand(['HSETNX', key, field, String(formatNumber)])
  const oldest = Number(await client.sendCommand(layoutCommand(place)))
  if (oldest > formatNumber) throw storeNewerError(place.displayUrl, oldest, formatNumber)
  if (oldest < formatNumber)
    throw storeOlderError(place.displayUrl, oldest, formatNumber, 'or use another prefix or database')
}

/** STORE_INVALID, by what the server says, for a user who may not do all that the scripts do. */
export async function checkRights(client: Pick<Client, 'sendCommand'>, { prefix }: RedisSettings): Promise<void> {
  await client.sendCommand(['EVAL', scriptText('rights'), '1', prefix, ''])
}

/** Gives the number of the oldest code that may write a store. */
export function layoutCommand({ prefix }: RedisSettings): string[] {
  return ['HGET', `${prefix}layout`, 'oldest-writer']
}
