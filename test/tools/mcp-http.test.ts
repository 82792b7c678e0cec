// MCP tools over HTTP, with real servers on loopback: aimock, and a scripted server.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { MCPMock } from '@copilotkit/aimock'
import { mcpTools } from 'reprise/mcp'
import { entriesOf } from '../engine/support.ts'
import { call, calling, event, httpStage, json, openHttp, until, type Asked } from './mcp-support.ts'

const said = (id: number | undefined, text: string): object => ({ id, result: { content: [{ type: 'text', text }] } })

test('a crew calls them, the journal has their effects, and close() ends the session', async () => {
  const mock = new MCPMock()
  const tools = [
    { name: 'find', description: 'Finds', annotations: { readOnlyHint: true } },
    { name: 'save', description: 'Saves', annotations: { idempotentHint: true } },
    { name: 'pay', description: 'Pays', annotations: { destructiveHint: true } },
  ]
  for (const tool of tools) {
    mock.addTool({ ...tool, inputSchema: { type: 'object', properties: {} } })
    mock.onToolCall(tool.name, () => `${tool.name} did it`)
  }
  const url = await mock.start()
  try {
    const mcp = await mcpTools({ url })
    const { crew, store, model } = calling(mcp.tools, ...tools.map(({ name }) => ({ tool: name, input: {} })))
    assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
    const called = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'tool.called')
    assert.deepEqual(
      called.map(({ tool, effect }) => `${tool} ${effect}`),
      ['find read', 'save idempotent', 'pay once'],
    )
    assert.match(model.calls.at(-1)?.conversation ?? '', /pay did it/)
    assert.equal(mock.getSessions().size, 1)
    await mcp.close()
    assert.equal(mock.getSessions().size, 0)
  } finally {
    await mock.stop()
  }
})

for (const modern of [false, true]) {
  const era = modern ? 'the version of 2026' : 'versions with a handshake'
  const extra = modern ? { resultType: 'complete' } : {}

  test(`takes answers as JSON and as a stream, with no socket left behind (${era})`, async () => {
    let count = 0
    await using stage = await httpStage(
      ({ id }, response) => {
        const result = { content: [{ type: 'text', text: `answer ${(count += 1)}` }], ...extra }
        if (count === 1) return json(response, { id, result })
        response.setHeader('content-type', 'text/event-stream')
        response.write(event({ method: 'notifications/message', params: {} }))
        response.end(event({ id, result }))
      },
      { modern },
    )
    const mcp = await mcpTools({ url: stage.url, headers: { 'x-team': 'claims' } })
    assert.equal(await call(mcp.tools, 'act'), 'answer 1')
    assert.equal(await call(mcp.tools, 'act'), 'answer 2')
    assert.ok(stage.headers.every((headers) => headers['x-team'] === 'claims'))
    assert.ok(!stage.seen.includes('GET'), 'no stream without a request')
    await mcp.close()
    await until(async () => (await stage.connections()) === 0, 'the end of all connections')
  })

  test(`a call that is given up is cancelled at the server (${era})`, async () => {
    const controller = new AbortController()
    let closed = false
    await using stage = await httpStage(
      (_asked, response) => {
        response.once('close', () => (closed = true))
        controller.abort(new Error('given up'))
      },
      { modern },
    )
    await using mcp = await mcpTools({ url: stage.url })
    await assert.rejects(call(mcp.tools, 'act', {}, controller.signal))
    await until(() => closed && stage.seen.includes('notifications/cancelled') !== modern, 'the end of the call')
    await mcp.close()
    assert.equal(stage.seen.includes('notifications/cancelled'), !modern, 'only where the protocol wants a notice')
    await until(async () => (await stage.connections()) === 0, 'the end of all connections')
  })
}

