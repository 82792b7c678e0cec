import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock } from '../../src/base/clock.ts'
import { RepriseError } from '../../src/base/errors.ts'
import { callModel, backoff, retryAfter } from '../../src/models/call-model.ts'
import { isModelFailure } from '../../src/models/model-failure.ts'
import { chatReply, environmentOf, openMock, openServer, requestOf, sendJson } from './support.ts'

test('a call is retried after a 429, after the wait that the server requests', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.on({ userMessage: 'hello', sequenceIndex: 0 }, { error: { message: 'slow down' }, status: 429, retryAfter: 7 })
  mock.onMessage('hello', { content: 'Hi.' })
  const request = requestOf()
  const reply = await callModel(request)
  assert.deepEqual(reply.parts, [{ type: 'text', text: 'Hi.' }])
  assert.deepEqual(request.waits, [7000])
  assert.deepEqual(reply.tries, [{ at: '2030-01-01T00:00:00.000Z', error: 'HTTP 429: slow down' }])
})

test('a failed try is recorded, and the wait grows', async () => {
  await using server = await openServer((response, count) =>
    count < 3
      ? sendJson(response, 500, { error: { message: `broken ${count}` } })
      : sendJson(response, 200, chatReply({ content: 'Hi.' })),
  )
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const request = requestOf()
  const reply = await callModel(request)
  assert.deepEqual(
    reply.tries.map(({ error }) => error),
    ['HTTP 500: broken 1', 'HTTP 500: broken 2'],
  )
  assert.deepEqual(request.waits, [1000, 2000])
})

test("a call fails after the last try, with the model, the status and the server's message", async () => {
  await using server = await openServer((response) => sendJson(response, 503, { error: { message: 'out of order' } }))
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const error = await rejection(callModel(requestOf({ maxRetries: 1 })))
  assert.ok(isModelFailure(error))
  assert.equal(error.message, 'model openai/gpt-test failed after 2 tries: HTTP 503: out of order')
  assert.equal(error.tries.length, 2)
  assert.equal(error.startedAt, '2030-01-01T00:00:00.000Z')
})

test('a 401 is not retried, and the error names the variable of the key without the key', async () => {
  const key = 'secret-value-1234'
  await using server = await openServer((response) =>
    sendJson(response, 401, { error: { message: `Incorrect API key provided: ${key} or sk-abcdefghij****` } }),
  )
  using _ = environmentOf({ OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url })
  const error = await rejection(callModel(requestOf()))
  assert.equal(server.received.length, 1)
  assert.equal(server.received[0]?.headers.authorization, `Bearer ${key}`)
  assert.match(
    error.message,
    /HTTP 401: Incorrect API key provided: \[redacted\] or \[redacted\]; check OPENAI_API_KEY$/,
  )
  const printed = `${error.stack} ${String((error.cause as Error).stack)} ${JSON.stringify(error)}`
  assert.ok(!printed.includes(key) && !printed.includes('abcdefghij'))
})

test('a server that requests a wait of more than a minute fails the call, with that time', async () => {
  await using server = await openServer((response) =>
    sendJson(response, 429, { error: { message: 'daily limit' } }, { 'retry-after': '120' }),
  )
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const request = requestOf()
  const error = await rejection(callModel(request))
  assert.equal(server.received.length, 1)
  assert.deepEqual(request.waits, [])
  assert.match(error.message, /HTTP 429: daily limit; the server asks to wait 120 s/)
})

test("a reply that isn't JSON is retried", async () => {
  await using server = await openServer((response, count) => {
    if (count > 1) return sendJson(response, 200, chatReply({ content: 'Hi.' }))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"choices": [')
  })
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const reply = await callModel(requestOf())
  assert.match(reply.tries[0]?.error ?? '', /^HTTP 200 with a reply that cannot be read .*\{"choices": \[/)
})

test('a cut connection is retried', async () => {
  await using server = await openServer((response, count) =>
    count === 1 ? void response.socket?.destroy() : sendJson(response, 200, chatReply({ content: 'Hi.' })),
  )
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const reply = await callModel(requestOf())
  assert.match(reply.tries[0]?.error ?? '', /^Cannot connect to API/)
})

test('a try has its own time limit, which the error names', async () => {
  await using server = await openServer(() => undefined)
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const error = await rejection(callModel(requestOf({ settings: { timeoutSeconds: 0.05 }, maxRetries: 1 })))
  // on a busy machine the time of a try may be up before the server has heard of it
  assert.ok(server.received.length <= 2)
  assert.match(error.message, /after 2 tries: no reply within 0\.05 s, the timeout of one try/)
})

test('an aborted signal stops a call at once with its reason', async () => {
  await using server = await openServer(() => undefined)
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const controller = new AbortController()
  const arrival = server.arrival()
  const call = rejection(callModel(requestOf({ signal: controller.signal })))
  await Promise.race([arrival, call])
  const reason = new Error('cancelled by Ada')
  controller.abort(reason)
  assert.equal(await call, reason)
  assert.equal(server.received.length, 1)
})

test('an aborted signal stops the wait for the next try', async () => {
  await using server = await openServer((response) => sendJson(response, 500, { error: { message: 'broken' } }))
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const controller = new AbortController()
  const reason = new Error('cancelled by Ada')
  // chance is asked for right before the wait
  const random = (): number => {
    setImmediate(() => controller.abort(reason))
    return 1
  }
  assert.equal(
    await rejection(callModel(requestOf({ signal: controller.signal, clock: { ...realClock, random } }))),
    reason,
  )
  assert.equal(server.received.length, 1)
})

test('a call whose signal has aborted before sends nothing', async () => {
  await using server = await openServer(() => undefined)
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const reason = new Error('too late')
  assert.equal(await rejection(callModel(requestOf({ signal: AbortSignal.abort(reason) }))), reason)
  assert.equal(server.received.length, 0)
})

test('a long message of a server is shortened', async () => {
  await using server = await openServer((response) =>
    sendJson(response, 400, { error: { message: 'long '.repeat(500) } }),
  )
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const error = await rejection(callModel(requestOf()))
  assert.equal(error.message.length < 400, true)
  assert.equal(server.received.length, 1)
})

test('Retry-After is read as milliseconds, seconds or a date', () => {
  const now = Date.UTC(2030, 0, 1)
  const asked = (responseHeaders: Record<string, string>) => retryAfter({ responseHeaders }, now)
  assert.equal(asked({ 'retry-after-ms': '250', 'retry-after': '9' }), 250)
  assert.equal(asked({ 'retry-after': '9' }), 9000)
  assert.equal(asked({ 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT' }), 30_000)
  // by the clock of the server, where it says what that shows
  const date = 'Tue, 01 Jan 2030 06:00:00 GMT'
  assert.equal(asked({ 'retry-after': 'Tue, 01 Jan 2030 06:00:10 GMT', date }), 10_000)
  assert.equal(asked({ 'retry-after': 'soon' }), undefined)
  assert.equal(asked({}), undefined)
})

test('the wait doubles up to half a minute, its second half random', () => {
  assert.deepEqual([backoff(1, 0), backoff(1, 1), backoff(3, 0.5), backoff(20, 1)], [500, 1000, 3000, 30_000])
})

async function rejection(promise: Promise<unknown>): Promise<RepriseError> {
  return promise.then(
    () => assert.fail('it did not reject'),
    (error: unknown) => error as RepriseError,
  )
}
