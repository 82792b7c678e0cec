// Shared by the tests of the model layer: an isolated environment, servers on loopback, and a request with default
// parts.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LLMock } from '@copilotkit/aimock'
import { realClock } from '../../src/base/clock.ts'
import type { ModelRequest } from '../../src/models/call-model.ts'
import { providers } from '../../src/models/resolve/providers.ts'

const variables = [
  'REPRISE_MODEL',
  'REPRISE_STORE',
  'REPRISE_LEASE_SECONDS',
  ...providers.flatMap(({ keys, addresses, otherVariables = [] }) => [...keys, ...addresses, ...otherVariables]),
]

/** Exactly these variables of the library are set until the end of the scope. */
export function environmentOf(values: { readonly [name: string]: string }): Disposable {
  const before = [...variables, ...Object.keys(values)].map((name) => [name, process.env[name]] as const)
  for (const name of variables) delete process.env[name]
  Object.assign(process.env, values)
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    },
  }
}

export async function openMock(): Promise<LLMock & AsyncDisposable> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
  await mock.start()
  return Object.assign(mock, { [Symbol.asyncDispose]: () => mock.stop() })
}

export interface Received {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: { readonly [key: string]: unknown }
}

/** A server that answers each request by what `answer` does with it, for what aimock cannot be made to do. */
export async function openServer(
  answer: (response: ServerResponse, count: number, request: Received) => void,
): Promise<
  AsyncDisposable & { readonly url: string; readonly received: readonly Received[]; arrival(): Promise<unknown> }
> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const body = (text === '' ? {} : JSON.parse(text)) as Received['body']
      received.push({ path: request.url ?? '', headers: request.headers, body })
      answer(response, received.length, received.at(-1)!)
      server.emit('arrival')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    received,
    arrival: () => once(server, 'arrival'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

export function chatReply(message: { readonly [key: string]: unknown }, more: object = {}): object {
  return {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: null, ...message } }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    ...more,
  }
}

/** A request whose waits take no time and are written down. */
export function requestOf(fields: Partial<ModelRequest> = {}): ModelRequest & { readonly waits: number[] } {
  const waits: number[] = []
  return {
    model: 'openai/gpt-test',
    instructions: 'You are brief.',
    messages: [{ role: 'user', text: 'hello' }],
    tools: [],
    clock: {
      ...realClock,
      sleep: async (milliseconds) => void waits.push(milliseconds),
      now: () => new Date(Date.UTC(2030, 0, 1)),
      random: () => 1,
    },
    waits,
    ...fields,
  }
}

export const lookup = {
  name: 'lookup',
  description: 'Look a policy up',
  schema: {
    type: 'object',
    properties: { number: { type: 'string' } },
    required: ['number'],
    additionalProperties: false,
  },
}
