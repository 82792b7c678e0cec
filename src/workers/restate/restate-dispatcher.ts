// Restate as the dispatcher: it pushes runs to workers, keeps their timers, and lets one call at a time advance a run,
// over any number of machines. The journal stays in the store.
import type { Dispatcher, DispatchedWork, Wake } from '../../crew/queue/dispatcher.ts'
import { whenMissing } from '../../base/optional-package.ts'
import { callRestate } from './call-restate.ts'
import { registerDeployment } from './register-deployment.ts'
import { readRestateOptions, type RestateOptions } from './restate-options.ts'
import { runObject, type AdvanceMessage, type Sdk } from './run-object.ts'
import { serveEndpoint } from './serve-endpoint.ts'
import { laneName } from '../dispatch/lane-name.ts'

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
    const service = laneName(run)
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
    const services = [...new Set(lanes.map(laneName))]
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
      if (admin.length > 0) await registerDeployment({ admin, token, url: url ?? served.url, services, signal, tell })
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
