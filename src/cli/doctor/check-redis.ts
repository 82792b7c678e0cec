// Checks a Redis store: whether it can be reached and written, and whether its server's settings lose data.
import { messageOf } from '../../base/errors.ts'
import { inspectRedis, type RedisInspection } from '../../stores/redis/inspect.ts'
import { plural, sizeWords } from '../output/words.ts'
import { fail, ok, warn, type Check, type CheckedStore } from './check.ts'

/** `instead`: what to do if the store cannot be used. */
export async function checkRedis(url: string, from: string, instead: string): Promise<CheckedStore> {
  try {
    return redisChecks(await inspectRedis(url), from)
  } catch (error) {
    // the error names the store without the password
    return { checks: [fail('store', `${from}: ${messageOf(error)}`, instead)], isOpen: false }
  }
}

function redisChecks(found: RedisInspection, from: string): CheckedStore {
  const { role, caution, layout, newest, replicas } = found
  const place = `${found.url}, ${from}: ${found.version}, ${memory(found)}`
  const isMaster = role === 'master'
  const checks: Check[] = [
    isMaster
      ? ok('store', `${place}, can be written`)
      : fail('store', `${place}, cannot be written: it is a ${role}`, 'name the server that it follows'),
    layout === undefined
      ? ok('layout', 'not there yet: created by the first run')
      : layout > newest
        ? fail('layout', `${layout}, of a newer version; this one writes ${newest}`, 'update reprise')
        : ok('layout', `${layout}, as this version writes it`),
    caution === undefined
      ? ok('durability', 'each step is on disk when it is confirmed (appendfsync always)')
      : warn('durability', caution, 'set appendonly to yes and appendfsync to always if no step may be lost'),
  ]
  if (replicas > 0)
    checks.push(
      warn(
        'failover',
        `${plural(replicas, 'replica')} may lag behind the server: a failover may lose the last steps`,
        'set min-replicas-to-write to prevent that',
      ),
    )
  return { checks, isOpen: isMaster && layout !== undefined && layout <= newest }
}

function memory({ usedBytes, maxBytes }: RedisInspection): string {
  const used = `${sizeWords(usedBytes)} of memory used`
  return maxBytes === 0 ? used : `${used} of ${sizeWords(maxBytes)}`
}
