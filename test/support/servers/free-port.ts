import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections: while a server is away, a client that tries again might
 * otherwise be given this very port for itself, and be connected to itself.
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
