// Guards against other sites. Refuses requests that another site makes a browser send here: through a host name that it
// points at this machine (DNS rebinding, checked by `Host`), or across origins (checked by `Origin`). Requests that
// change something must also come from a script, which an HTML form isn't. The headers of every response let browsers
// load and run only the studio's own files, and neither frame nor cache it.
import { isIP } from 'node:net'
import { StudioProblem } from './api/problem.ts'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { RepriseError } from '../base/errors.ts'
import { describe } from '../base/options.ts'
import type { Role } from './api/contract.ts'

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

// Roles and tokens. A program sends a token as `Authorization: Bearer …`. A browser's EventSource can't send headers,
// so the page exchanges the token for a cookie, which is derived from the token and doesn't reveal it.

/** Each role includes those before it. */
const roles: readonly Role[] = ['look', 'answer', 'act']

export function allows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

export type Tokens = { readonly [role in Role]?: string | readonly string[] }

export interface TokenTable {
  roleOf(token: string): Role | undefined
  /** By the header or the cookie of the request. */
  roleIn(request: Request): Role | undefined
  /** The value of `set-cookie`. */
  cookie(token: string, options: { readonly path: string; readonly secure: boolean }): string
}

/** Shorter tokens can be guessed. */
const minTokenLength = 16
const cookieName = 'reprise-studio'

/** OPTION_INVALID. Undefined without tokens. */
export function readTokens(given: Tokens | undefined): TokenTable | undefined {
  if (given === undefined) return undefined
  const list = roles.flatMap((role) => [given[role] ?? []].flat().map((token) => ({ role, token: checkToken(token) })))
  if (list.length === 0) return undefined
  const found = (fits: (token: string) => boolean): Role | undefined =>
    // compares all of them; the most powerful role wins
    list.reduce((role: Role | undefined, one) => (fits(one.token) ? one.role : role), undefined)
  const roleOf = (token: string): Role | undefined => found((known) => isEqual(known, token))
  return {
    roleOf,
    roleIn({ headers }) {
      const [, bearer] = /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '') ?? []
      if (bearer !== undefined) return roleOf(bearer)
      const [, session] = new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)`).exec(headers.get('cookie') ?? '') ?? []
      return session === undefined ? undefined : found((known) => isEqual(sessionId(known), session))
    },
    cookie: (token, { path, secure }) =>
      `${cookieName}=${sessionId(token)}; Path=${path}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`,
  }
}

/** Removes the cookie from the browser. */
export function noCookie(path: string): string {
  return `${cookieName}=; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=0`
}

function checkToken(token: unknown): string {
  if (typeof token === 'string' && token.length >= minTokenLength && /^[\x21-\x7e]+$/.test(token)) return token
  const words = `a token ${typeof token === 'string' ? `has ${token.length} characters` : `is ${describe(token)}`}`
  throw new RepriseError(
    'OPTION_INVALID',
    `${words}; give at least ${minTokenLength} printable characters, for example from: openssl rand -hex 24`,
  )
}

function sessionId(token: string): string {
  return createHmac('sha256', token).update('session of a Reprise studio').digest('base64url')
}

/** In constant time. */
function isEqual(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}
