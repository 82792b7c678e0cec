// The connections to a server: a pool of them, and the two ways to use one. Nothing here depends on a session, so that
// it works through a pooler that gives every transaction another one: names are written with their schema, and what
// sessions are good for, statements that are prepared once, is left out where a pooler is noticed.
import type { Client, ClientBase, Pool, PoolClient } from 'pg'
import { RepriseError } from '../../base/errors.ts'
import { whenMissing } from '../../base/optional-package.ts'
import type { CallStage } from '../patient/outage-error.ts'
import { storeClosedError } from '../rules/refusals.ts'
import { isAnswer, postgresError, sqlState } from './errors.ts'
import { spareConnection } from './spare-connection.ts'
import type { PostgresSettings } from './url.ts'

export type Value = string | number | boolean | Uint8Array | null
export type Row = { readonly [column: string]: unknown }

export interface Statements {
  query<Found extends Row>(text: string, values?: readonly Value[]): Promise<Found[]>
}

export interface PostgresPool {
  /** Without the password. */
  readonly url: string
  /** One statement that changes nothing. STORE_UNAVAILABLE. */
  read<Found extends Row>(text: string, values?: readonly Value[]): Promise<Found[]>
  /** One statement. STORE_UNAVAILABLE when nothing was written, OUTCOME_UNKNOWN when the answer was lost. */
  write<Found extends Row>(text: string, values?: readonly Value[]): Promise<Found[]>
  /** Several, of which all are done or none. `patient`: nothing is given up here because it takes long. */
  transaction<T>(work: (statements: Statements) => Promise<T>, patient?: 'patient'): Promise<T>
  /**
   * A connection of its own, which keeps no process alive. Undefined where a pooler is between us and the server: what
   * it is told to listen to would be heard by somebody else.
   */
  session(): Promise<Client | undefined>
  /** Ends all connections, when what is under way is done. Everything after it is refused. */
  close(): Promise<void>
}

const connectMs = 10_000
const idleMs = 30_000
/** The server gives up first: that is an answer, where giving up here is a doubt. */
const graceMs = 5_000
/** The longest that a timer can be set to. */
const longestTimerMs = 2 ** 31 - 1
/** So often a connection that nobody uses shows that it is there: what lies between forgets those that are silent. */
const silentMs = 30_000
/** A value comes back as text of twice its length, and no text has more than 512 MB. */
const maxBytes = 256_000_000
/** Two that wait for each other: the server has ended one of them, which tries again. */
const deadlock = '40P01'
const deadlockTries = 5

