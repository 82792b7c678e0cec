// Messages to runs. A message to any run of a tree wakes the root.
import { rootRunId } from '../../journal/paths.ts'
import { unknownRunError } from '../rules/refusals.ts'
import type { Message, RunId, Store } from '../store.ts'
import type { Database } from './database.ts'

export async function postMessage(
  { script, url }: Database,
  ...[run, { id, at, body }]: Parameters<Store['post']>
): ReturnType<Store['post']> {
  const args = [run, rootRunId(run), id, JSON.stringify([at, body])]
  const reply = await script<['posted' | 'exists' | 'ended'] | ['unknown', run: RunId]>('post', args)
  if (reply[0] === 'unknown') throw unknownRunError(reply[1], url)
  return reply[0]
}

export async function listMessages({ read, key }: Database, run: RunId): Promise<Message[]> {
  const ids = await read<string[]>(['ZRANGE', key('inbox', run), '0', '-1'])
  if (ids.length === 0) return []
  const texts = await read<(string | null)[]>(['HMGET', key('messages', run), ...ids])
  return ids.flatMap((id, index) => {
    const text = texts[index]
    // taken in the meantime
    if (!text) return []
    const [at, body] = JSON.parse(text) as [string, string]
    return [{ id, at, body }]
  })
}
