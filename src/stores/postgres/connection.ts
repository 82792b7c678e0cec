// A pool of connections to one server. Nothing depends on a session, so poolers that assign a session per transaction
// (PgBouncer) work: names are written with their schema, and statements are prepared only on direct connections.
import type { Client, ClientBase, Pool, PoolClient } from 'pg'
import { RepriseError } from '../../base/errors.ts'
import { whenMissing } from '../../base/optional-package.ts'
import type { CallStage } from '../patient-store.ts'
import { storeClosedError } from '../rules/refusals.ts'
import { isAnswer, postgresError, sqlState } from './errors.ts'
import type { PostgresSettings } from './url.ts'

export type Value = string | number | boolean | Uint8Array | null
export type Row = { readonly [column: string]: unknown }

export interface Statements {
  query<Found extends Row>(text: string, values?: readonly Value[]): Promise<Found[]>
}

export interface PostgresPool {
  /** Without the password. */
  readonly url: string
  /** Executes a read-only statement. Rejects with STORE_UNAVAILABLE during an outage. */
  read<Found extends Row>(text: string, values?: readonly Value[]): Promise<Found[]>
  /**
   * Executes one statement. Rejects with STORE_UNAVAILABLE if nothing was written, and with OUTCOME_UNKNOWN if the
   * reply was lost.
   */
  write<Found extends Row>(text: string, values?: readonly Value[]): Promise<Found[]>
  /** Executes `work` in a transaction. `patient`: without a time limit on the client. */
  transaction<T>(work: (statements: Statements) => Promise<T>, patient?: 'patient'): Promise<T>
  /**
   * Opens a connection for listening, which doesn't keep the process alive. Resolves with undefined if a pooler is in
   * between: it would pass notifications to another client.
   */
  session(): Promise<Client | undefined>
  /** Waits for calls in progress, then closes all connections. Later calls are refused. */
  close(): Promise<void>
}

const connectMs = 10_000
const idleMs = 30_000
/** Added to the server's own limit, so that the server gives up first: its error proves that nothing was written. */
const graceMs = 5_000
/** Maximum of a Node timer. */
const longestTimerMs = 2 ** 31 - 1
/** TCP keepalive: firewalls and proxies drop idle connections. */
const keepAliveMs = 30_000
/** The server returns bytes as text of twice the length, and Node's strings are limited to 512 MB. */
const maxBytes = 256_000_000
/** SQLSTATE of a deadlock: the server ends one of the transactions, which is retried. */
const deadlock = '40P01'
const deadlockTries = 5

