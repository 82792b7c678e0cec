// The result of a model call is the same with and without a listener: tested over the wire, both ways, with the same
// server.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import type { FixtureResponse, LLMock } from '@copilotkit/aimock'
import { callModel, type ModelListener, type ModelRequest } from '../../src/models/call-model.ts'
import { isModelFailure } from '../../src/models/model-failure.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { chatReply, environmentOf, lookup, openMock, openServer, requestOf, sendJson } from './support.ts'

describe('a call has the same result streamed and in one piece', () => {
  const replies: { readonly [what: string]: { response: FixtureResponse; fields?: Partial<ModelRequest> } } = {
    'text, usage and model': {
      response: {
        content: 'Once upon a time there was a claim.',
        model: 'gpt-test-2030-01-01',
        usage: { prompt_tokens: 11, completion_tokens: 9 },
      },
    },
    'tool calls beside a text': {
      response: {
        content: 'I look both up.',
        toolCalls: [
          { id: 'a', name: 'lookup', arguments: '{"number":"P-1"}' },
          { id: 'b', name: 'lookup', arguments: '{"number":"P-2"}' },
        ],
      },
      fields: { tools: [lookup] },
    },
    'a call whose arguments are broken JSON': {
      response: { toolCalls: [{ id: 'a', name: 'lookup', arguments: '{"number":' }] },
      fields: { tools: [lookup] },
    },
    'a call of a tool that does not exist': {
      response: { toolCalls: [{ id: 'a', name: 'destroy', arguments: '{}' }] },
      fields: { tools: [lookup] },
    },
    'a call that the model must not make': {
      response: { toolCalls: [{ id: 'a', name: 'lookup', arguments: '{"number":"P-1"}' }] },
      fields: { tools: [lookup], toolChoice: 'none' },
    },
    'reasoning before the answer': { response: { content: 'Forty-two.', reasoning: 'Six times seven, in my head.' } },
    'an answer that does not fit its schema': {
      response: { content: 'not JSON at all' },
      fields: { output: lookup.schema },
    },
    'an answer that was too long': { response: { content: 'Once upon a', finishReason: 'length' } },
  }

  for (const [what, { response, fields }] of Object.entries(replies)) {
    test(`with ${what}`, async () => {
      const { whole, streamed } = await bothWays((mock) => mock.onMessage('hello', response), fields)
      assert.ok('parts' in whole.outcome, JSON.stringify(whole.outcome))
      assert.deepEqual(streamed.outcome, whole.outcome)
      assert.deepEqual([whole.streams, streamed.streams], [[false], [true]])
    })
  }

  test('with a 429 that says how long to wait, and then a reply', async () => {
    const { whole, streamed } = await bothWays((mock) => {
      const slowDown = { error: { message: 'slow down' }, status: 429, retryAfter: 7 }
      mock.on({ userMessage: 'hello', sequenceIndex: 0 }, slowDown)
      mock.onMessage('hello', { content: 'Hi.' })
    })
    assert.deepEqual(streamed.waits, [7000])
    assert.deepEqual([streamed.outcome, streamed.waits], [whole.outcome, whole.waits])
  })

  test('with a 500 each time', async () => {
    const { whole, streamed } = await bothWays((mock) =>
      mock.onMessage('hello', { error: { message: 'broken' }, status: 500 }),
    )
    assert.match(JSON.stringify(streamed.outcome), /failed after 3 tries: HTTP 500: broken/)
    assert.deepEqual([streamed.outcome, streamed.waits], [whole.outcome, whole.waits])
  })

  test('with a connection that breaks in the middle, and then a reply', async () => {
    const { whole, streamed, heard } = await bothWaysServed((response, count, stream) => {
      if (count > 1) return stream ? sendStream(response, ['Hi', '.']) : sendJson(response, 200, said('Hi.'))
      const begun = stream ? streamOf(['Once']).slice(0, 2).join('') : '{"choices":['
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
      response.write(begun, () => setImmediate(() => response.socket?.destroy()))
    })
    assert.match(JSON.stringify(streamed.outcome), /HTTP 200 with a reply that cannot be read/)
    assert.deepEqual([streamed.outcome, streamed.waits], [whole.outcome, whole.waits])
    assert.deepEqual(heard, ['Once', reset, 'Hi', '.'])
  })

  test('with a reply that stalls until its time is up', async () => {
    const { whole, streamed, heard } = await bothWaysServed(
      (response, _count, stream) => {
        response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
        response.write(stream ? streamOf(['Once']).slice(0, 2).join('') : '{"choices":[')
      },
      { settings: { timeoutSeconds: 0.5 }, maxRetries: 0 },
    )
    assert.match(JSON.stringify(streamed.outcome), /no reply within 0\.5 s/)
    assert.deepEqual(streamed.outcome, whole.outcome)
    assert.deepEqual(heard, ['Once', reset])
  })

  test('with a refusal after an answer, which a server sends as two texts', async () => {
    const message = { content: 'The policy is P-1. ', refusal: 'I say no more.' }
    const { whole, streamed } = await bothWaysServed((response, _count, stream) =>
      stream
        ? sendEvents(response, [chunk({ content: message.content }), chunk({ refusal: message.refusal }), ...stopping])
        : sendJson(response, 200, chatReply(message)),
    )
    assert.ok('parts' in streamed.outcome)
    assert.deepEqual(streamed.outcome.parts, [{ type: 'text', text: 'The policy is P-1. I say no more.' }])
    assert.deepEqual(streamed.outcome, whole.outcome)
  })

  test('with the responses API of OpenAI: encrypted thoughts, a remark and a call', async () => {
    const model = (url: string) => createOpenAI({ apiKey: 'k', baseURL: url })('gpt-5-mini')
    const { whole, streamed, heard } = await bothWaysServed(
      (response, _count, stream) =>
        stream ? sendEvents(response, responsesEvents()) : sendJson(response, 200, responsesBody),
      { tools: [lookup] },
      model,
    )
    assert.ok('parts' in whole.outcome, JSON.stringify(whole.outcome))
    assert.deepEqual(streamed.outcome, whole.outcome)
    assert.deepEqual(heard, ['<First.>', '<Then.>', '<Let me >', '<see.>'])
  })
})

