// MCP tools over stdio, with a real server in a process of its own: what they are, what they give, and how they fail.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { RepriseError } from 'reprise'
import { mcpTools, type McpOptions } from 'reprise/mcp'
import type { StdioServer } from '../../src/tools/mcp/mcp-server.ts'
import { entriesOf } from '../engine/support.ts'
import { call, calling, isGone, testServer, until } from './mcp-support.ts'

test('lists the tools of all pages, with effects from their annotations', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  assert.deepEqual(
    mcp.tools.map(({ name, effect }) => `${name} ${effect}`),
    [
      'look read',
      'put idempotent',
      'send once',
      'files_list once',
      'give once',
      'wait once',
      'die once',
      'refuse once',
    ],
  )
  const [look] = mcp.tools
  assert.equal(look?.description, 'Looks something up')
  assert.deepEqual(
    look.schema.json,
    { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    'the schema is as the server gave it: nothing is closed',
  )
})

test('a tool that is called like what every object has keeps its effect, whatever effects others are given', async () => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    using stage = testServer({ MCP_TOOL: name })
    await using mcp = await mcpTools({ ...stage.server, effects: { look: 'read' } })
    assert.equal(mcp.tools.find((tool) => tool.name === name)?.effect, 'once')
  }
  using stage = testServer({ MCP_TOOL: '__proto__' })
  await assert.rejects(mcpTools(stage.server), {
    code: 'CREW_INVALID',
    message: /"__proto__".*leave the tool out with only/,
  })
})

test('a crew calls them, and the journal has their effects', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  const calls = ['look', 'put', 'send'].map((tool) => ({ tool, input: { text: 'x' } }))
  const { crew, store, model } = calling(mcp.tools, ...calls)
  const result = await crew.kickoff({ id: 'r' })
  assert.equal(result.status, 'completed')
  const called = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'tool.called')
  assert.deepEqual(
    called.map(({ tool, effect }) => `${tool} ${effect}`),
    ['look read', 'put idempotent', 'send once'],
  )
  assert.match(model.calls.at(-1)?.conversation ?? '', /put: x[\s\S]*send: x/)
})

test('keeps the results of read tools for the run, where it is asked to: all of them, or those named', async () => {
  using stage = testServer()
  const input = { text: 'x' }
  const looks = (): number => stage.log().filter(({ params }) => params?.name === 'look').length
  for (const [cache, made] of [
    [false, 2],
    [true, 1],
    [['look'], 1],
  ] as const) {
    await using mcp = await mcpTools({ ...stage.server, cache })
    const before = looks()
    const { crew, store } = calling(mcp.tools, { tool: 'look', input }, { tool: 'put', input }, { tool: 'look', input })
    await crew.kickoff({ id: 'r' })
    assert.equal(looks() - before, made)
    const sources = (await entriesOf(store, 'r')).flatMap((entry) =>
      entry.type === 'tool.returned' ? entry.source : [],
    )
    assert.equal(sources.filter((source) => source === 'cached').length, 2 - made)
  }
  // what its server does not call read can be, by your own word
  await using own = await mcpTools({ ...stage.server, cache: ['give'], effects: { give: 'read' } })
  assert.deepEqual(
    own.tools.flatMap(({ name, cache }) => (cache ? name : [])),
    ['give'],
  )
})

test('takes only some, under a prefix, with effects of your own', async () => {
  using stage = testServer()
  await using mcp = await mcpTools({
    ...stage.server,
    only: ['look', 'send'],
    prefix: 'post_',
    effects: { send: 'idempotent', look: 'once' },
  })
  assert.deepEqual(
    mcp.tools.map(({ name, effect }) => `${name} ${effect}`),
    ['post_look once', 'post_send idempotent'],
  )
  assert.equal(await call(mcp.tools, 'post_send', { text: 'hello' }), 'send: hello')
})

