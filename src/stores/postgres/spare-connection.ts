// Keeps the connection that was returned last for a moment: getting it from the pool again takes a tenth of a step.
import type { ClientBase, Pool, PoolClient } from 'pg'

export interface SpareConnection {
  take(): PoolClient | undefined
  /** Keeps it, or returns it to the pool if one is kept already or another call waits for one. */
  giveBack(client: PoolClient, pool: Pick<Pool, 'waitingCount'>): void
  /** Drops a kept connection that was lost. */
  lost(client: ClientBase): void
  /** Returns the kept connection to the pool. */
  release(): void
}

const keptMs = 1_000

export function spareConnection(): SpareConnection {
  let spare: { readonly client: PoolClient; readonly idle: NodeJS.Timeout } | undefined

  function take(): PoolClient | undefined {
    const taken = spare
    if (taken === undefined) return undefined
    spare = undefined
    clearTimeout(taken.idle)
    alive(taken.client).ref()
    return taken.client
  }
  const release = (): void => take()?.release()

  return {
    take,
    giveBack(client, { waitingCount }) {
      if (spare !== undefined || waitingCount > 0) return client.release()
      // a kept connection keeps no process alive
      alive(client).unref()
      spare = { client, idle: setTimeout(release, keptMs).unref() }
    },
    lost(client) {
      if (spare?.client === client) take()?.release(true)
    },
    release,
  }
}

/** Methods that the types of pg lack. */
function alive(client: PoolClient): { ref(): void; unref(): void } {
  return client as unknown as { ref(): void; unref(): void }
}
