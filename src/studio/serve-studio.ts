// A studio as a server of its own. Only this machine reaches it, unless an address is named; and then only whoever has
// a token.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text, whole } from '../base/checks.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import { isLoopback } from './guard/origin.ts'
import { studio, type StudioOptions } from './studio.ts'

export interface ServeOptions extends Omit<StudioOptions, 'authorize'> {
  /** 0 takes a free one. Default 4400. */
  readonly port?: number
  /** Default 127.0.0.1, which is only this machine. Any other needs `tokens`. */
  readonly host?: string
}

export interface ServedStudio extends AsyncDisposable {
  /** Where it is: `http://127.0.0.1:4400/`. */
  readonly url: string
  close(): Promise<void>
}

/** OPTION_INVALID when it cannot be served there, or everybody could reach it; what opening a store gives. */
export async function serveStudio({
  port = 4400,
  host = '127.0.0.1',
  ...options
}: ServeOptions): Promise<ServedStudio> {
  whole(0, 65_535).read('port', port)
  text.read('host', host)
  if (!isLoopback(host) && !hasToken(options)) {
    const words = `host is ${host}, where others reach the studio, and there is no token; give tokens, or leave host out`
    throw new RepriseError('OPTION_INVALID', words)
  }
  const own = studio({ ...options, allowHosts: [...(options.allowHosts ?? []), ...listenNames(host)] })
  // what is wrong with the store is said now, and not to the first who looks
  await own.open()
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => void own.listener(request, response))
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    await own.close()
    const words = `the studio cannot be served on port ${port} of ${host}: ${messageOf(error)}; give another port or host`
    throw new RepriseError('OPTION_INVALID', words, { cause: error })
  }
  const { address, port: taken, family } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
    await own.close()
  }
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}${(options.base ?? '').replace(/\/$/, '')}/`,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function hasToken({ tokens }: Pick<StudioOptions, 'tokens'>): boolean {
  return Object.values(tokens ?? {}).flat().length > 0
}

/** A name that it listens at is one that it is reached by. */
function listenNames(host: string): string[] {
  return /^[a-z][\w.-]*$/i.test(host) ? [host] : []
}
