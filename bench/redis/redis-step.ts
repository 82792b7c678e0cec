// One durable step over a Redis that syncs each step: encoded, hashed, folded, fenced and appended, compared with a
// bare script through the same client.
import { redisStore } from '../../src/stores/redis/store.ts'
import { startServer } from '../../test/support/servers/server.ts'
import type { Figure } from '../report.ts'
import { compare } from '../rounds.ts'
import { engineOn, openStepper, stepLine, takeSteps } from '../steps.ts'
import { rawRedis } from './raw-redis.ts'

export async function benchRedisStep(): Promise<Figure[]> {
  await using server = await startServer('redis', { durable: true })
  const store = await redisStore(server.url)
  const stepper = await openStepper(engineOn(store))
  const raw = await rawRedis(server.url)
  const line = Buffer.from(stepLine())
  // warms up, as in a long-running process
  await takeSteps(stepper, 5_000)
  const compared = await compare({ rounds: 60, perRound: 20, ours: () => stepper.step(), raw: () => raw.append(line) })
  await raw.close()
  await stepper.finish()
  await store.close()
  return [
    {
      name: 'Redis, appendfsync always: a durable step of 1 KB / a bare script',
      value: compared.ratio,
      target: { most: 1.6 },
      note: `${micro(compared.ours)} against ${micro(compared.raw)} µs`,
    },
  ]
}

const micro = (milliseconds: number): string => (milliseconds * 1000).toFixed(0)
