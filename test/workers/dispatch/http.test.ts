// Functions that are called over HTTP: `advanceHandler` behind a real server, and the dispatcher that calls it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { advanceHandler, httpDispatcher, type AdvanceHandlerOptions } from 'reprise/http'
import { memoryStore } from 'reprise/stores'
import { sign, signatureHeader } from '../../../src/workers/http/signature.ts'
import { claims, hearing, slow, workOnce } from '../worker-crews.ts'
import { startWorker } from 'reprise/workers'

const secret = 'a secret that is long enough'

interface Given {
  readonly body?: string
  readonly method?: string
  readonly header?: string
  readonly by?: string
  readonly at?: number
  readonly id?: string
}

async function request(runId: string, given: Given = {}): Promise<Request> {
  const body = given.body ?? JSON.stringify({ runId })
  const signed = await sign(given.by ?? secret, body, {
    id: given.id ?? crypto.randomUUID(),
    at: given.at ?? Date.now(),
  })
  const method = given.method ?? 'POST'
  const headers = { [signatureHeader]: given.header ?? signed }
  return new Request('http://127.0.0.1/advance', { method, headers, ...(method === 'POST' && { body }) })
}

interface Said {
  readonly status: number
  readonly body: { readonly status: string; readonly error?: { readonly code: string; readonly message: string } }
  readonly retryAfter: string | null
}

async function said(answer: Promise<Response> | Response): Promise<Said> {
  const response = await answer
  return {
    status: response.status,
    body: (await response.json()) as Said['body'],
    retryAfter: response.headers.get('retry-after'),
  }
}

/** Tasks of one step each. A slice ends after the first. */
function sliced(options: Partial<AdvanceHandlerOptions> = {}) {
  const done: string[] = []
  const take = (name: string): Promise<void> => wait(5).then(() => void done.push(name))
  const tasks = ['a', 'b', 'c'].map((name) => new Task({ name, effect: 'read', run: () => take(name) }))
  const crew = new Crew({ name: 'sliced', store: memoryStore(), tasks })
  return { crew, done, handler: advanceHandler({ crews: [crew], secret, sliceSeconds: 0.001, ...options }) }
}

test('a call advances a run by one slice and answers when to call again', async () => {
  const { crew, done, handler } = sliced()
  await crew.enqueue({ id: 'r' })
  const first = await said(handler(await request('r')))
  assert.deepEqual([first.status, first.body, first.retryAfter], [503, { runId: 'r', status: 'more' }, '0'])
  const answers = [first]
  while (answers.at(-1)?.status === 503) answers.push(await said(handler(await request('r'))))
  assert.deepEqual(answers.at(-1)?.body, { runId: 'r', status: 'completed' })
  assert.equal(answers.at(-1)?.status, 200)
  assert.deepEqual(done, ['a', 'b', 'c'])
})

test('a run records the call that claimed it, by the id in the signature', async () => {
  const { crew, handler } = sliced()
  await crew.enqueue({ id: 'r' })
  for (const id of ['call-1', 'call-2']) {
    await handler(await request('r', { id }))
    assert.deepEqual((await crew.run('r').view()).via, { dispatcher: 'http', id })
  }
})

test('with a dispatcher, the handler schedules the next slice there and answers 200', async () => {
  const told: string[] = []
  const dispatcher = { name: 'queue', wake: async ({ runId }: { runId: string }) => void told.push(runId) }
  const { crew, handler } = sliced({ dispatcher })
  await crew.enqueue({ id: 'r' })
  const { status, body } = await said(handler(await request('r')))
  assert.deepEqual([status, body.status, told], [200, 'more', ['r']])
  const broken = sliced({ dispatcher: { name: 'queue', wake: () => Promise.reject(new Error('down')) } })
  await broken.crew.enqueue({ id: 'r' })
  assert.equal(
    (await said(broken.handler(await request('r')))).status,
    503,
    'a dispatcher that cannot be reached leaves the retry to the caller',
  )
})

test('a call for a run held by another process is answered with a time to call again', async () => {
  const { crew, hasBegun, go } = slow(memoryStore())
  const handler = advanceHandler({ crews: [crew], secret })
  const kickedOff = crew.kickoff({ id: 'r', inputs: { notes: 'x' } })
  await hasBegun
  const { status, body, retryAfter } = await said(handler(await request('r')))
  assert.deepEqual([status, body.status, retryAfter], [503, 'held', '1'])
  go()
  await kickedOff
})

test('a call for an ended run is answered with 200, and for a run due later with 503 and the delay', async () => {
  const crew = claims(memoryStore())
  const handler = advanceHandler({ crews: [crew], secret })
  await crew.kickoff({ id: 'done', inputs: { notes: 'x' } })
  await crew.enqueue({ id: 'later', inputs: { notes: 'x' }, delay: 60 })
  assert.equal((await said(handler(await request('done')))).status, 200)
  const later = await said(handler(await request('later')))
  assert.deepEqual([later.status, later.body.status], [503, 'waiting'])
  assert.ok(Number(later.retryAfter) > 55 && Number(later.retryAfter) <= 60)
})

