// A hundred runs that append over two servers as shards, against the same over one. All servers share this machine with the process that
// appends, so this shows what sharding costs, and little of what more machines would give.
import { openStore, shardedStore } from 'reprise/stores'
import { startServer } from '../test/support/servers/server.ts'
import { openHundredRuns, rate, runs } from './hundred-runs.ts'
import type { Figure } from './report.ts'
import { ratioOf, takeTurns } from './rounds.ts'

const kinds = { postgres: 'PostgreSQL', redis: 'Redis, appendfsync always' } as const

export async function benchShards(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    await using one = await startServer(kind, { durable: true })
    await using first = await startServer(kind, { durable: true })
    await using second = await startServer(kind, { durable: true })
    const alone = await openStore(one.url)
    const sharded = await shardedStore([first.url, second.url])
    const [overOne, overTwo] = [await openHundredRuns(alone), await openHundredRuns(sharded)]
    const taken = await takeTurns(15, { alone: overOne.turn, sharded: overTwo.turn }, 3)
    await Promise.all([overOne.finish(), overTwo.finish()])
    await Promise.all([alone.close(), sharded.close()])
    const { ratio, spread } = ratioOf(taken.alone, taken.sharded)
    figures.push({
      name: `${kinds[kind]}: ${runs} runs appending at once over two shards / over one server`,
      value: ratio,
      note: `${rate(taken.sharded)} against ${rate(taken.alone)} steps a second; ${spread}`,
    })
  }
  return figures
}
