// Tokens, each for a role. A program sends one as `Authorization: Bearer …`. A browser's EventSource sends no header,
// so the page exchanges a token for a cookie: not the token itself, but what only somebody with the token can make.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import type { Role } from '../api/contract.ts'
import { roles } from './roles.ts'

export type Tokens = { readonly [role in Role]?: string | readonly string[] }

export interface TokenTable {
  /** Of a token. */
  roleOf(token: string): Role | undefined
  /** Of a request, by its header or its cookie. */
  roleIn(request: Request): Role | undefined
  /** What goes into `set-cookie`. */
  cookie(token: string, options: { readonly path: string; readonly secure: boolean }): string
}

/** Short ones can be guessed. */
const minTokenLength = 16
const cookieName = 'reprise-studio'

/** OPTION_INVALID. Undefined where there are none. */
export function readTokens(given: Tokens | undefined): TokenTable | undefined {
  if (given === undefined) return undefined
  const list = roles.flatMap((role) => [given[role] ?? []].flat().map((token) => ({ role, token: checkToken(token) })))
  if (list.length === 0) return undefined
  const found = (fits: (token: string) => boolean): Role | undefined =>
    // all are compared, and the one that may most counts
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

/** Has a browser forget it. */
export function noCookie(path: string): string {
  return `${cookieName}=; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=0`
}

function checkToken(token: unknown): string {
  if (typeof token === 'string' && token.length >= minTokenLength && /^[\x21-\x7e]+$/.test(token)) return token
  const words = `a token ${typeof token === 'string' ? `has ${token.length} characters` : `is ${describe(token)}`}`
  throw new RepriseError(
    'OPTION_INVALID',
    `${words}; give at least ${minTokenLength} letters, digits and signs, such as those of: openssl rand -hex 24`,
  )
}

function sessionId(token: string): string {
  return createHmac('sha256', token).update('session of a Reprise studio').digest('base64url')
}

/** In a time that does not tell how much of it is right. */
function isEqual(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}
