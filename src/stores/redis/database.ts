// An open store of ours: what its keys are called, whose clock counts, and the connection to it.
import type { Argument, RedisConnection } from './connection.ts'
import type { ScriptName } from './scripts.ts'
import type { RedisSettings } from './url.ts'

export interface Database extends RedisConnection {
  readonly limits: Pick<RedisSettings, 'maxBlobBytes' | 'maxRunBytes'>
  /** What all keys begin with. */
  readonly prefix: string
  key(kind: string, name: string): string
  /** What the clock of a test says. */
  readonly now: (() => number) | undefined
}

export function createDatabase(
  connection: RedisConnection,
  place: RedisSettings,
  now: (() => number) | undefined,
): Database {
  const { prefix } = place
  return {
    ...connection,
    limits: place,
    prefix,
    now,
    key: (kind, name) => `${prefix}${kind}:${name}`,
    script<Reply>(name: ScriptName, given: readonly Argument[]): Promise<Reply> {
      return connection.script(name, [now === undefined ? '' : String(Math.ceil(now())), ...given])
    },
  }
}

/** By the clock that leases expire by, in ms since 1970. */
export async function findTime({ read, now }: Database): Promise<number> {
  if (now) return now()
  const [seconds, microseconds] = await read<[string, string]>(['TIME'])
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
}
