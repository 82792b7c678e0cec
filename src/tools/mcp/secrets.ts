// The credentials that a server is opened with, and their removal from everything that it says: servers echo them in errors, and
// some have a tool that prints their environment. What the model sees and what the journal keeps is the cleaned text.
import { isStdio, type HttpServer, type StdioServer } from './server.ts'

export interface Cleaner {
  text(text: string): string
  /** A copy in which every string, also a member's name, is cleaned. */
  value<T>(value: T): T
}

export function cleanerFor(server: StdioServer | HttpServer): Cleaner {
  // the longest first: a key that begins like another must not leave its tail behind
  const secrets = [...new Set(secretsOf(server))]
    // shorter ones are no secrets, and replacing them would only make texts unreadable
    .filter((secret) => secret.length >= 4)
    .flatMap((secret) => [...new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])])
    .toSorted((a, b) => b.length - a.length)
  const text = (dirty: string): string =>
    secrets.reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), dirty)
  const value = (dirty: unknown): unknown => {
    if (typeof dirty === 'string') return text(dirty)
    if (Array.isArray(dirty)) return dirty.map(value)
    if (typeof dirty !== 'object' || dirty === null) return dirty
    return Object.fromEntries(Object.entries(dirty).map(([name, member]) => [text(name), value(member)]))
  }
  return { text, value: value as Cleaner['value'] }
}

/**
 * By name and by shape, and not simply everything: a folder that is given by a variable must stay readable in results, or the model
 * could not use the paths that it is told.
 */
function secretsOf(server: StdioServer | HttpServer): string[] {
  if (isStdio(server)) {
    const { args = [] } = server
    const options = args.map((arg, index): [string, string] => {
      const [, name, value] = /^-+([^=]+)=(.*)$/s.exec(arg) ?? []
      if (name !== undefined && value !== undefined) return [name, value]
      const before = args[index - 1] ?? ''
      return [before.startsWith('-') ? before : '', arg.startsWith('-') ? '' : arg]
    })
    return [...Object.entries(server.env ?? {}), ...options].flatMap(secretsIn)
  }
  const url = new URL(server.url)
  const segments = url.pathname.split('/').filter((segment) => /^(?=.*\d)(?=.*[a-z])[\w.~-]{16,}$/i.test(segment))
  const named = [...Object.entries(server.headers ?? {}), ...url.searchParams]
  return [...segments, ...secretsIn(['', server.url]), ...named.flatMap(secretsIn)]
}

const telling = /key|token|secret|pass|pwd|auth|cred|cookie|bearer|private|signature|session|(^|_)pat$/i
const shapes = /^(sk-|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza|eyJ|Bearer |Basic )/

function secretsIn([name, value]: readonly [string, string]): string[] {
  const address = URL.canParse(value) ? new URL(value) : undefined
  // without a password, the name is the key
  const inAddress = [address?.password || address?.username].filter((part) => part !== undefined)
  if (!telling.test(name) && !shapes.test(value)) return inAddress.flatMap(decoded)
  // what stands behind a scheme: `Bearer abc`
  return [...inAddress.flatMap(decoded), value, ...value.split(/\s+/).slice(1)]
}

function decoded(part: string): string[] {
  try {
    return [part, decodeURIComponent(part)]
  } catch {
    return [part]
  }
}
