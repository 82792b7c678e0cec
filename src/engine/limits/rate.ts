// Limits of requests per minute (`maxRpm`), counted per process.
import type { TaskDefinition, World } from '../definition.ts'
import type { Life } from '../life.ts'
import { isTimeUp, TimeUp } from './slice.ts'

/**
 * Waits until the agent, the crew and the crews of its parent runs may make another request. Rejects with TimeUp when
 * the wait would outlast the slice.
 */
export async function waitForTurn(
  { agent }: TaskDefinition,
  { crew, parent: outer, tree: { slice }, engine: { world } }: Life,
  signal: AbortSignal,
): Promise<void> {
  const isTooLong = (ms: number): boolean => isTimeUp(slice, world, ms)
  if (agent.maxRpm !== undefined) await takeSlot(agent.identity, agent.maxRpm, world, signal, isTooLong)
  for (const { maxRpm, tasks } of [crew, ...(outer?.crews ?? [])])
    if (maxRpm !== undefined) await takeSlot(tasks, maxRpm, world, signal, isTooLong)
}

/** Takes one of `perMinute` slots in any 60 seconds. Rejects with TimeUp when the wait would be too long. */
export async function takeSlot(
  owner: object,
  perMinute: number,
  world: Pick<World, 'monotonic' | 'sleep' | 'process'>,
  signal: AbortSignal,
  isTooLong: (ms: number) => boolean = () => false,
): Promise<void> {
  const { requests } = world.process
  const taken = requests.get(owner) ?? []
  requests.set(owner, taken)
  for (;;) {
    const now = world.monotonic()
    while (taken[0] !== undefined && taken[0] <= now - 60_000) taken.shift()
    if (taken.length < perMinute) {
      taken.push(now)
      return
    }
    const ms = (taken[0] as number) + 60_000 - now
    if (isTooLong(ms)) throw new TimeUp('the time is up before the next request may be made')
    await world.sleep(ms, signal)
  }
}
