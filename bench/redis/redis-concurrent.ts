// A hundred runs that append over a Redis that syncs each step, compared with a bare script that appends the same
// lines, a hundred at a time.
import { redisStore } from '../../src/stores/redis/store.ts'
import { startServer } from '../../test/support/servers/server.ts'
import { openHundredRuns, rate, rawTurn, runs } from '../hundred-runs.ts'
import type { Figure } from '../report.ts'
import { ratioOf, takeTurns } from '../rounds.ts'
import { stepLine } from '../steps.ts'
import { rawRedis } from './raw-redis.ts'

export async function benchRedisConcurrent(): Promise<Figure[]> {
  await using server = await startServer('redis', { durable: true })
  const store = await redisStore(server.url)
  const hundred = await openHundredRuns(store)
  const lines = Array.from({ length: runs }, () => Buffer.from(stepLine()))
  const raw = await rawRedis(server.url)
  const taken = await takeTurns(20, { ours: hundred.turn, raw: () => rawTurn(() => raw.appendAll(lines)) }, 3)
  await raw.close()
  await hundred.finish()
  await store.close()
  const { ratio, spread } = ratioOf(taken.raw, taken.ours)
  return [
    {
      name: `Redis, appendfsync always: ${runs} runs appending at once / the rate of bare scripts, a hundred at a time`,
      value: ratio,
      note: `${rate(taken.ours)} against ${rate(taken.raw)} steps a second; ${spread}`,
    },
  ]
}