describe('a listener of a model call', () => {
  test('receives thoughts and texts apart, piece by piece', async () => {
    const { heard } = await bothWays((mock) =>
      mock.onMessage('hello', { content: 'Forty-two.', reasoning: 'Hm.' }, { chunkSize: 5 }),
    )
    assert.deepEqual(heard, ['<Hm.>', 'Forty', '-two.'])
  })

  test('who is missing when the request is sent leaves it unstreamed', async () => {
    await using mock = await openMock()
    using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
    mock.onMessage('hello', { content: 'Hi.' })
    await callModel(requestOf({ listener: { ...recorder([]), listening: () => false } }))
    assert.equal((mock.getLastRequest()?.body as { stream?: boolean } | undefined)?.stream, undefined)
  })

  test('does not fail a call on a server that refuses to stream, even with a single try', async () => {
    const words = 'Your organization must be verified to stream this model.'
    const { streamed, heard, streams } = await bothWaysServed(
      (response, _count, stream) =>
        stream
          ? sendJson(response, 400, { error: { message: words, code: 'unsupported_value' } })
          : sendJson(response, 200, said('Hi.')),
      { maxRetries: 0 },
    )
    assert.ok('parts' in streamed.outcome, JSON.stringify(streamed.outcome))
    assert.deepEqual(streamed.outcome.parts, [{ type: 'text', text: 'Hi.' }])
    assert.match(streamed.outcome.tries[0]?.error ?? '', /HTTP 400: Your organization must be verified/)
    assert.deepEqual([streams, streamed.waits, heard], [[true, false], [], []])
  })

  test('leaves a call all its tries after one lost to streaming', async () => {
    const { streamed } = await bothWaysServed(
      (response, count, stream) => {
        if (stream) return sendJson(response, 400, { error: { message: 'stream is not supported' } })
        if (count === 2) return sendJson(response, 500, { error: { message: 'broken' } })
        sendJson(response, 200, said('Hi.'))
      },
      { maxRetries: 1 },
    )
    assert.ok('parts' in streamed.outcome, JSON.stringify(streamed.outcome))
    assert.deepEqual([streamed.outcome.tries.length, streamed.waits], [2, [1000]])
  })

  test('leaves no record of a half reply if a stream ends without an end marker', async () => {
    const { streamed, heard, streams } = await bothWaysServed((response, _count, stream) =>
      stream ? sendEvents(response, [chunk({ content: 'Once' })]) : sendJson(response, 200, said('Once upon a time.')),
    )
    assert.ok('parts' in streamed.outcome, JSON.stringify(streamed.outcome))
    assert.deepEqual(streamed.outcome.parts, [{ type: 'text', text: 'Once upon a time.' }])
    assert.deepEqual(
      [streams, heard],
      [
        [true, false],
        ['Once', reset],
      ],
    )
  })

  test('costs a server that answers a streaming request in one piece only one more request', async () => {
    const { streamed, streams } = await bothWaysServed((response) => sendJson(response, 200, said('Hi.')))
    assert.ok('parts' in streamed.outcome, JSON.stringify(streamed.outcome))
    assert.deepEqual(streams, [true, false])
  })

  test('receives a retraction for an error that the server sends in the middle, and the call is retried', async () => {
    const { streamed, heard } = await bothWaysServed((response, count, stream) => {
      if (!stream) return sendJson(response, 200, said('Hi.'))
      if (count > 1) return sendStream(response, ['Hi.'])
      sendEvents(response, [chunk({ content: 'Once' }), { error: { message: 'the server is overloaded' } }])
    })
    assert.ok('parts' in streamed.outcome, JSON.stringify(streamed.outcome))
    assert.match(streamed.outcome.tries[0]?.error ?? '', /the server is overloaded/)
    assert.deepEqual(heard, ['Once', reset, 'Hi.'])
  })

  test('receives nothing more from a model that keeps streaming after a stop', async () => {
    const heard: string[] = []
    const stop = new AbortController()
    const over = Promise.withResolvers<void>()
    async function* parts() {
      try {
        yield { type: 'text-start' as const, id: '0' }
        yield { type: 'text-delta' as const, id: '0', delta: 'Once' }
        stop.abort(new Error('enough'))
        await new Promise(setImmediate)
        yield { type: 'text-delta' as const, id: '0', delta: ' more' }
      } finally {
        over.resolve()
      }
    }
    const script = scriptedModel([{ when: /./, reply: '' }])
    const model = { ...script, doStream: () => Promise.resolve({ stream: ReadableStream.from(parts()) }) }
    await assert.rejects(callModel(requestOf({ model, signal: stop.signal, listener: recorder(heard) })), /enough/)
    await over.promise
    assert.deepEqual(heard, ['Once', reset])
  })

  test('is skipped for a model that cannot stream, which is called for the whole', async () => {
    const script = scriptedModel([{ when: 'hello', reply: 'Hi.' }])
    const model = { ...script, doStream: undefined } as unknown as typeof script
    const { parts } = await callModel(requestOf({ model, listener: recorder([]) }))
    assert.deepEqual(parts, [{ type: 'text', text: 'Hi.' }])
  })

  test('changes nothing for a model whose doStream does not work: its reply or failure is the same as without one', async () => {
    const doStream = (): never => {
      throw new Error('not implemented')
    }
    const request = requestOf({
      model: { ...scriptedModel([{ when: 'hello', reply: 'Hi.' }]), doStream },
      maxRetries: 0,
    })
    assert.deepEqual(await callModel({ ...request, listener: recorder([]) }), await callModel(request))
    const failing = requestOf({ model: { ...scriptedModel([{ when: 'hello', error: 'no' }]), doStream } })
    const { outcome } = await outcomeOf({ ...failing, listener: recorder([]) })
    assert.deepEqual(outcome, (await outcomeOf(failing)).outcome)
  })

  const odd: { readonly [what: string]: { parts: readonly object[]; error?: Error; tries: RegExp } } = {
    'has a piece of a text that was never started': {
      parts: [{ type: 'text-delta', id: '7', delta: 'there' }],
      tries: /the stream cannot be read: it has a text-delta of "7", which was not started; the tokens .* unknown/,
    },
    'has a piece of a text that has ended': {
      parts: [
        { type: 'text-end', id: '0' },
        { type: 'text-delta', id: '0', delta: 'there' },
      ],
      tries: /it has a text-delta of "0", which was not started/,
    },
    'throws what no server says': {
      parts: [],
      error: new TypeError("Cannot read properties of undefined (reading 'delta')"),
      tries: /the stream cannot be read: Cannot read properties/,
    },
    'cannot be parsed by its own package': {
      parts: [
        {
          type: 'error',
          error: Object.assign(new Error('Type validation failed'), { name: 'AI_TypeValidationError' }),
        },
      ],
      tries: /the stream cannot be read: Type validation failed/,
    },
    'ends without its end': { parts: [], tries: /the stream ended before the reply did/ },
  }
  for (const [what, { parts, error, tries }] of Object.entries(odd)) {
    test(`receives a retraction for a stream that ${what}, and the reply is requested in one piece`, async () => {
      const heard: string[] = []
      const { model, asked } = speaking([{ parts: [...beginning, ...parts], ...(error ? { error } : {}) }])
      const request = requestOf({ model, maxRetries: 0 })
      const reply = await callModel({ ...request, listener: recorder(heard) })
      assert.deepEqual(reply.parts, [{ type: 'text', text: 'Hi.' }])
      assert.deepEqual([asked, heard, request.waits], [['stream', 'whole'], ['Once', reset], []])
      assert.match(reply.tries[0]?.error ?? '', tries)
      assert.equal(reply.tries.length, 1)
    })
  }

  test('has a paid but unusable stream counted, if its provider reports the usage', async () => {
    const usage = { inputTokens: { total: 7, noCache: 5, cacheRead: 2 }, outputTokens: { total: 3 } }
    const { model } = speaking([
      { parts: [...beginning, { type: 'finish', usage, finishReason: { unified: 'other' } }] },
    ])
    const { tries } = await callModel(requestOf({ model, listener: recorder([]) }))
    assert.deepEqual(tries[0]?.usage, { calls: 1, input: 7, output: 3, cacheRead: 2 })
    assert.doesNotMatch(tries[0]?.error ?? '', /unknown and not counted/)
  })

  test('sees a broken connection in a custom model object as an ordinary try, which streams again', async () => {
    const heard: string[] = []
    const gone = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    const { model, asked } = speaking([{ parts: beginning, error: gone }, { parts: [...beginning, ...ending] }])
    const request = requestOf({ model })
    const reply = await callModel({ ...request, listener: recorder(heard) })
    assert.deepEqual([reply.parts, asked], [[{ type: 'text', text: 'Once' }], ['stream', 'stream']])
    assert.deepEqual([heard, request.waits], [['Once', reset, 'Once'], [1000]])
  })

  test('receives a whole reply from a stream that breaks after its end, and it is not paid again', async () => {
    const { model, asked } = speaking([{ parts: [...beginning, ...ending], error: new TypeError('terminated') }])
    const { parts, tries } = await callModel(requestOf({ model, listener: recorder([]) }))
    assert.deepEqual([parts, tries, asked], [[{ type: 'text', text: 'Once' }], [], ['stream']])
  })
})

