// A server on 127.0.0.1 for a function from Request to Response.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export interface Loopback extends AsyncDisposable {
  readonly url: string
  /** Cuts every connection, as a server that dies does. */
  cut(): void
}

export async function loopback(handle: (request: Request) => Promise<Response>): Promise<Loopback> {
  const serve = async (incoming: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', headers } = incoming
    const chunks: Uint8Array[] = []
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
    const body = method === 'GET' ? null : Buffer.concat(chunks)
    const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const response = await handle(new Request(`http://127.0.0.1${url}`, { method, headers: given, body }))
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    if (!response.body) return void reply.end()
    await pipeline(Readable.fromWeb(response.body), reply).catch(() => undefined)
  }
  const server = createServer((incoming, reply) => void serve(incoming, reply))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
