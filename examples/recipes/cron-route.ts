// A route for the cron of a platform that has functions and no process that stays: has the other function called for
// every run that is ready, until none is.
import type { Crew } from 'reprise'
import { httpDispatcher } from 'reprise/http'
import { startWorker } from 'reprise/workers'

export interface CronRouteOptions {
  /** Where `advanceHandler` answers, and the secret of both. */
  readonly url: string
  readonly secret: string
  /** What the cron of the platform sends as a bearer. */
  readonly cronSecret: string
  /** When to begin nothing more: earlier than the platform ends this function. What is left, the next call does. */
  readonly seconds?: number
}

export function cronRoute(crews: readonly Crew[], options: CronRouteOptions): (request: Request) => Promise<Response> {
  const { url, secret, cronSecret, seconds = 30 } = options
  const dispatcher = httpDispatcher({ url, secret })
  return async ({ headers }) => {
    if (headers.get('authorization') !== `Bearer ${cronSecret}`) return new Response(null, { status: 401 })
    const worker = await startWorker(crews, { dispatcher, once: true })
    const enough = setTimeout(() => worker.stop().catch(() => undefined), seconds * 1_000)
    await worker.done.finally(() => clearTimeout(enough))
    return new Response(null, { status: 204 })
  }
}
