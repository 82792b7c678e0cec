// The connection that was given back last, kept at hand for a moment: to have it from the pool again takes a tenth of a
// step.
import type { ClientBase, Pool, PoolClient } from 'pg'

export interface SpareConnection {
  take(): PoolClient | undefined
  /** To the pool, where there is one at hand already, or somebody waits for one. */
  giveBack(client: PoolClient, pool: Pick<Pool, 'waitingCount'>): void
  /** Lets go of it when it is lost. */
  lost(client: ClientBase): void
  /** Gives it to the pool. */
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
      // nobody waits for it: it keeps no process alive
      alive(client).unref()
      spare = { client, idle: setTimeout(release, keptMs).unref() }
    },
    lost(client) {
      if (spare?.client === client) take()?.release(true)
    },
    release,
  }
}

/** What the types of pg leave out. */
function alive(client: PoolClient): { ref(): void; unref(): void } {
  return client as unknown as { ref(): void; unref(): void }
}