const beginning = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Once' },
]
const ending = [
  { type: 'text-end', id: '0' },
  { type: 'finish', usage: { inputTokens: {}, outputTokens: {} }, finishReason: { unified: 'stop', raw: 'stop' } },
]

/** A model object that streams these in turn, answers "Hi." in one piece, and records how it was called. */
function speaking(streams: readonly { readonly parts: readonly object[]; readonly error?: Error }[]) {
  const asked: string[] = []
  const script = scriptedModel([{ when: 'hello', reply: 'Hi.' }])
  async function* speak(parts: readonly object[], error: Error | undefined) {
    yield* parts
    if (error) throw error
  }
  const model = {
    ...script,
    doGenerate: (request: Parameters<typeof script.doGenerate>[0]) => {
      asked.push('whole')
      return script.doGenerate(request)
    },
    doStream: async () => {
      const { parts, error } = streams[asked.filter((how) => how === 'stream').length] ?? assert.fail()
      asked.push('stream')
      return { stream: ReadableStream.from(speak(parts, error)) }
    },
  } as unknown as typeof script
  return { model, asked }
}

const reset = '(reset)'

/** Thoughts are written down in angle brackets. */
function recorder(heard: string[]): ModelListener {
  return {
    listening: () => true,
    onDelta: (kind, text) => void heard.push(kind === 'text' ? text : `<${text}>`),
    reset: () => void heard.push(reset),
  }
}

