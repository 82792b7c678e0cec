// Serves a studio on its own port: to this machine only by default, to others only with tokens.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text, whole } from '../base/options.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import { isLoopback } from './guard.ts'
import { studio, type StudioOptions } from './studio.ts'

export interface ServeOptions extends Omit<StudioOptions, 'authorize'> {
  /** 0 for any free port. Default: 4400. */
  readonly port?: number
  /** Default: 127.0.0.1, reachable from this machine only. Other addresses need `tokens`. */
  readonly host?: string
}

export interface StudioServer extends AsyncDisposable {
  /** `http://127.0.0.1:4400/` */
  readonly url: string
  close(): Promise<void>
}

/**
 * OPTION_INVALID if the port or host isn't available, or others could reach it without a token; the errors of opening a
 * store.
 */
export async function serveStudio({
  port = 4400,
  host = '127.0.0.1',
  ...options
}: ServeOptions): Promise<StudioServer> {
  whole(0, 65_535).read('port', port)
  text.read('host', host)
  if (!isLoopback(host) && !hasToken(options)) {
    const words = `host is ${host}, so others can reach the studio, and there is no token; give tokens, or leave host out`
    throw new RepriseError('OPTION_INVALID', words)
  }
  const own = studio({ ...options, allowHosts: [...(options.allowHosts ?? []), ...listenNames(host)] })
  // fails now if the store can't be opened, instead of at the first request
  await own.open()
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => void own.listener(request, response))
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    await own.close()
    const words = `cannot serve the studio on port ${port} of ${host}: ${messageOf(error)}; give another port or host`
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

function listenNames(host: string): string[] {
  return /^[a-z][\w.-]*$/i.test(host) ? [host] : []
}
