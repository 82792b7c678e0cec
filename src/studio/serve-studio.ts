// Serves a studio on its own port: by default only to this machine, and to others only with tokens.
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
 * Starts a server for a studio. Rejects with OPTION_INVALID if the port or host isn't available, or if other machines
 * could reach the studio without a token; also with the errors of opening a store.
 */
export async function serveStudio({
  port = 4400,
  host = '127.0.0.1',
  ...options
}: ServeOptions): Promise<StudioServer> {
  whole(0, 65_535).read('port', port)
  text.read('host', host)
  if (!isLoopback(host) && !hasToken(options)) {
    const message = `host ${host} lets others reach the studio, but there are no tokens; set tokens, or leave host out`
    throw new RepriseError('OPTION_INVALID', message)
  }
  const app = studio({ ...options, allowHosts: [...(options.allowHosts ?? []), ...hostNames(host)] })
  // fails now if the store can't be opened, instead of with the first request
  await app.open()
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => void app.listener(request, response))
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    await app.close()
    const message = `cannot serve the studio on port ${port} of ${host}: ${messageOf(error)}; set another port or host`
    throw new RepriseError('OPTION_INVALID', message, { cause: error })
  }
  const { address, port: openPort, family } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
    await app.close()
  }
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${openPort}${(options.base ?? '').replace(/\/$/, '')}/`,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function hasToken({ tokens }: Pick<StudioOptions, 'tokens'>): boolean {
  return Object.values(tokens ?? {}).flat().length > 0
}

/** The host, unless it is an IP address, which is always allowed. */
function hostNames(host: string): string[] {
  return /^[a-z][\w.-]*$/i.test(host) ? [host] : []
}