const image = { type: 'image', data: Buffer.from('hello').toString('base64'), mimeType: 'image/png' }
const results: { readonly [claim: string]: readonly [object, unknown] } = {
  'one text is that text': [{ content: [{ type: 'text', text: 'a\u2028b' }] }, 'a\u2028b'],
  'structured content comes before the text': [
    { structuredContent: { sum: 3 }, content: [{ type: 'text', text: '{"sum":3}' }] },
    { sum: 3 },
  ],
  'binary content is described': [
    { content: [{ type: 'text', text: 'see' }, image] },
    [
      { type: 'text', text: 'see' },
      { ...image, data: '(5 bytes, left out)' },
    ],
  ],
  'a resource keeps its text and loses its bytes': [
    {
      content: [
        { type: 'resource', resource: { uri: 'file:///a', text: 'words' } },
        { type: 'resource', resource: { uri: 'file:///b', blob: 'aGVsbG8=' } },
      ],
    },
    [
      { type: 'resource', resource: { uri: 'file:///a', text: 'words' } },
      { type: 'resource', resource: { uri: 'file:///b', blob: '(5 bytes, left out)' } },
    ],
  ],
  'nothing is null': [{ content: [] }, null],
}

test('gives what the server answered as JSON', async (t) => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  for (const [claim, [result, expected]] of Object.entries(results)) {
    await t.test(claim, async () => {
      assert.deepEqual(await call(mcp.tools, 'give', { result } as never), expected)
    })
  }
})

test('images reach the model as images, beside what stands with them, and the result has only their size', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  const text = { type: 'text', text: 'see' }
  const sound = { type: 'audio', data: 'aGVsbG8=', mimeType: 'audio/wav' }
  const picture = { type: 'resource', resource: { uri: 'file:///c', blob: 'aGVsbG8=', mimeType: 'image/gif' } }
  const { crew, store } = calling(
    mcp.tools,
    { tool: 'give', input: { result: { content: [text, image, sound, picture] } } },
    { tool: 'give', input: { result: { structuredContent: { width: 1 }, content: [image] } } },
  )
  assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
  const outcomes = (await entriesOf(store, 'r')).flatMap((entry) =>
    entry.type === 'tool.returned' ? [entry.outcome] : [],
  )
  const file = { type: 'file', mediaType: image.mimeType, base64: image.data }
  const left = { ...sound, data: '(5 bytes, left out)' }
  const [first, second] = outcomes.map((outcome) => ('sent' in outcome ? outcome.sent : undefined))
  assert.deepEqual(first, {
    type: 'parts',
    parts: [text, file, { type: 'text', text: JSON.stringify(left) }, { ...file, mediaType: 'image/gif' }],
  })
  assert.deepEqual(second, { type: 'parts', parts: [{ type: 'text', text: '{"width":1}' }, file] })
  assert.deepEqual(outcomes[1], { result: { width: 1 }, sent: second })
})

test('an error of the tool or of the protocol goes to the model', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  const failed = { isError: true, content: [{ type: 'text', text: 'the disk is full' }] }
  const { crew, store } = calling(
    mcp.tools,
    { tool: 'give', input: { result: failed } },
    { tool: 'refuse', input: {} },
    { tool: 'send', input: [] },
  )
  assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
  const outcomes = (await entriesOf(store, 'r')).flatMap((entry) =>
    entry.type === 'tool.returned' ? [entry.outcome] : [],
  )
  assert.deepEqual(
    new Set(outcomes.map((outcome) => ('error' in outcome ? outcome.error : outcome))),
    new Set([
      'the disk is full',
      'the text is too long',
      'the input of send is not valid: Invalid input: expected object, received a list',
    ]),
  )
})

test('a server that dies in the middle of a once call leaves a doubt, and the next call starts it again', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  const { crew, store } = calling(mcp.tools, { tool: 'die', input: {} })
  const result = await crew.kickoff({ id: 'r' })
  assert.equal(result.status, 'suspended')
  assert.equal(result.questions[0]?.kind, 'doubt')
  assert.match(result.questions[0]?.text ?? '', /Did die\(\{\}\) happen\?.*its process ended with code 7/)
  const types = (await entriesOf(store, 'r')).map((entry) => entry.type)
  assert.deepEqual(types.slice(3), ['tool.called', 'tool.abandoned', 'question.asked', 'run.suspended'])
  assert.equal(await call(mcp.tools, 'send', { text: 'again' }), 'send: again')
  assert.equal(stage.log().filter((line) => line.started).length, 2)
})

test('a server that dies in the middle of a read is an error for the model', async () => {
  using stage = testServer()
  await using mcp = await mcpTools({ ...stage.server, effects: { die: 'read' } })
  const { crew, store } = calling(mcp.tools, { tool: 'die', input: {} })
  assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
  const returned = (await entriesOf(store, 'r')).find((entry) => entry.type === 'tool.returned')
  assert.match(inspect(returned), /error: .*its process ended with code 7/)
})

