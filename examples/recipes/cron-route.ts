// A route for the cron of a platform that has functions, but no long-lived processes. It calls the function that
// advances runs for every ready run, until none is ready.
import type { Crew } from 'reprise'
import { httpDispatcher } from 'reprise/http'
import { startWorker } from 'reprise/workers'

export interface CronRouteOptions {
  /** The URL at which `advanceHandler` is served. */
  readonly url: string
  /** The secret of `advanceHandler`. */
  readonly secret: string
  /** The bearer token that the platform's cron sends. */
  readonly cronSecret: string
  /** Starts nothing after this time, which must be below the platform's limit. The next call continues. */
  readonly seconds?: number
}

export function cronRoute(crews: readonly Crew[], options: CronRouteOptions): (request: Request) => Promise<Response> {
  const { url, secret, cronSecret, seconds = 30 } = options
  const dispatcher = httpDispatcher({ url, secret })
  return async ({ headers }) => {
    if (headers.get('authorization') !== `Bearer ${cronSecret}`) return new Response(null, { status: 401 })
    const worker = await startWorker(crews, { dispatcher, once: true })
    const timer = setTimeout(() => worker.stop().catch(() => undefined), seconds * 1_000)
    await worker.done.finally(() => clearTimeout(timer))
    return new Response(null, { status: 204 })
  }
}