export async function openPool(place: PostgresSettings): Promise<PostgresPool> {
  const pg = (await import('pg').catch(whenMissing('pg', 'a PostgreSQL store'))).default
  const { displayUrl: url, statementTimeoutMs } = place
  const settings = {
    connectionString: place.connectionString,
    fallback_application_name: 'reprise',
    connectionTimeoutMillis: connectMs,
    query_timeout: statementTimeoutMs + graceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: silentMs,
    types: { getTypeParser: parserFor },
  }
  /** Those that talk to the server itself. */
  const direct = new WeakSet<object>()
  const names = new Map<string, string>()
  const sessions = new Set<Client>()
  const spare = spareConnection()
  const underWay = new Set<Promise<unknown>>()
  let wasOpen = false
  let closed = false

  async function greet(client: ClientBase): Promise<void> {
    // one that is lost says so beside the statement that fails: heard by nobody, that would end the process
    client.on('error', () => undefined)
    client.once('end', () => spare.lost(client))
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const { processID } = client as unknown as { readonly processID: number }
    if (rows[0]?.pid !== processID) return
    direct.add(client)
    await client.query(
      `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = 60000;
       set default_transaction_isolation = 'read committed'`,
    )
  }

  const pool: Pool = new pg.Pool({
    ...settings,
    max: place.pool,
    idleTimeoutMillis: idleMs,
    allowExitOnIdle: true,
    onConnect: greet,
  })
  // an idle connection that the server has closed: the next call gets another
  pool.on('error', () => undefined)

  /** What a statement is prepared under; the same text always has the same name. */
  function nameOf(text: string): string {
    const name = names.get(text) ?? `reprise_${names.size + 1}`
    names.set(text, name)
    return name
  }

  async function connect(): Promise<PoolClient> {
    if (closed) throw storeClosedError(url)
    const atHand = spare.take()
    if (atHand) return atHand
    try {
      const client = await pool.connect()
      wasOpen = true
      return client
    } catch (error) {
      throw postgresError(error, url, wasOpen ? 'not sent' : 'never open')
    }
  }

  async function query<Found extends Row>(
    client: PoolClient,
    text: string,
    values: readonly Value[] = [],
    timeout: { readonly query_timeout?: number } = {},
  ): Promise<Found[]> {
    checkSize(url, values)
    const named = direct.has(client) && values.length > 0 ? { name: nameOf(text) } : {}
    const result = await client.query<Found>({ ...named, ...timeout, text, values: values as unknown[] })
    return result.rows
  }

  function using<T>(sent: CallStage, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const call = attempt(sent, work)
    underWay.add(call)
    const over = (): unknown => underWay.delete(call)
    call.then(over, over)
    return call
  }

  async function attempt<T>(sent: CallStage, work: (client: PoolClient) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const client = await connect()
      try {
        const answer = await work(client)
        spare.giveBack(client, pool)
        return answer
      } catch (error) {
        const state = sqlState(error)
        client.release(!isAnswer(error))
        if (state === deadlock && tries < deadlockTries) continue
        throw postgresError(error, url, sent)
      }
    }
  }

  return {
    url,
    read: (text, values) => using('read', (client) => query(client, text, values)),
    write: (text, values) => using('write', (client) => query(client, text, values)),
    transaction: (work, patient) =>
      using('write', async (client) => {
        const timeout = patient ? { query_timeout: longestTimerMs } : {}
        await client.query('begin isolation level read committed')
        try {
          const answer = await work({ query: (text, values) => query(client, text, values, timeout) })
          await client.query('commit')
          return answer
        } catch (error) {
          // one that does not answer is closed, which undoes everything as well
          if (isAnswer(error)) await client.query('rollback')
          throw error
        }
      }),
    async session() {
      if (closed) throw storeClosedError(url)
      const client = new pg.Client(settings)
      client.on('error', () => undefined)
      try {
        await client.connect()
        await greet(client)
      } catch (error) {
        void client.end()
        throw postgresError(error, url, 'not sent')
      }
      // closed meanwhile: one that is connecting cannot be ended
      if (closed || !direct.has(client)) {
        void client.end()
        if (closed) throw storeClosedError(url)
        return undefined
      }
      sessions.add(client)
      client.once('end', () => sessions.delete(client))
      ;(client as unknown as { unref(): void }).unref()
      return client
    },
    async close() {
      if (closed) return
      closed = true
      // not waited for: a server that is gone keeps nobody from closing
      for (const client of sessions) void client.end()
      await Promise.allSettled(underWay)
      spare.release()
      await pool.end()
    },
  }
}

/** STORE_FAILED. A server that is sent too much hangs up, which would look like one that is away. */
function checkSize(url: string, values: readonly Value[]): void {
  const bytes = values.reduce<number>((sum, value) => sum + valueBytes(value), 0)
  if (bytes <= maxBytes) return
  const words = `a change of ${bytes} bytes is too large for ${url}, which takes ${maxBytes} at once: keep large files elsewhere, and give their names`
  throw new RepriseError('STORE_FAILED', words)
}

function valueBytes(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0
}

const boolOid = 16
const byteaOid = 17
const numberOids = new Set([20, 21, 23, 26, 700, 701])

/** Values come as text. A bigint here is a count or a time: all of them are safe numbers. */
function parserFor(oid: number): (text: string) => unknown {
  if (oid === byteaOid) return (text) => Buffer.from(text.slice('\\x'.length), 'hex')
  if (numberOids.has(oid)) return Number
  if (oid === boolOid) return (text) => text === 't'
  return String
}

/** A name as SQL writes it, whatever is in it. */
export function escapeName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
