// Restate as a dispatcher: it pushes runs to workers on any number of machines, keeps their timers, and makes one call
// at a time per run. The journal stays in the store.
import { once } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { RestateEndpoint } from '@restatedev/restate-sdk'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { whenMissing } from '../../base/optional-package.ts'
import type { Dispatcher, DispatcherWork, Wake } from '../../crew/queue/dispatcher.ts'
import { redact } from '../../secrets/redact.ts'
import { runObject, type AdvanceMessage, type Sdk } from './run-object.ts'
import { queueName } from '../dispatch/queue-name.ts'
import { rootCause, readUrl } from '../http/addresses.ts'
import { realWorld } from '../../engine/world.ts'
import type { World } from '../../engine/definition.ts'
import { listOf, optional, seconds, text, whole, type Check, checkKeys } from '../../base/options.ts'
import { environment } from '../../base/environment.ts'
import { remember } from '../../secrets/known.ts'

export interface RestateOptions {
  /** Ingress URL, or several for a cluster. Default: RESTATE_INGRESS_URL, else http://127.0.0.1:8080. */
  readonly ingress?: string | readonly string[]
  /**
   * URL of the admin API, with which workers register, or several. False: the worker does not register itself.
   * Default: RESTATE_ADMIN_URL, else http://127.0.0.1:9070.
   */
  readonly admin?: string | readonly string[] | false
  /** Token for both APIs. Default: RESTATE_AUTH_TOKEN. */
  readonly token?: string
  /** Port of this worker. On Linux, several workers of a machine may share it. Default: 9080. */
  readonly port?: number
  /** Default: 127.0.0.1, reachable from this machine only. */
  readonly host?: string
  /**
   * URL of this worker for Restate, or of the load balancer in front of workers with the same crews. Default: host and
   * port.
   */
  readonly url?: string
  /** Public keys of the Restate servers that may call this worker: `publickeyv1_…`. Default: any caller may. */
  readonly identityKeys?: readonly string[]
  /** How long one call advances a run. Default: 60. */
  readonly sliceSeconds?: number
  /**
   * How long Restate waits for a call to end after its slice. Set it longer than the longest step: a longer step is not
   * lost, but the run does not continue until that step ends. Default: 3600.
   */
  readonly abortSeconds?: number
}

const keys: readonly (keyof RestateOptions)[] = [
  'ingress',
  'admin',
  'token',
  'port',
  'host',
  'url',
  'identityKeys',
  'sliceSeconds',
  'abortSeconds',
]

/** Checks the options and applies the defaults. Throws OPTION_INVALID or OPTION_UNKNOWN. */
function readRestateOptions(options: RestateOptions) {
  checkKeys('restateDispatcher', options, keys)
  const { restate } = environment()
  const { port, host, url, identityKeys, sliceSeconds, abortSeconds } = options
  const token = optional('token', options.token, text) ?? restate.token
  if (token !== undefined) remember([token])
  return {
    ingress: readUrls('ingress', options.ingress ?? restate.ingress ?? 'http://127.0.0.1:8080'),
    admin: options.admin === false ? [] : readUrls('admin', options.admin ?? restate.admin ?? 'http://127.0.0.1:9070'),
    token,
    port: optional('port', port, whole(0, 65_535)) ?? 9_080,
    host: optional('host', host, text) ?? '127.0.0.1',
    url: url === undefined ? undefined : readUrl('url of restateDispatcher', url, 'http://claims-workers:9080'),
    identityKeys: optional('identityKeys', identityKeys, keyList) ?? [],
    sliceSeconds: optional('sliceSeconds', sliceSeconds, seconds) ?? 60,
    abortSeconds: optional('abortSeconds', abortSeconds, seconds) ?? 3_600,
  }
}

const keyList: Check<readonly string[]> = listOf(
  'a list of public keys',
  'a public key of Restate: publickeyv1_…',
  (value) => typeof value === 'string' && value.startsWith('publickeyv1_'),
)

/** Environment variables list several URLs, separated by commas. */
function readUrls(name: string, urls: string | readonly string[]): readonly string[] {
  const list = typeof urls === 'string' ? urls.split(',').map((one) => one.trim()) : urls
  return list.map((one) => readUrl(`${name} of restateDispatcher`, one, 'http://127.0.0.1:8080').replace(/\/+$/, ''))
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. Only a worker needs the package @restatedev/restate-sdk. */
export function restateDispatcher(options: RestateOptions = {}): Dispatcher {
  const { ingress, admin, token, host, port, url, identityKeys, ...times } = readRestateOptions(options)

  const world = realWorld()
  /** Resolves when the worker of this process is registered. Until then, Restate cannot push runs to it. */
  let registered: Promise<void> | undefined
  /** Registers again after Restate has lost its registrations. */
  let registerAgain: ((service: string) => void) | undefined

  async function wake(run: Wake, at?: number): Promise<void> {
    await registered
    const delay = at === undefined ? 0 : Math.max(0, Math.ceil(at - world.now().getTime()))
    const service = queueName(run)
    const path = `/${service}/${encodeURIComponent(run.runId)}/advance/send`
    await callRestate(ingress, {
      path: delay > 0 ? `${path}?delay=${delay}ms` : path,
      body: {} satisfies AdvanceMessage,
      token,
      ...(run.key !== undefined && { headers: { 'idempotency-key': encodeURIComponent(run.key) } }),
      onUnknown: () => registerAgain?.(service),
    })
  }

  async function serve(work: DispatcherWork): Promise<void> {
    const { lanes, signal, tell } = work
    const registering = Promise.withResolvers<void>()
    registered = registering.promise
    const sdk = await loadSdk()
    const services = [...new Set(lanes.map(queueName))]
    const endpoint = sdk.endpoint().setLogger(({ level }, message, ...more) => {
      // warnings about unsigned requests only repeat the options
      if ((level as string) === 'error') tell([message, ...more].map(String).join(' '))
    })
    for (const name of services) endpoint.bind(runObject(sdk, work, { name, ...times, now: world.now }))
    if (identityKeys.length > 0) endpoint.withIdentityV1(...identityKeys)
    const served = await serveEndpoint(endpoint, host, port)
    const { promise: stopped, resolve } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => resolve())
    if (signal.aborted) resolve()
    const register = async (): Promise<void> => {
      registerAgain = undefined
      if (admin.length > 0)
        await registerDeployment({ admin, token, url: url ?? served.url, services, signal, log: tell, world })
      registerAgain = (service) => services.includes(service) && (registered = register())
    }
    await register()
    registering.resolve()
    await stopped
    await served.close()
  }

  return { name: 'restate', wake, serve }
}

