// The raw limit of Redis through the same client: a script that appends a line to a list and returns the list's length.
// Nothing is checked, hashed or leased.
import { createHash } from 'node:crypto'
import { createClient } from 'redis'

export interface RawRedis {
  /** Appends one line of the first run. */
  append(line: Buffer): Promise<void>
  /** Appends the next line of every run, all at once. */
  appendAll(lines: readonly Buffer[]): Promise<void>
  close(): Promise<void>
}

const script = `return redis.call('rpush', KEYS[1], ARGV[1])`

export async function rawRedis(url: string): Promise<RawRedis> {
  const client = createClient({ url })
  await client.connect()
  await client.scriptLoad(script)
  const sha = createHash('sha1').update(script).digest('hex')
  const push = (run: number, line: Buffer): Promise<unknown> =>
    client.sendCommand(['EVALSHA', sha, '1', `raw:${run}`, line])
  return {
    async append(line) {
      await push(0, line)
    },
    async appendAll(lines) {
      await Promise.all(lines.map((line, run) => push(run, line)))
    },
    async close() {
      client.destroy()
    },
  }
}
