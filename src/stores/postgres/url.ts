// Parses a `postgres:` URL: takes out the options of this store, and leaves the rest to pg.
import { RepriseError } from '../../base/errors.ts'
import { rememberAddress } from '../../secrets/known.ts'
import { redact } from '../../secrets/redact.ts'

export interface PostgresSettings {
  /** For pg: with credentials, without the options of this store. */
  readonly connectionString: string
  /** For messages: without the password, with the schema unless it's the default. */
  readonly displayUrl: string
  readonly schema: string
  readonly pool: number
  readonly statementTimeoutMs: number
}

export interface PostgresOptions {
  /** Where the tables are. Default: `reprise`. */
  readonly schema?: string | undefined
  /** Maximum number of connections, in addition to a listening one. Default: 5. */
  readonly pool?: number | undefined
  /** Statements that take longer are cancelled and retried. Default: 30 seconds. */
  readonly statementTimeoutMs?: number | undefined
}

const defaults = { schema: 'reprise', pool: 5, statementTimeoutMs: 30_000 }
/** The server truncates longer names, and then two schemas may become one. */
const maxNameBytes = 63

/** Throws STORE_INVALID if the URL or an option is invalid. */
export function readPostgresUrl(text: string, options: PostgresOptions = {}): PostgresSettings {
  rememberAddress(text)
  const url = parse(text)
  // the driver doesn't know these parameters, so the URL loses them even if `options` override their values
  const own = {
    schema: takeParameter(url, 'schema'),
    pool: takeParameter(url, 'pool'),
    timeout: takeParameter(url, 'statement_timeout'),
  }
  const schema = options.schema ?? own.schema ?? defaults.schema
  if (schema === '' || Buffer.byteLength(schema) > maxNameBytes || /\0/.test(schema) || schema.startsWith('pg_'))
    throw invalidUrl(
      text,
      `"${schema}" cannot be the name of a schema`,
      'give one of 1 to 63 bytes that does not begin with pg_',
    )
  const pool = positiveNumber(text, 'pool', options.pool ?? own.pool ?? defaults.pool)
  const timeout = options.statementTimeoutMs ?? own.timeout ?? defaults.statementTimeoutMs
  const statementTimeoutMs = positiveNumber(text, 'statement_timeout', timeout)
  const connectionString = url.href
  url.password = ''
  // parameters that pg takes as passwords
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name)
  if (schema !== defaults.schema) url.searchParams.set('schema', schema)
  return { connectionString, displayUrl: url.href, schema, pool, statementTimeoutMs }
}

function parse(text: string): URL {
  try {
    const url = new URL(text)
    // without the slashes, everything including the password would be a path
    if (/^postgres(ql)?:\/\//i.test(text)) return url
  } catch {
    // refused below
  }
  throw invalidUrl(text, 'it is not the URL of a PostgreSQL database', 'write postgres://user@host:5432/database')
}

function takeParameter(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined
  url.searchParams.delete(name)
  return value
}

function positiveNumber(text: string, name: string, value: string | number): number {
  if (/^[1-9]\d{0,8}$/.test(String(value))) return Number(value)
  throw invalidUrl(text, `${name} is "${value}"`, 'give a whole number from 1 to 999999999')
}

function invalidUrl(text: string, why: string, advice: string): RepriseError {
  const shown = redact(text.replace(/(:\/{0,2}[^:@/]*):.*@/, '$1:[redacted]@'))
  return new RepriseError('STORE_INVALID', `"${shown}" cannot be opened as a store: ${why}; ${advice}`)
}