async function loadSdk(): Promise<Sdk> {
  return import('@restatedev/restate-sdk').catch(whenMissing('@restatedev/restate-sdk', 'a worker for Restate'))
}

interface Endpoint {
  readonly url: string
  /** Refuses new calls; resolves when current calls are answered. */
  close(): Promise<void>
}

/**
 * Listens for calls of Restate over HTTP/2 without TLS. On Linux, workers of one machine may share a port. Rejects with
 * OPTION_INVALID if it cannot listen.
 */
async function serveEndpoint(endpoint: RestateEndpoint, host: string, port: number): Promise<Endpoint> {
  const { createServer } = await import('node:http2')
  const server = createServer(endpoint.http2Handler())
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    // calls on a broken connection end through their own signals
    session.on('error', () => undefined)
  })
  try {
    server.listen({ host, port, reusePort: process.platform === 'linux' && port !== 0 })
    await once(server, 'listening')
  } catch (error) {
    const words = `the worker cannot listen for Restate on port ${port} of ${host}: ${messageOf(error)}; choose another port or host`
    throw new RepriseError('OPTION_INVALID', words, { cause: error })
  }
  const { address, port: actualPort, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      // makes Restate send new calls to another connection
      for (const session of sessions) session.close()
      await closed
    },
  }
}

interface Registration {
  readonly admin: readonly string[]
  readonly token: string | undefined
  /** Where Restate reaches the worker. */
  readonly url: string
  readonly services: readonly string[]
  readonly signal: AbortSignal
  readonly world: World
  log(message: string): void
}

const maxPauseMs = 30_000

/**
 * Registers the virtual objects of this worker with Restate. Retries until it succeeds or the signal aborts, and logs
 * each new problem once.
 */
async function registerDeployment({ admin, token, url, services, signal, log, world }: Registration): Promise<void> {
  let logged = ''
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, maxPauseMs)) {
    const problem = await register().catch((error: unknown) => redact(messageOf(error)))
    if (problem === undefined) {
      log(`registered ${services.join(', ')} at ${url}`)
      return
    }
    if (problem !== logged) log(`not registered yet, retrying: ${problem}`)
    logged = problem
    await world.sleep(pause, signal).catch(() => undefined)
  }

  async function register(): Promise<string | undefined> {
    // forced, since Restate may know this address from an earlier version of the crews
    const answer = await callRestate(admin, { path: '/deployments', body: { uri: url, force: true }, token })
    const { services: found = [] } = answer as { services?: readonly { readonly name: string }[] }
    const missing = services.filter((name) => !found.some((service) => service.name === name))
    // behind a load balancer, a worker with other crews may have answered
    if (missing.length > 0) return `${url} answers without ${missing.join(', ')}`
    return undefined
  }
}

interface RestateCall {
  readonly path: string
  readonly body: unknown
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly token: string | undefined
  /** Called on 404: Restate does not know the service. */
  readonly onUnknown?: () => void
}

const timeoutMs = 10_000

/** Returns the answer. Rejects with DISPATCHER_FAILED, which quotes Restate, if no address accepts the call. */
async function callRestate(addresses: readonly string[], call: RestateCall): Promise<unknown> {
  const { path, body, token } = call
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', ...authorization, ...call.headers }
  const failures: string[] = []
  for (const address of addresses) {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
      if (response.ok) return await response.json()
      if (response.status === 404) call.onUnknown?.()
      failures.push(`${address} answers ${response.status}: ${await readErrorText(response)}`)
    } catch (error) {
      failures.push(`${address} cannot be reached: ${redact(messageOf(rootCause(error)))}`)
    }
  }
  const words = `Restate at ${failures.join('; at ')}; start it, or set RESTATE_INGRESS_URL and RESTATE_ADMIN_URL`
  throw new RepriseError('DISPATCHER_FAILED', words)
}

async function readErrorText(response: Response): Promise<string> {
  const body = await response.text().catch(() => '')
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    if (typeof message === 'string') return message
  } catch {
    // not an error of Restate itself
  }
  return body.slice(0, 200) || response.statusText
}
