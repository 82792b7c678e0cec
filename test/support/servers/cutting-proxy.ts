// A proxy in place of a bad network: it forwards connections to a server, and a test decides when one is cut.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Before the request reaches the server, or when the server has executed it and answers. */
export type Cut = 'before it is done' | 'with the reply lost'

export interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** Number of chunks that clients have sent, on all connections together. */
  sent(): number
  /** Cuts the connection that sends the next chunk after `more` others. */
  cutAfter(more: number, how: Cut): void
  wasCut(): boolean
}

export async function cuttingProxy(url: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let sent = 0
  let next: { readonly at: number; readonly how: Cut } | undefined
  let wasCut = false

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let loses = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
      for (const socket of [client, upstream]) sockets.delete(socket)
    }
    const cut = (): void => {
      wasCut = true
      end()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true).on('error', end).on('close', end)
    }
    client.on('data', (bytes) => {
      sent++
      const isIt = next?.at === sent
      if (isIt && next?.how === 'before it is done') return cut()
      if (isIt) loses = true
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (loses) cut()
      else client.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  return {
    url: own.href,
    sent: () => sent,
    cutAfter(more, how) {
      next = { at: sent + more + 1, how }
      wasCut = false
    },
    wasCut: () => wasCut,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
