// A crew to look at, a studio on loopback, and a client that knows nothing of the library but the contract.
import assert from 'node:assert/strict'
import { Agent, Crew, Task, tool, type CrewOptions } from 'reprise'
import { serveStudio, type Api, type ServeOptions } from 'reprise/studio'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'

export const model = scriptedModel([
  { when: 'the model is down', error: 'the provider is down' },
  { when: 'Extract', reply: (text) => ({ policy: /P-\d+/.exec(text)?.[0] ?? 'none', issue: 'water' }) },
  { when: 'Settle', calls: [{ tool: 'pay', input: { amount: 5 } }] },
  { when: 'Settle', reply: (text) => `Paid for ${/"policy":"([^"]*)"/.exec(text)?.[1]}` },
])

/** facts has a schema; settle has a tool that needs approval. */
export function claims(store: string | Store = memoryStore(), options: Partial<CrewOptions> = {}): Crew {
  const pay = tool({
    name: 'pay',
    description: 'Pay a person',
    approval: true,
    input: z.object({ amount: z.number() }),
    run: ({ amount }) => ({ paid: amount }),
  })
  const clerk = new Agent({ role: 'Clerk', goal: 'Settle claims', model, tools: [pay] })
  const reader = new Agent({ role: 'Reader', goal: 'Read letters', backstory: 'Has read many', model })
  const facts = new Task({
    name: 'facts',
    description: 'Extract the facts from: {notes}',
    agent: reader,
    output: z.object({ policy: z.string(), issue: z.string() }),
  })
  const settle = new Task({
    name: 'settle',
    description: 'Settle the claim',
    expectedOutput: 'a sentence',
    agent: clerk,
  })
  const crew: Crew = new Crew({ name: 'claims', store, ...options, tasks: [facts, settle] })
  return crew
}

export interface Client {
  readonly url: string
  /** Rejects when the answer is a problem. */
  get<E extends Api.Endpoint & `GET ${string}`>(endpoint: E, path: string): Promise<Api.Endpoints[E]['response']>
  post<E extends Api.Endpoint & `POST ${string}`>(
    endpoint: E,
    path: string,
    body: object,
  ): Promise<Api.Endpoints[E]['response']>
  /** As it is. */
  send(path: string, init?: RequestInit): Promise<Response>
}

export async function served(options: ServeOptions): Promise<Client & AsyncDisposable> {
  const studio = await serveStudio({ port: 0, ...options })
  return { ...clientOf(studio.url), [Symbol.asyncDispose]: () => studio.close() }
}

export function clientOf(url: string, headers: { readonly [name: string]: string } = {}): Client {
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}api${path}`, { ...init, headers: { ...headers, ...(init.headers as object) } })
  const read = async (response: Response): Promise<never> => {
    const text = await response.text()
    assert.ok(response.ok, `${response.status}: ${text}`)
    return JSON.parse(text) as never
  }
  return {
    url,
    send,
    get: async (_, path) => read(await send(path)),
    post: async (_, path, body) => read(await send(path, posted(body))),
  }
}

export function posted(body: unknown, headers: { readonly [name: string]: string } = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-reprise-studio': '1', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }
}

export async function problemOf(response: Response): Promise<{ status: number; code: string; message: string }> {
  const { code, message } = (await response.json()) as Api.Problem
  return { status: response.status, code, message }
}

export interface Received {
  readonly id: string | undefined
  readonly type: string
  readonly data: never
}

/** Server-sent events, until they end or `enough`. */
export async function eventsOf(response: Response, enough?: (event: Received) => boolean): Promise<Received[]> {
  const events: Received[] = []
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data === undefined) continue
      const event = { id: field('id'), type: field('event') ?? 'message', data: JSON.parse(data) as never }
      events.push(event)
      if (enough?.(event)) return events
    }
  }
  return events
}
