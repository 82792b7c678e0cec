// An open store: the names of its keys, its clock, and the connection to it.
import type { Argument, RedisConnection, ScriptName } from './connection.ts'
import type { RedisSettings } from './url.ts'

export interface Database extends RedisConnection {
  readonly limits: Pick<RedisSettings, 'maxBlobBytes' | 'maxRunBytes'>
  /** Prefix of all keys. */
  readonly prefix: string
  key(kind: string, name: string): string
  /** A test's clock; undefined for the server's clock. */
  readonly now: (() => number) | undefined
}

export function createDatabase(
  connection: RedisConnection,
  settings: RedisSettings,
  now: (() => number) | undefined,
): Database {
  const { prefix } = settings
  return {
    ...connection,
    limits: settings,
    prefix,
    now,
    key: (kind, name) => `${prefix}${kind}:${name}`,
    script<Reply>(name: ScriptName, args: readonly Argument[]): Promise<Reply> {
      return connection.script(name, [now === undefined ? '' : String(Math.ceil(now())), ...args])
    },
  }
}

/** The store's clock, in ms since 1970. */
export async function findTime({ read, now }: Database): Promise<number> {
  if (now) return now()
  const [seconds, microseconds] = await read<[string, string]>(['TIME'])
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
}
