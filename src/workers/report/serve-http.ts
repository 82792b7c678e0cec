// Serves health and metrics over HTTP, for supervisors and Prometheus. Only on the loopback address by default, since
// they name the crews.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { metricsType } from './metrics.ts'
import { defined } from '../../base/defined.ts'
import { currentMoment, type Moment } from '../../engine/moment.ts'
import type { World } from '../../engine/definition.ts'
import type { WorkerPartEvent } from './events.ts'

interface ReportSource {
  health(): WorkerHealth
  metrics(): string
}

interface HttpReport extends AsyncDisposable {
  readonly url: string
}

/** OPTION_INVALID if it cannot listen on this port. */
export async function serveHttp(reports: ReportSource, host: string, port: number): Promise<HttpReport> {
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    const send = (status: number, type: string, text: string): void => {
      const length = Buffer.byteLength(text)
      response.writeHead(status, { 'content-type': type, 'content-length': length, 'cache-control': 'no-store' })
      response.end(request.method === 'HEAD' ? undefined : text)
    }
    if (path !== '/health' && path !== '/metrics')
      return send(404, plain, 'not found: this server has /health and /metrics\n')
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, plain, 'use GET\n')
    if (path === '/metrics') return send(200, metricsType, reports.metrics())
    const health = reports.health()
    send(health.status === 'ok' ? 200 : 503, 'application/json', `${JSON.stringify(health)}\n`)
  })
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const words = `cannot serve health and metrics on port ${port} of ${host}: ${messageOf(error)}; give another port or host`
    throw new RepriseError('OPTION_INVALID', words, { cause: error })
  }
  const { address, port: taken, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const plain = 'text/plain; charset=utf-8'

export interface WorkerHealth {
  /** Its display name. */
  readonly name?: string
  /** away: a store has not answered for 30 seconds. */
  readonly status: 'ok' | 'away' | 'stopping'
  readonly inProgress: number
  /** Stores that do not answer, with the start of the outage in ISO 8601. */
  readonly away: readonly { readonly store: string; readonly since: string }[]
}

interface HealthRecord {
  record(event: WorkerPartEvent): void
  read(inProgress: number): WorkerHealth
}

/** Shorter outages do not count. */
const toleratedMs = 30_000

export function createHealth(clock: Pick<World, 'now' | 'monotonic'>): HealthRecord {
  const away = new Map<string, Moment>()
  let name: string | undefined
  let stopping = false
  return {
    record(event) {
      if (event.type === 'started') ({ name } = event)
      if (event.type === 'store-away') away.set(event.store, currentMoment(clock))
      if (event.type === 'store-asked') away.delete(event.store)
      if (event.type === 'stopping') stopping = true
    },
    read(inProgress) {
      const long = [...away].filter(([, since]) => clock.monotonic() - since.monotonic >= toleratedMs)
      return {
        ...defined({ name }),
        status: stopping ? 'stopping' : long.length > 0 ? 'away' : 'ok',
        inProgress,
        away: long.map(([store, since]) => ({ store, since: new Date(since.day).toISOString() })),
      }
    },
  }
}
