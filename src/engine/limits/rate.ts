// Requests per minute, counted in this process.
import type { CrewDefinition, TaskDefinition, World } from '../definition.ts'

const requests = new WeakMap<object, number[]>()

/** Waits until the agent, the crew and the crews it works for may make another request. */
export async function waitForTurn(
  { agent }: TaskDefinition,
  crews: readonly CrewDefinition[],
  world: World,
  signal: AbortSignal,
): Promise<void> {
  if (agent.maxRpm !== undefined) await takeSlot(agent.identity, agent.maxRpm, world, signal)
  for (const { maxRpm, tasks } of crews) if (maxRpm !== undefined) await takeSlot(tasks, maxRpm, world, signal)
}

/** Allows so many requests in any sixty seconds. */
export async function takeSlot(
  of: object,
  perMinute: number,
  world: Pick<World, 'monotonic' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const taken = requests.get(of) ?? []
  requests.set(of, taken)
  for (;;) {
    const now = world.monotonic()
    while (taken[0] !== undefined && taken[0] <= now - 60_000) taken.shift()
    if (taken.length < perMinute) {
      taken.push(now)
      return
    }
    await world.sleep((taken[0] as number) + 60_000 - now, signal)
  }
}