const garbage: { readonly [what: string]: object } = {
  'neither result nor error': {},
  "a result that isn't an object": { result: 5 },
  "content that isn't a list": { result: { content: 'words' } },
}
for (const [what, answer] of Object.entries(garbage)) {
  test(`the outcome is unknown when the answer is ${what}`, async () => {
    using stage = testServer()
    await using mcp = await mcpTools(stage.server)
    await assert.rejects(call(mcp.tools, 'give', answer as never), { code: 'OUTCOME_UNKNOWN' })
    assert.equal(await call(mcp.tools, 'send', { text: 'on' }), 'send: on')
    assert.equal(stage.log().filter((line) => line.started).length, 1, 'the server was not started again for that')
  })
}

test('a call that takes too long is cancelled at the server and in doubt', async () => {
  using stage = testServer()
  await using mcp = await mcpTools({ ...stage.server, maxSeconds: 0.3 })
  const { crew } = calling(mcp.tools, { tool: 'wait', input: {} })
  const result = await crew.kickoff()
  assert.match(result.questions[0]?.text ?? '', /did not end within 0\.3 s/)
  await until(() => stage.log().some((line) => line.method === 'notifications/cancelled'), 'the notice')
  assert.equal(typeof stage.log().at(-1)?.params?.requestId, 'number')
})

test('what has ended is not cancelled', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  const controller = new AbortController()
  await call(mcp.tools, 'send', { text: 'a' }, controller.signal)
  controller.abort()
  await call(mcp.tools, 'send', { text: 'b' })
  assert.ok(stage.log().every((line) => line.method !== 'notifications/cancelled'))
})

test('a call that was given up before the server was back is not made', async () => {
  using stage = testServer()
  await using mcp = await mcpTools(stage.server)
  await assert.rejects(call(mcp.tools, 'die'))
  const controller = new AbortController()
  const late = call(mcp.tools, 'send', { text: 'late' }, controller.signal)
  controller.abort(new Error('given up'))
  await assert.rejects(late, /given up/)
  assert.equal(stage.log().filter((line) => line.params?.name === 'send').length, 0)
})

test('no credential of env or args reaches a result, an error or a journal', async () => {
  using stage = testServer({ SERVICE_TOKEN: 'tok-4711', DATABASE: 'postgres://ada:hunter22@db/x', FOLDER: '/data' })
  await using mcp = await mcpTools({
    ...stage.server,
    args: [...(stage.server.args ?? []), '--api-key', 'arg-4711', '--password=arg-4712'],
  })
  const said = 'tok-4711 hunter22 arg-4711 arg-4712 /data'
  const clean = '[redacted] [redacted] [redacted] [redacted] /data'
  assert.equal(await call(mcp.tools, 'send', { text: said }), `send: ${clean}`)
  assert.deepEqual(await call(mcp.tools, 'give', { result: { content: [], structuredContent: { [said]: [said] } } }), {
    [clean]: [clean],
  })
  await assert.rejects(call(mcp.tools, 'give', { error: { code: 1, message: said } }), { message: clean })
  const broken: unknown = await mcpTools({
    ...stage.server,
    env: { ...stage.server.env, MCP_MODE: 'broken' },
  }).catch((error: unknown) => error)
  assert.match(inspect(broken), /its stderr ends with: cannot start with token \[redacted\]/)
  assert.doesNotMatch(inspect(broken, { depth: 9 }), /tok-4711/)
})

test("the server sees nothing of this process's environment but what finds commands", async () => {
  using stage = testServer()
  process.env['REPRISE_TEST_SECRET'] = 'sesame'
  try {
    await using mcp = await mcpTools({
      ...stage.server,
      command: '/bin/sh',
      args: ['-c', "env | sed 's/=.*//' >&2; exit 1"],
    }).catch((error: unknown) => {
      assert.match((error as Error).message, /\nPATH\n/)
      assert.doesNotMatch((error as Error).message, /REPRISE_TEST/)
      return { close: async () => {}, [Symbol.asyncDispose]: async () => {} }
    })
    await mcp.close()
  } finally {
    delete process.env['REPRISE_TEST_SECRET']
  }
})

