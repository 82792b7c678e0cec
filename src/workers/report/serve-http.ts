// Serves a worker's health and metrics over HTTP, for supervisors and Prometheus. Only on the loopback address by
// default, since the metrics name the crews.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import { currentMoment, type Moment } from '../../base/clock.ts'
import type { World } from '../../engine/definition.ts'
import type { WorkerPartEvent } from './events.ts'

interface ReportSource {
  health(): WorkerHealth
  metrics(): string
}

interface HttpReport extends AsyncDisposable {
  readonly url: string
}

/** Rejects with OPTION_INVALID if it cannot listen on this port. */
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
    const words = `cannot serve health and metrics on port ${port} of ${host}: ${messageOf(error)}; choose another port or host`
    throw new RepriseError('OPTION_INVALID', words, { cause: error })
  }
  const { address, port: actualPort, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const plain = 'text/plain; charset=utf-8'

export interface WorkerHealth {
  /** Display name of the worker. */
  readonly name?: string
  /** `away`: a store has not answered for 30 seconds. */
  readonly status: 'ok' | 'away' | 'stopping'
  readonly inProgress: number
  /** Stores that do not answer, with the start of the outage in ISO 8601. */
  readonly away: readonly { readonly store: string; readonly since: string }[]
}

interface HealthRecord {
  record(event: WorkerPartEvent): void
  read(inProgress: number): WorkerHealth
}

/** Shorter outages are not reported. */
const toleratedMs = 30_000

export function createHealth(clock: Pick<World, 'now' | 'monotonic'>): HealthRecord {
  const away = new Map<string, Moment>()
  let name: string | undefined
  let stopping = false
  return {
    record(event) {
      if (event.type === 'started') ({ name } = event)
      if (event.type === 'store-away') away.set(event.store, currentMoment(clock))
      if (event.type === 'store-polled') away.delete(event.store)
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

// The metrics of a worker in the text format of Prometheus, version 0.0.4.

const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

interface Metrics {
  record(event: WorkerPartEvent): void
  text(): string
}

interface Metric {
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** Values by labels, as they are printed. */
  readonly values: Map<string, number>
}

const metricTypes = {
  info: ['gauge', '1, with the name of the worker as a label.'],
  runs_claimed_total: ['counter', 'Claimed runs.'],
  runs_left_total: ['counter', 'Runs that left this process, by outcome.'],
  runs_refused_total: ['counter', 'Runs that could not be advanced for a reason outside their journals.'],
  runs_in_progress: ['gauge', 'Runs in progress.'],
  runs_in_progress_limit: ['gauge', 'Limit of runs in progress.'],
  crew_runs_limit: ['gauge', 'Limit of runs of a crew in progress, over all workers.'],
  run_seconds_total: ['counter', 'Seconds that runs spent in this process.'],
  runs_woken_total: ['counter', 'Wakes sent to the dispatcher.'],
  dispatcher_failures_total: ['counter', 'Times the dispatcher became unavailable.'],
  runs_scheduled_total: ['counter', 'Scheduled runs that were queued.'],
  claims_total: ['counter', 'Polls that a store answered.'],
  claim_failures_total: ['counter', 'Times a store became unavailable.'],
  last_claim_timestamp_seconds: ['gauge', 'When a store last answered, in Unix time.'],
  stopping: ['gauge', '1 once the worker is stopping.'],
} as const
type Name = keyof typeof metricTypes

export function createMetrics(now: () => Date): Metrics {
  const metrics = new Map<Name, Metric>()
  for (const [name, [type, help]] of Object.entries(metricTypes))
    metrics.set(name as Name, { type, help, values: new Map() })
  set('stopping', 0)

  function set(name: Name, value: number, labels: Labels = {}): void {
    metrics.get(name)?.values.set(labelText(labels), value)
  }
  function add(name: Name, labels: Labels = {}, by = 1): void {
    const values = metrics.get(name)?.values
    const key = labelText(labels)
    values?.set(key, (values.get(key) ?? 0) + by)
  }

  /** Starts counters at 0, so that their first increase shows. */
  function begin(crews: readonly string[], stores: readonly string[]): void {
    for (const crew of crews) {
      for (const name of ['runs_claimed_total', 'runs_in_progress', 'runs_refused_total', 'run_seconds_total'] as const)
        add(name, { crew }, 0)
      for (const outcome of ['completed', 'failed']) add('runs_left_total', { crew, outcome }, 0)
    }
    for (const store of stores) {
      for (const name of ['claims_total', 'claim_failures_total'] as const) add(name, { store }, 0)
    }
  }

  return {
    record(event) {
      switch (event.type) {
        case 'started':
          if (event.name !== undefined) set('info', 1, { name: event.name })
          set('runs_in_progress_limit', event.concurrency)
          begin(event.crews, event.stores)
          for (const [crew, limit] of Object.entries(event.maxRuns ?? {})) set('crew_runs_limit', limit, { crew })
          return
        case 'claimed':
          add('runs_claimed_total', { crew: event.crew })
          add('runs_in_progress', { crew: event.crew })
          return
        case 'left': {
          const { crew, outcome, seconds } = event
          add('runs_left_total', { crew, outcome })
          add('run_seconds_total', { crew }, seconds)
          add('runs_in_progress', { crew }, -1)
          return
        }
        case 'refused':
          // without a crew, the run was not started
          add('runs_refused_total', defined({ crew: event.crew }))
          if (event.crew !== undefined) add('runs_in_progress', { crew: event.crew }, -1)
          return
        case 'scheduled':
          add('runs_scheduled_total', { crew: event.crew, schedule: event.schedule })
          return
        case 'store-polled':
          add('claims_total', { store: event.store })
          set('last_claim_timestamp_seconds', now().getTime() / 1_000, { store: event.store })
          return
        case 'store-away':
          add('claim_failures_total', { store: event.store })
          return
        case 'woken':
          add('runs_woken_total', { crew: event.crew })
          return
        case 'dispatcher-away':
          add('dispatcher_failures_total', { dispatcher: event.dispatcher })
          return
        case 'stopping':
          set('stopping', 1)
          return
        case 'limited':
        case 'dispatcher':
        case 'dispatcher-back':
        case 'unscheduled':
        case 'store-back':
        case 'cut-off':
        case 'stopped':
          return
      }
    },
    text: () => [...metrics].map(([name, metric]) => metricText(`reprise_worker_${name}`, metric)).join(''),
  }
}

type Labels = { readonly [label: string]: string }

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function metricText(name: string, { type, help, values }: Metric): string {
  const lines = [...values].map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
