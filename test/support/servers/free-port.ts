import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Returns a port below those that systems use for outgoing connections. Otherwise a client that retries while its
 * server is away may be given that very port, and connect to itself.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; ; tries++) {
    const tried = 15_000 + Math.floor(Math.random() * 15_000)
    const probe = createServer().listen(tried, '127.0.0.1')
    try {
      await once(probe, 'listening')
      return tried
    } catch (error) {
      if (tries === 20) throw error
    } finally {
      probe.close()
    }
  }
}
