// The model of the demo: a server on loopback that speaks the chat protocol of OpenAI, answers from a file, and counts
// the calls that it receives. It outlives the processes that the demo kills.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'

export interface ModelServer extends AsyncDisposable {
  /** The environment variables that make a process use this server, and no other. */
  readonly environment: Readonly<Record<string, string>>
  /** How many calls it has received. */
  calls(): number
}

/** Answers a task, by its first words and by how often the model has replied to it. */
interface Fixture {
  readonly match: { readonly userMessage: string; readonly turnIndex?: number }
  /** How long the answer takes, in ms. */
  readonly latency: number
  readonly response: {
    readonly content?: unknown
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[]
    readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
  }
}

interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

/** `pace`: answer with the latency of the fixtures, so that people can follow. */
export async function openModelServer(file: string, { pace = false } = {}): Promise<ModelServer> {
  const { fixtures } = JSON.parse(await readFile(file, 'utf8')) as { readonly fixtures: readonly Fixture[] }
  let calls = 0
  const server = createServer((request, response) => {
    calls += 1
    void answer(request, fixtures, pace).then(
      (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(400).end(String(error)),
    )
  })
  const url = await listen(server)
  return {
    environment: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'none-needed', REPRISE_MODEL: '' },
    calls: () => calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function answer(request: IncomingMessage, fixtures: readonly Fixture[], pace: boolean): Promise<object> {
  const { messages } = (await json(request)) as ChatRequest
  const task = JSON.stringify(messages.find(({ role }) => role === 'user')?.content)
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const found = fixtures.find(
    ({ match: { userMessage, turnIndex = turn } }) => task.includes(userMessage) && turnIndex === turn,
  )
  if (!found) throw new Error(`no fixture answers turn ${turn} of ${task}`)
  const { latency, response } = found
  if (pace) await wait(latency)
  const { content, toolCalls, usage } = response
  const text = content === undefined || typeof content === 'string' ? (content ?? null) : JSON.stringify(content)
  const calls = toolCalls?.map(({ name, arguments: input }, index) => ({
    id: `call_${turn}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return {
    id: `reply_${turn}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: 'demo',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, ...(calls && { tool_calls: calls }) },
        finish_reason: calls ? 'tool_calls' : 'stop',
      },
    ],
    usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
  }
}
