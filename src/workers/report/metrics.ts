// The metrics of a worker in the text format of Prometheus, version 0.0.4.
import { defined } from '../../base/defined.ts'
import type { WorkerPartEvent } from './events.ts'

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export interface Metrics {
  record(event: WorkerPartEvent): void
  text(): string
}

interface Metric {
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** By printed labels. */
  readonly values: Map<string, number>
}

const names = {
  info: ['gauge', '1, with the name of the worker as a label.'],
  runs_claimed_total: ['counter', 'Claimed runs.'],
  runs_left_total: ['counter', 'Runs that left this process, by outcome.'],
  runs_refused_total: ['counter', 'Runs that could not be advanced for a reason outside their journals.'],
  runs_in_progress: ['gauge', 'Runs in progress.'],
  runs_in_progress_limit: ['gauge', 'Limit of runs in progress.'],
  crew_runs_limit: ['gauge', 'Limit of runs of a crew in progress, over all workers.'],
  run_seconds_total: ['counter', 'Seconds for which runs were held.'],
  runs_woken_total: ['counter', 'Wakes sent to the dispatcher.'],
  dispatcher_failures_total: ['counter', 'Times the dispatcher became unavailable.'],
  runs_scheduled_total: ['counter', 'Scheduled runs that were queued.'],
  claims_total: ['counter', 'Polls that a store answered.'],
  claim_failures_total: ['counter', 'Times a store became unavailable.'],
  last_claim_timestamp_seconds: ['gauge', 'When a store last answered, in Unix time.'],
  stopping: ['gauge', '1 once the worker is stopping.'],
} as const
type Name = keyof typeof names

export function createMetrics(now: () => Date): Metrics {
  const metrics = new Map<Name, Metric>()
  for (const [name, [type, help]] of Object.entries(names)) metrics.set(name as Name, { type, help, values: new Map() })
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
        case 'store-asked':
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