const refusals: { readonly [claim: string]: readonly [Partial<StdioServer & McpOptions>, string, RegExp] } = {
  'a command that is not there': [{ command: 'no-such-command' }, 'MCP_FAILED', /ENOENT; is the command installed\?/],
  'a folder that is not there': [{ cwd: '/no/such/folder' }, 'MCP_FAILED', /is cwd a folder\?/],
  'a server that ends': [
    { env: { MCP_MODE: 'broken' } },
    'MCP_FAILED',
    /^the MCP server node mcp-server\.ts cannot be used: its process ended with code 3; its stderr ends with: cannot start/,
  ],
  'a server that says nothing': [
    { env: { MCP_MODE: 'mute' }, connectSeconds: 0.5 },
    'MCP_FAILED',
    /did not answer within 0\.5 s/,
  ],
  "a program that isn't a server": [
    { command: 'echo', args: ['hello'] },
    'MCP_FAILED',
    /the MCP server echo cannot be used: its process ended with code 0/,
  ],
  'a name of only that is not there': [{ only: ['sned'] }, 'OPTION_INVALID', /only names sned.*did you mean send\?/],
  'a name of effects that is not there': [{ effects: { sand: 'read' } }, 'OPTION_INVALID', /effects names sand/],
  'an effect that is none': [{ effects: { send: 'never' as never } }, 'OPTION_INVALID', /effects\.send .*"never"/],
  'a name of cache that is not there': [{ cache: ['lock'] }, 'OPTION_INVALID', /cache names lock, .*did you mean look/],
  'a cached tool that is not read': [
    { cache: ['send'] },
    'CREW_INVALID',
    /cache names send of .*, whose effect is 'once'/,
  ],
  'a cache that is none': [{ cache: 'look' as never }, 'OPTION_INVALID', /cache of mcpTools is "look"/],
  'a prefix that makes a name too long': [
    { prefix: 'x'.repeat(63) },
    'CREW_INVALID',
    /at most 64 letters, digits, _ and -: shorten prefix/,
  ],
  'a variable that is not set': [{ env: { TOKEN: undefined as never } }, 'OPTION_INVALID', /env\.TOKEN.*undefined/],
  'an option that is not there': [{ arg: [] } as never, 'OPTION_UNKNOWN', /did you mean args\?/],
  'an option of the other kind': [{ headers: {} } as never, 'OPTION_UNKNOWN', /with command has no option "headers"/],
}
for (const [claim, [options, code, message]] of Object.entries(refusals)) {
  test(`refuses ${claim} with a word about it, and leaves no process`, async () => {
    using stage = testServer()
    const env = options.env ? { ...stage.server.env, ...options.env } : stage.server.env
    const error: unknown = await mcpTools({ ...stage.server, ...options, env }).then(
      (mcp) => mcp.close(),
      (thrown: unknown) => thrown,
    )
    assert.ok(RepriseError.isInstance(error), inspect(error))
    assert.equal(error.code, code)
    assert.match(error.message, message)
    assert.ok(stage.log().every((line) => isGone(line.pid)))
  })
}

test('refuses calls behind close()', async () => {
  using stage = testServer()
  const mcp = await mcpTools(stage.server)
  await mcp.close()
  await mcp.close()
  await assert.rejects(call(mcp.tools, 'send', { text: 'x' }), /was closed/)
  assert.equal(stage.log().filter((line) => line.started).length, 1)
})

test('says what to install when the client is not there', () => {
  const code = `
import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) { return next(name === '@ai-sdk/mcp' ? '@ai-sdk/not-installed' : name, context) } })
const { mcpTools } = await import('reprise/mcp')
await mcpTools({ url: 'http://127.0.0.1:9/' }).catch((error) => console.log(error.code, error.message))`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=reprise-source', '--input-type=module', '-e', code],
    { encoding: 'utf8' },
  )
  assert.match(stdout, /^CREW_INVALID .*npm install @ai-sdk\/mcp\n$/, stderr)
})

test('calls a server whose streams keep no process alive and cannot be told to, as in Bun', () => {
  using stage = testServer()
  const code = `
import { Socket } from 'node:net'
Object.assign(Socket.prototype, { ref: undefined, unref: undefined })
const { mcpTools } = await import('reprise/mcp')
const mcp = await mcpTools(${JSON.stringify(stage.server)})
const look = mcp.tools.find((tool) => tool.name === 'look')
console.log(JSON.stringify(await look.run({ text: 'a' }, { signal: new AbortController().signal })))
await mcp.close()
process.exit()`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=reprise-source', '--input-type=module', '-e', code],
    { encoding: 'utf8' },
  )
  assert.match(stdout, /a is known to \d+/, stderr)
})