test('with waitUntil, the handler answers before the work is done', async () => {
  const { crew, hasBegun, go } = slow(memoryStore())
  const work: Promise<unknown>[] = []
  const handler = advanceHandler({ crews: [crew], secret, waitUntil: (one) => void work.push(one) })
  await crew.enqueue({ id: 'r', inputs: { notes: 'x' } })
  const { status, body } = await said(handler(await request('r')))
  assert.deepEqual([status, body], [202, { status: 'accepted' }])
  await hasBegun
  go()
  await Promise.all(work)
  assert.equal((await crew.run('r').view()).status, 'completed')
})

test('calls with a bad signature are refused before the body is parsed', async () => {
  const store = memoryStore()
  let opened = 0
  const crew = claims({ ...store, row: (run) => (opened++, store.row(run)) })
  const handler = advanceHandler({ crews: [crew], secret, maxAgeSeconds: 10 })
  const now = Date.now()
  const cases: readonly (readonly [Given, number, RegExp])[] = [
    [{ header: '' }, 401, /no header reprise-signature/],
    [{ header: 'v1=deadbeef' }, 401, /no header reprise-signature/],
    [{ by: 'another secret of some length' }, 401, /another secret, or was changed/],
    [{ at: now - 60_000 }, 401, /by the clock here, the call was signed 60 seconds ago \(at most 10 are allowed\)/],
    [{ at: now + 60_000 }, 401, /by the clock here, the call is dated (60|59) seconds in the future/],
    [{ method: 'GET' }, 405, /the method is GET; use POST/],
    [{ body: 'x'.repeat(70_000) }, 413, /larger than 65536 bytes/],
    [{ body: '{"run":"r"}' }, 400, /not \{ "runId"/],
    [{ body: 'null' }, 400, /not \{ "runId"/],
    [{ body: 'no json' }, 400, /not \{ "runId"/],
  ]
  for (const [given, status, message] of cases) {
    const refused = await said(handler(await request('r', given)))
    assert.equal(refused.status, status, JSON.stringify(given).slice(0, 80))
    assert.equal(refused.body.error?.code, 'CALL_REFUSED')
    assert.match(refused.body.error?.message ?? '', message)
  }
  assert.equal(opened, 0)
})

test('a body changed after signing is refused', async () => {
  const handler = advanceHandler({ crews: [claims(memoryStore())], secret })
  const signed = await request('r')
  const changed = new Request(signed.url, { method: 'POST', headers: signed.headers, body: '{"runId":"s"}' })
  assert.equal((await said(handler(changed))).status, 401)
})

test('a call answered with 200 is refused the second time, and a call answered with 503 is not', async () => {
  const { crew, handler } = sliced()
  await crew.enqueue({ id: 'r' })
  const same = { id: 'the-same', at: Date.now() }
  const statuses: number[] = []
  for (let time = 0; time < 6; time++) statuses.push((await said(handler(await request('r', same)))).status)
  assert.equal(statuses[0], 503)
  assert.deepEqual(statuses.slice(-2), [409, 409])
  assert.equal(statuses.filter((status) => status === 200).length, 1)
})

test('both secrets are accepted during a rotation', async () => {
  const crew = claims(memoryStore())
  await crew.kickoff({ id: 'done', inputs: { notes: 'x' } })
  const handler = advanceHandler({ crews: [crew], secret: ['the new secret, also long', secret] })
  assert.equal((await said(handler(await request('done')))).status, 200)
  assert.equal((await said(handler(await request('done', { by: 'the new secret, also long' })))).status, 200)
})

test('calls for missing runs and runs of other crews are refused by name', async () => {
  const store = memoryStore()
  const handler = advanceHandler({ crews: [claims(store)], secret })
  await slow(store).crew.enqueue({ id: 'other', inputs: { notes: 'x' } })
  const missing = await said(handler(await request('missing')))
  assert.deepEqual([missing.status, missing.body.error?.code], [404, 'RUN_NOT_FOUND'])
  const other = await said(handler(await request('other')))
  assert.equal(other.status, 404)
  assert.match(
    other.body.error?.message ?? '',
    /run other belongs to crew slow, version "", and this handler serves claims/,
  )
})

test('a call is answered with 503 while the store is away, and the next call opens it', async () => {
  const store = memoryStore()
  let away = true
  const { RepriseError } = await import('reprise')
  const crew = claims({
    ...store,
    async row(run) {
      if (away) throw new RepriseError('STORE_UNAVAILABLE', 'the store is away')
      return store.row(run)
    },
  })
  await claims(store).kickoff({ id: 'done', inputs: { notes: 'x' } })
  const handler = advanceHandler({ crews: [crew], secret })
  const refused = await said(handler(await request('done')))
  assert.deepEqual([refused.status, refused.retryAfter, refused.body.error?.code], [503, '5', 'STORE_UNAVAILABLE'])
  away = false
  assert.equal((await said(handler(await request('done')))).status, 200)
})

test('invalid options are refused with their value, except the secret', () => {
  const crews = [claims(memoryStore())]
  assert.throws(() => advanceHandler({ crews: [], secret }), {
    code: 'OPTION_INVALID',
    message: /crews of advanceHandler is/,
  })
  assert.throws(() => advanceHandler({ crews, secret: 'short' }), { code: 'OPTION_INVALID', message: /16 characters/ })
  assert.throws(() => advanceHandler({ crews, secret: [] }), { code: 'OPTION_INVALID' })
  assert.throws(() => advanceHandler({ crews, secret, until: 5 } as never), {
    code: 'OPTION_UNKNOWN',
    message: /until/,
  })
  assert.throws(() => httpDispatcher({ url: 'nowhere', secret }), {
    code: 'OPTION_INVALID',
    message: /url of httpDispatcher is "nowhere"/,
  })
  assert.throws(() => httpDispatcher({ url: 'https://me:hunter-two@example.com/', secret }), {
    code: 'OPTION_INVALID',
    message: /^url of httpDispatcher has a user name or password before example.com, which would not be sent/,
  })
})

/** Serves a handler on loopback. */
async function serve(handler: (request: Request) => Promise<Response>) {
  const server = createServer(async (incoming, outgoing) => {
    const chunks = await Array.fromAsync(incoming)
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
    const url = `http://127.0.0.1${incoming.url}`
    const answer = await handler(new Request(url, { method: 'POST', headers, body: Buffer.concat(chunks as Buffer[]) }))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/advance`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

test('a process without the crews wakes functions for every ready run, and ends with once', async () => {
  const { crew, done, handler } = sliced()
  await using functions = await serve(handler)
  for (const id of ['x', 'y']) await crew.enqueue({ id })
  const dispatcher = httpDispatcher({ url: functions.url, secret })
  const events = await workOnce([crew], { dispatcher, pollSeconds: 0.01 })
  assert.deepEqual(done.toSorted(), ['a', 'a', 'b', 'b', 'c', 'c'])
  assert.ok(!events.some(({ type }) => type === 'claimed'), 'nothing was executed in the process that calls')
  for (const id of ['x', 'y']) assert.equal((await crew.run(id).view()).status, 'completed')
})

test('an unreachable function, or one with another secret, is named, and nothing is lost', async () => {
  const { crew, handler } = sliced()
  await crew.enqueue({ id: 'r' })
  const away = httpDispatcher({ url: 'http://127.0.0.1:9/advance?token=hidden', secret })
  await assert.rejects(workOnce([crew], { dispatcher: away }), {
    code: 'DISPATCHER_FAILED',
    message: /^http:\/\/127\.0\.0\.1:9\/advance cannot be reached: .*(refused|bad port)/i,
  })
  await using functions = await serve(handler)
  const other = httpDispatcher({ url: functions.url, secret: 'not the secret of the handler' })
  await assert.rejects(workOnce([crew], { dispatcher: other }), {
    code: 'DISPATCHER_FAILED',
    message: /401: .*another secret/,
  })
  await workOnce([crew], { dispatcher: httpDispatcher({ url: functions.url, secret }), pollSeconds: 0.01 })
  assert.equal((await crew.run('r').view()).status, 'completed')
})

test('functions call themselves until a run has ended, without any worker', async () => {
  const done: string[] = []
  const tasks = ['a', 'b', 'c'].map((name) => new Task({ name, effect: 'read', run: () => void done.push(name) }))
  const ear = hearing()
  let handler: ReturnType<typeof advanceHandler> = () => Promise.reject(new Error('not there yet'))
  await using functions = await serve((given) => handler(given))
  const dispatcher = httpDispatcher({ url: functions.url, secret })
  const crew = new Crew({ name: 'chained', store: memoryStore(), tasks, dispatcher })
  const options = { crews: [crew], secret, sliceSeconds: 0.001, dispatcher, onEvent: ear.onEvent }
  handler = advanceHandler({ ...options, waitUntil: () => undefined })
  await crew.enqueue({ id: 'r' })
  await ear.until((event) => event.type === 'left' && event.outcome === 'completed')
  assert.deepEqual(done, ['a', 'b', 'c'])
})

test('a worker that only calls functions keeps calling while they are away, and reports it once', async () => {
  const { crew, handler } = sliced()
  let up = false
  await using functions = await serve(async (given) => (up ? handler(given) : new Response('no', { status: 401 })))
  const ear = hearing()
  const dispatcher = httpDispatcher({ url: functions.url, secret })
  await crew.enqueue({ id: 'r' })
  await using _ = await startWorker([crew], { dispatcher, pollSeconds: 0.05, onEvent: ear.onEvent })
  await ear.until(({ type }) => type === 'dispatcher-away')
  up = true
  await ear.until(({ type }) => type === 'dispatcher-back')
  assert.equal(ear.heard.filter(({ type }) => type === 'dispatcher-away').length, 1)
})
