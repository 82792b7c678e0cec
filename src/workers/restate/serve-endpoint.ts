// Listens for the calls of Restate: HTTP/2 without TLS, as it speaks to services. Workers of one machine may share a
// port, where the system spreads connections over them.
import { once } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { RestateEndpoint } from '@restatedev/restate-sdk'

export interface Endpoint {
  readonly url: string
  /** Takes no more calls, and resolves when those under way are answered. */
  close(): Promise<void>
}

/** OPTION_INVALID when it cannot listen there. */
export async function serveEndpoint(endpoint: RestateEndpoint, host: string, port: number): Promise<Endpoint> {
  const { createServer } = await import('node:http2')
  const server = createServer(endpoint.http2Handler())
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    // a connection that breaks ends the calls on it, which hear that by themselves
    session.on('error', () => undefined)
  })
  try {
    server.listen({ host, port, reusePort: process.platform === 'linux' && port !== 0 })
    await once(server, 'listening')
  } catch (error) {
    const words = `the worker cannot listen for Restate on port ${port} of ${host}: ${messageOf(error)}; give another port or host`
    throw new RepriseError('OPTION_INVALID', words, { cause: error })
  }
  const { address, port: taken, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      // tells Restate to send what follows elsewhere
      for (const session of sessions) session.close()
      await closed
    },
  }
}
