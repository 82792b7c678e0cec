// Restate as the dispatcher: it pushes runs to workers, keeps their timers, and lets one call at a time advance a run,
// over any number of machines. The journal stays in the store.
import { once } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { RestateEndpoint } from '@restatedev/restate-sdk'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { whenMissing } from '../../base/optional-package.ts'
import type { Dispatcher, DispatchedWork, Wake } from '../../crew/queue/dispatcher.ts'
import { redact } from '../../secrets/redact.ts'
import { callRestate } from './call-restate.ts'
import { readRestateOptions, type RestateOptions } from './restate-options.ts'
import { runObject, type AdvanceMessage, type Sdk } from './run-object.ts'
import { queueName } from '../dispatch/queue-name.ts'

/** OPTION_INVALID, OPTION_UNKNOWN. The package @restatedev/restate-sdk is needed only where a worker serves. */
export function restateDispatcher(options: RestateOptions = {}): Dispatcher {
  const { ingress, admin, token, host, port, url, identityKeys, ...times } = readRestateOptions(options)

  /** Of the worker that serves in this process: Restate knows nobody to push a run to before. */
  let registered: Promise<void> | undefined
  /** After Restate has lost what it knew. */
  let registerAgain: ((service: string) => void) | undefined

  async function wake(run: Wake, at?: number): Promise<void> {
    await registered
    const delay = at === undefined ? 0 : Math.max(0, Math.ceil(at - Date.now()))
    const service = queueName(run)
    const path = `/${service}/${encodeURIComponent(run.runId)}/advance/send`
    await callRestate(ingress, {
      path: delay > 0 ? `${path}?delay=${delay}ms` : path,
      body: {} satisfies AdvanceMessage,
      token,
      ...(run.key !== undefined && { headers: { 'idempotency-key': encodeURIComponent(run.key) } }),
      unknown: () => registerAgain?.(service),
    })
  }

  async function serve(work: DispatchedWork): Promise<void> {
    const { lanes, signal, tell } = work
    const registering = Promise.withResolvers<void>()
    registered = registering.promise
    const sdk = await loadSdk()
    const services = [...new Set(lanes.map(queueName))]
    const endpoint = sdk.endpoint().setLogger(({ level }, message, ...more) => {
      // that requests need not be signed is what the options say
      if ((level as string) === 'error') tell([message, ...more].map(String).join(' '))
    })
    for (const name of services) endpoint.bind(runObject(sdk, work, { name, ...times }))
    if (identityKeys.length > 0) endpoint.withIdentityV1(...identityKeys)
    const served = await serveEndpoint(endpoint, host, port)
    const { promise: stopped, resolve } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => resolve())
    if (signal.aborted) resolve()
    const register = async (): Promise<void> => {
      registerAgain = undefined
      if (admin.length > 0)
        await registerDeployment({ admin, token, url: url ?? served.url, services, signal, log: tell })
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
  /** Takes no more calls, and resolves when those under way are answered. */
  close(): Promise<void>
}

/**
 * Listens for the calls of Restate: HTTP/2 without TLS, as it speaks to services. Workers of one machine may share a
 * port, where the system spreads connections over them. OPTION_INVALID when it cannot listen there.
 */
async function serveEndpoint(endpoint: RestateEndpoint, host: string, port: number): Promise<Endpoint> {
  const { createServer } = await import('node:http2')
  const server = createServer(endpoint.http2Handler())
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    // a connection that breaks ends the calls on it, which hear that by themselves
    session.on('error', () => undefined)
  })
  try {
    server.listen({ host, port, reusePort: process.platform === 'linux' && port !== 0 })
    await once(server, 'listening')
  } catch (error) {
    const words = `the worker cannot listen for Restate on port ${port} of ${host}: ${messageOf(error)}; give another port or host`
    throw new RepriseError('OPTION_INVALID', words, { cause: error })
  }
  const { address, port: taken, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      // tells Restate to send what follows elsewhere
      for (const session of sessions) session.close()
      await closed
    },
  }
}

interface Registration {
  readonly admin: readonly string[]
  readonly token: string | undefined
  /** Where the worker is reached. */
  readonly url: string
  readonly services: readonly string[]
  readonly signal: AbortSignal
  log(said: string): void
}

const longestPause = 30_000

/**
 * Tells Restate where the virtual objects of this worker are. Resolves when it is registered, or the signal aborts.
 * What goes wrong is told, when it is something new.
 */
async function registerDeployment({ admin, token, url, services, signal, log: tell }: Registration): Promise<void> {
  let said = ''
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, longestPause)) {
    const problem = await register().catch((error: unknown) => redact(messageOf(error)))
    if (problem === undefined) {
      tell(`registered ${services.join(', ')} at ${url}`)
      return
    }
    if (problem !== said) tell(`not registered yet, and tried again: ${problem}`)
    said = problem
    await wait(pause, undefined, { signal }).catch(() => undefined)
  }

  async function register(): Promise<string | undefined> {
    // by force: what is known of this address may be what an earlier version of the crews had there
    const answer = await callRestate(admin, { path: '/deployments', body: { uri: url, force: true }, token })
    const { services: found = [] } = answer as { services?: readonly { readonly name: string }[] }
    const missing = services.filter((name) => !found.some((service) => service.name === name))
    // another worker may have answered behind a load balancer, with the crews that it has
    if (missing.length > 0) return `${url} answers without ${missing.join(', ')}`
    return undefined
  }
}
