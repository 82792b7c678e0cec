// Removes the credentials of a server from everything that it sends: servers echo them in errors, and some have a tool
// that prints their environment. Models and journals get the cleaned text.
import { createRemover } from '../../secrets/forms.ts'
import { remember, secretsIn, secretsInAddress } from '../../secrets/known.ts'
import { redact } from '../../secrets/redact.ts'
import { isStdio, type HttpServer, type StdioServer } from './mcp-server.ts'

export interface Cleaner {
  text(text: string): string
  /** For errors: also removes text that looks like a credential. */
  error(text: string): string
  /** A copy in which every string is cleaned, member names included. */
  value<T>(value: T): T
}

export function createCleaner(server: StdioServer | HttpServer): Cleaner {
  const secrets = serverSecrets(server)
  remember(secrets)
  const text = createRemover(secrets)
  const value = (dirty: unknown): unknown => {
    if (typeof dirty === 'string') return text(dirty)
    if (Array.isArray(dirty)) return dirty.map(value)
    if (typeof dirty !== 'object' || dirty === null) return dirty
    return Object.fromEntries(Object.entries(dirty).map(([name, member]) => [text(name), value(member)]))
  }
  return { text, error: (dirty) => redact(text(dirty)), value: value as Cleaner['value'] }
}

/**
 * Values are selected by name and by shape: a folder in a variable must stay readable in results, or the model could
 * not use its paths.
 */
function serverSecrets(server: StdioServer | HttpServer): string[] {
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
  return [...secretsInAddress(server.url), ...Object.entries(server.headers ?? {}).flatMap(secretsIn)]
}
