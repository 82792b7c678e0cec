// Decides which requests are accepted: first by where they come from, then by the role of their caller.
//
// Refuses requests that another site makes a browser send here: through a host name that it points at this machine (DNS
// rebinding, checked by `Host`), or across origins (checked by `Origin`). A request that changes something and has no
// `Origin` needs a token or a header that HTML forms can't send. The headers of every response let browsers load and
// run only the studio's own files, and forbid them to frame or cache the page.
import { isIP } from 'node:net'
import { StudioProblem } from './api/problem.ts'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { RepriseError } from '../base/errors.ts'
import { describe } from '../base/options.ts'
import type { Role } from './api/contract.ts'

/** A header that HTML forms can't send. */
export const ownHeader = 'x-reprise-studio'

/**
 * Throws HOST_REFUSED unless the host is in `allowed`, localhost or an IP address: DNS rebinding needs another host
 * name. Undefined allows any host, because `authorize` checks the caller.
 */
export function checkHost({ hostname }: URL, allowed: readonly string[] | undefined): void {
  if (allowed === undefined || isAddress(hostname) || isLocal(hostname) || allowed.includes(hostname)) return
  throw new StudioProblem(
    'HOST_REFUSED',
    `this studio does not serve the host ${hostname}; start it with --allow-host ${hostname}, or allowHosts`,
  )
}

/**
 * Throws ORIGIN_REFUSED for a request from another site. Browsers send `Origin` with every request that may change
 * something; programs don't.
 */
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

const guardHeaders: { readonly [name: string]: string } = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Adds the headers of every response. `cached` keeps the response's own cache-control: the file never changes. */
export function withGuardHeaders(response: Response, cached = false): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(guardHeaders)) headers.set(name, value)
  // a proxy that compresses events would buffer them
  if (!cached) headers.set('cache-control', 'no-store, no-transform')
  const { status, statusText, body } = response
  return new Response(body, { status, statusText, headers })
}

// Roles and tokens. A program sends a token as `Authorization: Bearer …`. The page exchanges the token for a cookie,
// which its scripts can't read. The cookie is derived from the token and doesn't reveal it.

/** Each role includes those before it. */
const roles: readonly Role[] = ['look', 'answer', 'act']

export function allows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

export type Tokens = { readonly [role in Role]?: string | readonly string[] }

export interface TokenTable {
  roleOf(token: string): Role | undefined
  /** The role of the token in the Authorization header, otherwise of the session in the cookie. */
  roleIn(request: Request): Role | undefined
  /** The `set-cookie` header that starts a session. */
  cookie(token: string, options: { readonly path: string; readonly secure: boolean }): string
}

/** Shorter tokens can be guessed. */
const minTokenLength = 16
const cookieName = 'reprise-studio'

/** Undefined without tokens. Throws OPTION_INVALID for an invalid token. */
export function readTokens(tokens: Tokens | undefined): TokenTable | undefined {
  if (tokens === undefined) return undefined
  const list = roles.flatMap((role) => [tokens[role] ?? []].flat().map((token) => ({ role, token: checkToken(token) })))
  if (list.length === 0) return undefined
  const strongestRole = (matches: (token: string) => boolean): Role | undefined =>
    // compares every token, so that the time taken doesn't depend on which one matches
    list.reduce((role: Role | undefined, one) => (matches(one.token) ? one.role : role), undefined)
  const roleOf = (token: string): Role | undefined => strongestRole((known) => isEqual(known, token))
  return {
    roleOf,
    roleIn({ headers }) {
      const [, bearer] = /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '') ?? []
      if (bearer !== undefined) return roleOf(bearer)
      const [, session] = new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)`).exec(headers.get('cookie') ?? '') ?? []
      return session === undefined ? undefined : strongestRole((known) => isEqual(sessionId(known), session))
    },
    cookie: (token, { path, secure }) =>
      `${cookieName}=${sessionId(token)}; Path=${path}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`,
  }
}

/** The `set-cookie` header that ends a session. */
export function expiredCookie(path: string): string {
  return `${cookieName}=; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=0`
}

function checkToken(token: unknown): string {
  let problem: string
  if (typeof token !== 'string') problem = `is ${describe(token)}`
  else if (token.length < minTokenLength) problem = `has ${token.length} characters`
  else if (!/^[\x21-\x7e]+$/.test(token)) problem = 'contains a space or a character that is not printable ASCII'
  else return token
  throw new RepriseError(
    'OPTION_INVALID',
    `a token ${problem}; use at least ${minTokenLength} printable ASCII characters without spaces, for example from: openssl rand -hex 24`,
  )
}

function sessionId(token: string): string {
  return createHmac('sha256', token).update('session of a Reprise studio').digest('base64url')
}

/** Compares in constant time. */
function isEqual(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}
