import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHealth, serveHttp, createMetrics } from '../../src/workers/report/serve-http.ts'

const maxRuns = { claims: 2 }
const started = { type: 'started', crews: ['claims'], stores: ['memory:'], concurrency: 3, maxRuns } as const
const left = { type: 'left', runId: 'a', crew: 'claims', outcome: 'completed', seconds: 1.5 } as const

test('metrics of a worker are in the text format of Prometheus', () => {
  const metrics = createMetrics(() => new Date(5_000))
  for (const event of [
    started,
    { type: 'claimed', runId: 'a', crew: 'claims' } as const,
    { type: 'claimed', runId: 'b', crew: 'claims' } as const,
    left,
    { type: 'refused', runId: 'b', crew: 'claims', error: new Error('no') } as const,
    { type: 'refused', runId: 'c', error: new Error('no') } as const,
    { type: 'scheduled', runId: 'n@1', crew: 'claims', schedule: 'n', time: '' } as const,
    { type: 'store-polled', store: 'memory:' } as const,
    { type: 'stopping', inProgress: 0 } as const,
  ])
    metrics.record(event)
  const lines = metrics.text().split('\n')
  for (const line of [
    '# TYPE reprise_worker_runs_claimed_total counter',
    'reprise_worker_runs_claimed_total{crew="claims"} 2',
    'reprise_worker_runs_left_total{crew="claims",outcome="completed"} 1',
    'reprise_worker_runs_left_total{crew="claims",outcome="failed"} 0',
    'reprise_worker_runs_refused_total{crew="claims"} 1',
    'reprise_worker_runs_refused_total 1',
    '# TYPE reprise_worker_runs_in_progress gauge',
    'reprise_worker_runs_in_progress{crew="claims"} 0',
    'reprise_worker_runs_in_progress_limit 3',
    'reprise_worker_crew_runs_limit{crew="claims"} 2',
    'reprise_worker_run_seconds_total{crew="claims"} 1.5',
    'reprise_worker_runs_scheduled_total{crew="claims",schedule="n"} 1',
    'reprise_worker_claims_total{store="memory:"} 1',
    'reprise_worker_claim_failures_total{store="memory:"} 0',
    'reprise_worker_last_claim_timestamp_seconds{store="memory:"} 5',
    'reprise_worker_stopping 1',
  ])
    assert.ok(lines.includes(line), line)
})

test('every line of the metrics is valid for any name of a crew', () => {
  const metrics = createMetrics(() => new Date())
  metrics.record({ ...started, crews: ['a "quoted"\\ name\nof two lines'] })
  metrics.record({ type: 'store-polled', store: 'memory:' })
  const text = metrics.text()
  assert.ok(text.endsWith('\n'))
  for (const line of text.split('\n').slice(0, -1))
    assert.match(
      line,
      /^(# HELP [a-z_]+ \S.*|# TYPE [a-z_]+ (counter|gauge)|[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? -?[\d.e+]+)$/,
    )
  assert.ok(text.includes(String.raw`{crew="a \"quoted\"\\ name\nof two lines"} 0`))
})

test('a worker is healthy until it is stopped or a store has been away for half a minute', () => {
  let now = 0
  let day = 0
  const keeper = createHealth({ monotonic: () => now, now: () => new Date(day) })
  assert.equal(keeper.read(2).status, 'ok')
  keeper.record({ type: 'store-away', store: 'sqlite:runs.db', error: new Error('no') })
  now = 29_999
  // the clock is set
  day = 86_400_000
  assert.equal(keeper.read(2).status, 'ok')
  now = 30_000
  const away = [{ store: 'sqlite:runs.db', since: '1970-01-01T00:00:00.000Z' }]
  assert.deepEqual(keeper.read(2), { status: 'away', inProgress: 2, away })
  keeper.record({ type: 'store-polled', store: 'sqlite:runs.db' })
  assert.equal(keeper.read(2).status, 'ok')
  keeper.record({ type: 'stopping', inProgress: 2 })
  assert.equal(keeper.read(2).status, 'stopping')
})

test('a worker serves health and metrics on loopback, and nothing else', async () => {
  const health: { status: 'ok' | 'away'; inProgress: number; away: [] } = { status: 'ok', inProgress: 1, away: [] }
  await using server = await serveHttp({ health: () => health, metrics: () => 'x 1\n' }, '127.0.0.1', 0)
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  const ok = await fetch(`${server.url}/health`)
  assert.deepEqual([ok.status, await ok.json()], [200, health])
  health.status = 'away'
  assert.equal((await fetch(`${server.url}/health`)).status, 503)
  const metrics = await fetch(`${server.url}/metrics?x=1`)
  assert.equal(metrics.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.equal(await metrics.text(), 'x 1\n')
  assert.equal((await fetch(server.url)).status, 404)
  assert.equal((await fetch(`${server.url}/metrics`, { method: 'POST' })).status, 405)
  const port = Number(new URL(server.url).port)
  await assert.rejects(serveHttp({ health: () => health, metrics: () => '' }, '127.0.0.1', port), {
    code: 'OPTION_INVALID',
    message: new RegExp(`port ${port} of 127\\.0\\.0\\.1`),
  })
})
