// Guards against other sites. Refuses requests that another site makes a browser send here: through a host name that it
// points at this machine (DNS rebinding, checked by `Host`), or across origins (checked by `Origin`). Requests that
// change something must also come from a script, which an HTML form isn't. The headers of every response let browsers
// load and run only the studio's own files, and neither frame nor cache it.
import { isIP } from 'node:net'
import { StudioProblem } from '../api/problem.ts'

interface AllowedHosts {
  /**
   * Host names in addition to localhost and IP addresses, which can't be rebound. Undefined: any, because `authorize`
   * checks the caller.
   */
  readonly hosts: readonly string[] | undefined
}

/** A header that HTML forms can't send. */
export const ownHeader = 'x-reprise-studio'

/** HOST_REFUSED. */
export function checkHost(url: URL, { hosts }: AllowedHosts): void {
  const { hostname } = url
  if (hosts === undefined || isAddress(hostname) || isLocal(hostname) || hosts.includes(hostname)) return
  throw new StudioProblem(
    'HOST_REFUSED',
    `this studio does not serve the host ${hostname}; start it with --allow-host ${hostname}, or allowHosts`,
  )
}

/** ORIGIN_REFUSED. Browsers send `Origin` with every request that may change something; programs don't. */
export function checkOrigin(request: Request, url: URL): void {
  const { headers } = request
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin !== null && !isSameHost(origin, url, headers))
    throw new StudioProblem('ORIGIN_REFUSED', 'the request comes from a page of another origin')
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw new StudioProblem('ORIGIN_REFUSED', 'the request comes from another site')
  if (origin === null && !headers.has(ownHeader) && !/^Bearer /i.test(headers.get('authorization') ?? ''))
    throw new StudioProblem(
      'ORIGIN_REFUSED',
      `the request has no Origin, no token, and no header ${ownHeader}; send ${ownHeader}: 1`,
    )
}

/** Compares only the host: a proxy that terminates TLS changes the protocol, but usually keeps the host. */
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

/** Whether only this machine can reach a server that listens on the host. */
export function isLoopback(host: string): boolean {
  return isLocal(host) || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const always: { readonly [name: string]: string } = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** `cached` keeps the response's own cache-control, for files with a hash in their name. */
export function withGuardHeaders(response: Response, cached = false): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(always)) headers.set(name, value)
  // a proxy that compresses events would buffer them
  if (!cached) headers.set('cache-control', 'no-store, no-transform')
  const { status, statusText, body } = response
  return new Response(body, { status, statusText, headers })
}