async function outcomeOf(request: ModelRequest & { readonly waits: number[] }) {
  const outcome = await callModel(request).catch((error: unknown) => {
    assert.ok(isModelFailure(error), String(error))
    const { code, message, tries, startedAt } = error
    return { code, message, tries, startedAt }
  })
  return { outcome, waits: request.waits }
}

/** The same call to the same mock, once without a listener and once with one. */
async function bothWays(arrange: (mock: LLMock) => unknown, fields: Partial<ModelRequest> = {}) {
  const heard: string[] = []
  const once = async (more: Partial<ModelRequest>) => {
    await using mock = await openMock()
    arrange(mock)
    using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
    const ended = await outcomeOf(requestOf({ ...fields, ...more }))
    const streams = mock.getRequests().map((entry) => (entry.body as { stream?: boolean }).stream === true)
    return { ...ended, streams }
  }
  return { whole: await once({}), streamed: await once({ listener: recorder(heard) }), heard }
}

/**
 * The same with a custom server that knows whether a request asks for a stream. `streams` has that for each request
 * with a listener.
 */
async function bothWaysServed(
  answer: (response: ServerResponse, count: number, stream: boolean) => void,
  fields: Partial<ModelRequest> = {},
  model: (url: string) => ModelRequest['model'] = () => 'openai/gpt-test',
) {
  const heard: string[] = []
  const once = async (more: Partial<ModelRequest>) => {
    await using server = await openServer((response, count) =>
      answer(response, count, server.received.at(-1)?.body['stream'] === true),
    )
    using _ = environmentOf({ OPENAI_BASE_URL: server.url })
    const ended = await outcomeOf(requestOf({ model: model(server.url), ...fields, ...more }))
    return { ...ended, streams: server.received.map(({ body }) => body['stream'] === true) }
  }
  const whole = await once({})
  const streamed = await once({ listener: recorder(heard) })
  return { whole, streamed, heard: withoutEmptyResets(heard), streams: streamed.streams }
}

