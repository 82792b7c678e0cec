// Which requests are meant for this studio. A page of somebody else can have a browser send requests here: to a name of
// its own that it lets point to this machine (DNS rebinding), or across origins. The first is told by `Host`, the
// second by `Origin`; and what changes something must also be sent by a script, which a form is not.
import { isIP } from 'node:net'
import { StudioProblem } from '../api/problem.ts'

export interface AllowedHosts {
  /**
   * Names that the studio is reached by, beside localhost and addresses: no name can be made to point here that is an
   * address. Undefined: any, since somebody else checks who is asking.
   */
  readonly hosts: readonly string[] | undefined
}

/** The header by which a program says that it is no form of another page. */
export const ownHeader = 'x-reprise-studio'

/** HOST_REFUSED. */
export function checkHost(url: URL, { hosts }: AllowedHosts): void {
  const { hostname } = url
  if (hosts === undefined || isAddress(hostname) || isLocal(hostname) || hosts.includes(hostname)) return
  throw new StudioProblem('HOST_REFUSED', `this studio is not called ${hostname}; name it when the studio is started`)
}

/** ORIGIN_REFUSED. Browsers send `Origin` with all that may change something; programs don't. */
export function checkOrigin(request: Request, url: URL): void {
  const { headers } = request
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin !== null && !isSameHost(origin, url, headers))
    throw new StudioProblem('ORIGIN_REFUSED', 'the request comes from a page that is not this studio')
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw new StudioProblem('ORIGIN_REFUSED', 'the request comes from another site')
  if (origin === null && !headers.has(ownHeader) && !/^Bearer /i.test(headers.get('authorization') ?? ''))
    throw new StudioProblem('ORIGIN_REFUSED', `the request says neither where it comes from nor ${ownHeader}: 1`)
}

/** A proxy that speaks TLS for us changes the protocol, and most of them keep the host: only that is compared. */
function isSameHost(origin: string, url: URL, headers: Headers): boolean {
  if (!URL.canParse(origin)) return false
  const { host } = new URL(origin)
  return host !== '' && (host === url.host || host === headers.get('host'))
}

function isAddress(hostname: string): boolean {
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) > 0
}

function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost')
}

/** Of an address to listen at: whether only this machine reaches it. */
export function isLoopback(host: string): boolean {
  return isLocal(host) || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