export async function openPool(settings: PostgresSettings): Promise<PostgresPool> {
  const pg = (await import('pg').catch(whenMissing('pg', 'a PostgreSQL store'))).default
  const { displayUrl: url, statementTimeoutMs } = settings
  const clientConfig = {
    connectionString: settings.connectionString,
    fallback_application_name: 'reprise',
    connectionTimeoutMillis: connectMs,
    query_timeout: statementTimeoutMs + graceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    types: { getTypeParser: parserFor },
  }
  /** Connections without a pooler in between. */
  const direct = new WeakSet<object>()
  const names = new Map<string, string>()
  const sessions = new Set<Client>()
  const spare = spareConnection()
  const inProgress = new Set<Promise<unknown>>()
  let wasOpen = false
  let closed = false

  async function greet(client: ClientBase): Promise<void> {
    // a lost connection also emits this event, which would end the process if nothing listened
    client.on('error', () => undefined)
    client.once('end', () => spare.lost(client))
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const { processID } = client as unknown as { readonly processID: number }
    // a pooler's own process id isn't the id of the process that executes the statement
    if (rows[0]?.pid !== processID) return
    direct.add(client)
    await client.query(
      `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = 60000;
       set default_transaction_isolation = 'read committed'`,
    )
  }

  const pool: Pool = new pg.Pool({
    ...clientConfig,
    max: settings.pool,
    idleTimeoutMillis: idleMs,
    allowExitOnIdle: true,
    onConnect: greet,
  })
  // the server closed an idle connection: the next call uses another
  pool.on('error', () => undefined)

  /** The name of the prepared statement; equal for equal texts. */
  function nameOf(text: string): string {
    const name = names.get(text) ?? `reprise_${names.size + 1}`
    names.set(text, name)
    return name
  }

  async function connect(): Promise<PoolClient> {
    if (closed) throw storeClosedError(url)
    const kept = spare.take()
    if (kept) return kept
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

  function using<T>(stage: CallStage, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const call = attempt(stage, work)
    inProgress.add(call)
    const settled = (): unknown => inProgress.delete(call)
    call.then(settled, settled)
    return call
  }

  async function attempt<T>(stage: CallStage, work: (client: PoolClient) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const client = await connect()
      try {
        const result = await work(client)
        spare.giveBack(client, pool)
        return result
      } catch (error) {
        const state = sqlState(error)
        client.release(!isAnswer(error))
        if (state === deadlock && tries < deadlockTries) continue
        throw postgresError(error, url, stage)
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
          const result = await work({ query: (text, values) => query(client, text, values, timeout) })
          await client.query('commit')
          return result
        } catch (error) {
          // without an answer the connection gets closed, which rolls back as well
          if (isAnswer(error)) await client.query('rollback')
          throw error
        }
      }),
    async session() {
      if (closed) throw storeClosedError(url)
      const client = new pg.Client(clientConfig)
      client.on('error', () => undefined)
      try {
        await client.connect()
        await greet(client)
      } catch (error) {
        void client.end()
        throw postgresError(error, url, 'not sent')
      }
      // the pool may have been closed while this client was connecting
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
      // not awaited, since an unreachable server must not delay closing
      for (const client of sessions) void client.end()
      await Promise.allSettled(inProgress)
      spare.release()
      await pool.end()
    },
  }
}

/** Throws STORE_FAILED if the values are too large: the server would hang up, which looks like an outage. */
function checkSize(url: string, values: readonly Value[]): void {
  const bytes = values.reduce<number>((sum, value) => sum + valueBytes(value), 0)
  if (bytes <= maxBytes) return
  const words = `a change of ${bytes} bytes is too large for ${url}, which accepts ${maxBytes} at once: store large files elsewhere, and pass their names`
  throw new RepriseError('STORE_FAILED', words)
}

function valueBytes(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0
}

const boolOid = 16
const byteaOid = 17
const numberOids = new Set([20, 21, 23, 26, 700, 701])

/** Parses a value from text. Bigints are counts and times, so they are safe numbers. */
function parserFor(oid: number): (text: string) => unknown {
  if (oid === byteaOid) return (text) => Buffer.from(text.slice('\\x'.length), 'hex')
  if (numberOids.has(oid)) return Number
  if (oid === boolOid) return (text) => text === 't'
  return String
}

/** Quotes an identifier. */
export function escapeName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

const keptMs = 1_000

/** Keeps the last used connection for a moment: getting it from the pool again would take a tenth of a step's time. */
function spareConnection() {
  let spare: { readonly client: PoolClient; readonly idle: NodeJS.Timeout } | undefined

  function take(): PoolClient | undefined {
    const taken = spare
    if (taken === undefined) return undefined
    spare = undefined
    clearTimeout(taken.idle)
    referable(taken.client).ref()
    return taken.client
  }
  const release = (): void => take()?.release()

  return {
    take,
    /** Keeps the connection. Returns it to the pool if another is kept already, or if a call waits for one. */
    giveBack(client: PoolClient, { waitingCount }: Pick<Pool, 'waitingCount'>): void {
      if (spare !== undefined || waitingCount > 0) return client.release()
      // an unused connection must not keep the process alive
      referable(client).unref()
      spare = { client, idle: setTimeout(release, keptMs).unref() }
    },
    /** Drops the kept connection if it was lost. */
    lost(client: ClientBase): void {
      if (spare?.client === client) take()?.release(true)
    },
    /** Returns the kept connection to the pool. */
    release,
  }
}

/** Methods that the types of pg lack. */
function referable(client: PoolClient): { ref(): void; unref(): void } {
  return client as unknown as { ref(): void; unref(): void }
}