/** A reset of nothing is nothing. */
function withoutEmptyResets(heard: readonly string[]): string[] {
  return heard.filter((piece, index) => piece !== reset || (index > 0 && heard[index - 1] !== reset))
}

function said(content: string): object {
  return chatReply({ content })
}

function chunk(delta: object, more: object = {}): object {
  return { id: 'c1', created: 1, model: 'gpt-test', choices: [{ index: 0, delta, finish_reason: null, ...more }] }
}

const stopping: readonly object[] = [
  chunk({}, { finish_reason: 'stop' }),
  { id: 'c1', created: 1, choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
]

function streamOf(pieces: readonly string[]): string[] {
  const chunks = [chunk({ role: 'assistant' }), ...pieces.map((content) => chunk({ content })), ...stopping]
  return [...chunks.map((item) => `data: ${JSON.stringify(item)}\n\n`), 'data: [DONE]\n\n']
}

function sendStream(response: ServerResponse, pieces: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(streamOf(pieces).join(''))
}

function sendEvents(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
}

const summaries = ['First.', 'Then.']
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: summaries.map((text) => ({ type: 'summary_text', text })),
  encrypted_content: 'ENCRYPTED',
}
const remark = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  phase: 'commentary',
  content: [{ type: 'output_text', text: 'Let me see.', annotations: [] }],
}
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'lookup', arguments: '{"number":"P-1"}' }
const responsesBody = {
  id: 'resp_1',
  created_at: 1,
  model: 'gpt-5-mini',
  output: [thought, remark, call],
  usage: {
    input_tokens: 20,
    output_tokens: 9,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens_details: { reasoning_tokens: 5 },
  },
}

function responsesEvents(): object[] {
  const { output: _, ...response } = responsesBody
  const item = (type: 'added' | 'done', index: number, value: object) => ({
    type: `response.output_item.${type}`,
    output_index: index,
    item: value,
  })
  const summary = (type: string, index: number, more: object) => ({
    type: `response.reasoning_summary_${type}`,
    item_id: 'rs_1',
    output_index: 0,
    summary_index: index,
    ...more,
  })
  const delta = (text: string) => ({
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 1,
    content_index: 0,
    delta: text,
    logprobs: [],
  })
  return [
    { type: 'response.created', response },
    item('added', 0, { ...thought, summary: [], encrypted_content: 'NOT YET WHOLE' }),
    ...summaries.flatMap((text, index) => [
      summary('part.added', index, { part: { type: 'summary_text', text: '' } }),
      summary('text.delta', index, { delta: text }),
      summary('part.done', index, { part: { type: 'summary_text', text } }),
    ]),
    item('done', 0, thought),
    item('added', 1, { ...remark, content: [] }),
    delta('Let me '),
    delta('see.'),
    item('done', 1, remark),
    item('added', 2, { ...call, arguments: '', status: 'in_progress' }),
    item('done', 2, { ...call, status: 'completed' }),
    { type: 'response.completed', response },
  ]
}