type Ending = (asked: Asked, response: ServerResponse) => unknown
const unknown: { readonly [claim: string]: Ending } = {
  'HTTP 500': (_asked, response) => response.writeHead(500).end('it broke'),
  'HTTP 504': (_asked, response) => response.writeHead(504).end(),
  'a connection that ends': (_asked, response) => response.destroy(),
  'an answer that is cut': (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"jsonrpc":', () => response.destroy())
  },
  "an answer that isn't a message": (_asked, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"hello":"world"}')
  },
  'a page instead of an answer': (_asked, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<p>hello')
  },
  'a stream that ends without the answer': (_asked, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.end(event({ method: 'notifications/message', params: {} }))
  },
  'a stream that is cut within the answer': ({ id }, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.write(event(said(id, 'done')).slice(0, -10), () => response.destroy())
  },
}
for (const [claim, end] of Object.entries(unknown)) {
  test(`the outcome after ${claim} is unknown, and the next call works`, async () => {
    let calls = 0
    await using stage = await httpStage((asked, response) =>
      (calls += 1) === 1 ? end(asked, response) : json(response, said(asked.id, 'fine')),
    )
    await using mcp = await mcpTools({ url: stage.url })
    await assert.rejects(call(mcp.tools, 'act'), {
      code: 'OUTCOME_UNKNOWN',
      message: /did not report how the call ended: /,
    })
    assert.equal(await call(mcp.tools, 'act'), 'fine')
    assert.equal(calls, 2)
  })
}

const refused: { readonly [claim: string]: Ending } = {
  'HTTP 401': (_asked, response) => response.writeHead(401).end('who are you'),
  'HTTP 429': (_asked, response) => response.writeHead(429).end(),
  'HTTP 400': (_asked, response) => response.writeHead(400).end('no session'),
  'an error of the protocol': ({ id }, response) => json(response, { id, error: { code: -32602, message: 'no' } }),
}
for (const [claim, end] of Object.entries(refused)) {
  test(`${claim} is an error for the model, also of a once tool`, async () => {
    await using stage = await httpStage(end)
    await using mcp = await mcpTools({ url: stage.url })
    const { crew, store } = calling(mcp.tools, { tool: 'act', input: {} })
    assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
    assert.ok((await entriesOf(store, 'r')).some((entry) => entry.type === 'tool.returned'))
  })
}

test('a server that is not there any more was surely not called', async () => {
  const stage = await httpStage(() => {})
  await using mcp = await mcpTools({ url: stage.url })
  await stage[Symbol.asyncDispose]()
  const error: unknown = await call(mcp.tools, 'act').catch((thrown: unknown) => thrown)
  assert.match(inspect(error), /Error: the MCP server at http:\/\/127\.0\.0\.1:\d+ was not called: .*ECONNREFUSED/)
})

test('a session that the server has forgotten is reopened, and the call made once', async () => {
  const made: unknown[] = []
  await using stage = await httpStage(
    ({ id }, response, request) => {
      made.push(request.headers['mcp-session-id'])
      json(response, said(id, 'fine'))
    },
    {
      before: ({ method }, response, request) => {
        if (method !== 'tools/call' || request.headers['mcp-session-id'] !== 'session-1') return
        // with an id left out, the SDK takes it for an answer of the tool
        response.statusCode = 404
        json(response, { error: { code: -32001, message: 'Session not found' } })
        return true
      },
    },
  )
  await using mcp = await mcpTools({ url: stage.url })
  assert.equal(await call(mcp.tools, 'act'), 'fine')
  assert.deepEqual(made, ['session-2'])
})

