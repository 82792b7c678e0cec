// What a worker counts, and how Prometheus reads it: the text format, version 0.0.4. Made from what the worker does.
import { defined } from '../../base/defined.ts'
import type { WorkerPartEvent } from './events.ts'

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export interface Metrics {
  hear(event: WorkerPartEvent): void
  text(): string
}

interface Metric {
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** By their labels, as they are printed. */
  readonly values: Map<string, number>
}

const names = {
  info: ['gauge', '1, with the name of the worker.'],
  runs_claimed_total: ['counter', 'Runs that were claimed.'],
  runs_left_total: ['counter', 'Runs that left this process, by what came of them.'],
  runs_refused_total: ['counter', 'Runs that could not be advanced, for a reason that their journals do not say.'],
  runs_in_progress: ['gauge', 'Runs that are being executed now.'],
  runs_in_progress_limit: ['gauge', 'How many runs may be executed at once.'],
  crew_runs_limit: ['gauge', 'How many runs of a crew may be executed at once, by all workers together.'],
  run_seconds_total: ['counter', 'Time for which runs were held.'],
  runs_woken_total: ['counter', 'How often the dispatcher was told that a run is ready.'],
  dispatcher_failures_total: ['counter', 'How often the dispatcher went away when it was told of a run.'],
  runs_scheduled_total: ['counter', 'Runs of schedules that were put into the queue.'],
  claims_total: ['counter', 'How often a store was asked for ready runs and answered.'],
  claim_failures_total: ['counter', 'How often a store went away when it was asked for ready runs.'],
  last_claim_timestamp_seconds: ['gauge', 'When a store last answered, in Unix time.'],
  stopping: ['gauge', '1 from the moment on at which the worker was told to stop.'],
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

  /** A counter that is not there until it counts hides its first increase. */
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
    hear(heard) {
      switch (heard.event) {
        case 'started':
          if (heard.name !== undefined) set('info', 1, { name: heard.name })
          set('runs_in_progress_limit', heard.concurrency)
          begin(heard.crews, heard.stores)
          for (const [crew, limit] of Object.entries(heard.maxRuns ?? {})) set('crew_runs_limit', limit, { crew })
          return
        case 'claimed':
          add('runs_claimed_total', { crew: heard.crew })
          add('runs_in_progress', { crew: heard.crew })
          return
        case 'left': {
          const { crew, outcome, seconds } = heard
          add('runs_left_total', { crew, outcome })
          add('run_seconds_total', { crew }, seconds)
          add('runs_in_progress', { crew }, -1)
          return
        }
        case 'refused':
          // without a crew, it was not begun
          add('runs_refused_total', defined({ crew: heard.crew }))
          if (heard.crew !== undefined) add('runs_in_progress', { crew: heard.crew }, -1)
          return
        case 'scheduled':
          add('runs_scheduled_total', { crew: heard.crew, schedule: heard.schedule })
          return
        case 'asked':
          add('claims_total', { store: heard.store })
          set('last_claim_timestamp_seconds', now().getTime() / 1_000, { store: heard.store })
          return
        case 'store-away':
          add('claim_failures_total', { store: heard.store })
          return
        case 'woken':
          add('runs_woken_total', { crew: heard.crew })
          return
        case 'dispatcher-away':
          add('dispatcher_failures_total', { dispatcher: heard.dispatcher })
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
