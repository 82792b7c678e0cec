// Waits for a time, or until somebody rings. Rings while nobody waits count for the next wait.
import type { World } from '../engine/definition.ts'

export interface Alarm {
  ring(): void
  wait(ms: number): Promise<void>
}

export function createAlarm({ sleep }: Pick<World, 'sleep'>): Alarm {
  let rung = false
  let wake = (): void => {}
  return {
    ring() {
      rung = true
      wake()
    },
    async wait(ms) {
      if (!rung) {
        const over = new AbortController()
        wake = () => over.abort()
        await sleep(ms, over.signal).catch(() => undefined)
      }
      rung = false
    },
  }
}