for (const status of [401, 500]) {
  test(`the error for HTTP ${status} at the start leaves out credentials, even if the server repeats them`, async () => {
    await using stage = await openHttp((_asked, response, request) =>
      response
        .writeHead(status)
        .end(`bad ${request.headers.authorization} ${String(request.headers['x-api-key'])} ${request.url}`),
    )
    const error: unknown = await mcpTools({
      url: `${stage.url}/path-4711-4711-4711?token=query-4711`,
      headers: { Authorization: 'Bearer head-4711', 'X-Api-Key': 'key-4711' },
    }).catch((thrown: unknown) => thrown)
    assert.match(
      inspect(error),
      new RegExp(`MCP server at http://127.0.0.1:\\d+ cannot be used: .*HTTP ${status}: bad `),
    )
    assert.match(inspect(error), /code: 'MCP_FAILED'/)
    assert.doesNotMatch(inspect(error, { depth: 9 }), /4711/)
    assert.ok(stage.headers.some((headers) => headers.authorization === 'Bearer head-4711'))
  })
}

test('no part of a credential is shown when the words of a server are cut', async () => {
  const key = 'Kq7vX2xpL9zRt4wBn8sYd3mHc6afJ1g'
  for (const before of [270, 290, 295]) {
    await using stage = await openHttp((_asked, response) =>
      response.writeHead(401).end(`${'.'.repeat(before)}${key} and ${Buffer.from(key).toString('base64')}`),
    )
    const opened = mcpTools({ url: stage.url, headers: { 'X-Api-Key': key } })
    const error: unknown = await opened.catch((thrown: unknown) => thrown)
    assert.match(inspect(error), /HTTP 401: \.\.\./)
    assert.doesNotMatch(inspect(error, { depth: 9 }), /Kq7v|S3E3/)
  }
})

test('credentials that a server repeats in a result are not in the journal', async () => {
  await using stage = await httpStage(({ id }, response, request) =>
    json(response, said(id, `you are ${request.headers.authorization}`)),
  )
  await using mcp = await mcpTools({ url: stage.url, headers: { Authorization: 'Bearer head-4711' } })
  const { crew, store } = calling(mcp.tools, { tool: 'act', input: {} })
  await crew.kickoff({ id: 'r' })
  const journal = JSON.stringify(await entriesOf(store, 'r'))
  assert.match(journal, /you are \[redacted\]/)
  assert.doesNotMatch(journal, /4711/)
})

test('refuses an address that is none', async () => {
  for (const url of ['localhost:80', 'ftp://example.com', 'http://'])
    await assert.rejects(mcpTools({ url }), { code: 'OPTION_INVALID', message: /url of mcpTools/ })
})

test('speaks to old servers over SSE; a stream that ends in the middle of a call leaves a doubt, and is opened again', async () => {
  const streams: ServerResponse[] = []
  await using stage = await openHttp(({ id, method, params }, response, request) => {
    if (request.method === 'GET') {
      streams.push(response)
      response.setHeader('content-type', 'text/event-stream')
      response.write('event: endpoint\ndata: /post\n\n')
      return
    }
    response.writeHead(202).end()
    const stream = streams.at(-1)
    const serverInfo = { name: 'old', version: '1' }
    const tools = [{ name: 'act', inputSchema: { type: 'object' } }]
    if (method === 'initialize')
      stream?.write(event({ id, result: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo } }))
    if (method === 'tools/list') stream?.write(event({ id, result: { tools } }))
    if (method === 'tools/call') {
      if (JSON.stringify(params?.arguments) === '{"end":true}') stream?.end()
      else if (JSON.stringify(params?.arguments) === '{}') stream?.write(event(said(id, 'fine')))
    }
  })
  const mcp = await mcpTools({ url: stage.url, type: 'sse' })
  assert.equal(await call(mcp.tools, 'act'), 'fine')
  await assert.rejects(call(mcp.tools, 'act', { end: true }), { code: 'OUTCOME_UNKNOWN', message: /its stream ended/ })
  assert.equal(await call(mcp.tools, 'act'), 'fine')
  assert.equal(streams.length, 2)
  await assert.rejects(call(mcp.tools, 'act', { wait: true }, AbortSignal.timeout(50)))
  await until(() => stage.seen.includes('notifications/cancelled'), 'the notice')
  await mcp.close()
  await until(async () => (await stage.connections()) === 0, 'the end of all connections')
})
