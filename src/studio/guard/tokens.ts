// Roles and tokens. A program sends a token as `Authorization: Bearer …`. A browser's EventSource can't send headers,
// so the page exchanges the token for a cookie, which is derived from the token and doesn't reveal it.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import type { Role } from '../api/contract.ts'

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
