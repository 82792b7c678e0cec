// Servers that repeat a key as real servers do, and in ways that only a hostile server would. Each gets the request's
// Authorization header and decides its answer.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Misbehaviour = (response: ServerResponse, header: string, key: string) => void

const refuse =
  (body: (header: string, key: string) => string, type = 'application/json'): Misbehaviour =>
  (response, header, key) => {
    response.writeHead(401, { 'content-type': type })
    response.end(body(header, key))
  }
const error = (message: string, more: object = {}): string =>
  JSON.stringify({ error: { message, type: 'auth', ...more } })
const base64 = (text: string): string => Buffer.from(text).toString('base64')

export const misbehaviours: { readonly [what: string]: Misbehaviour } = {
  'repeats the header in the body': refuse((header) => error(`bad header ${header}`)),
  'repeats the key': refuse((_header, key) => error(`no entry for ${key}`)),
  "repeats the key in a text that isn't JSON": refuse((_header, key) => `no entry for ${key}`, 'text/plain'),
  'repeats the header in JSON within JSON': refuse((header) => error(JSON.stringify({ authorization: header }))),
  'repeats the header in base64': refuse((header) => error(`seen: ${base64(header)}`)),
  'repeats the key in base64': refuse((_header, key) => error(`seen: ${base64(key)}`)),
  'repeats the key in hexadecimal': refuse((_header, key) => error(`seen: ${Buffer.from(key).toString('hex')}`)),
  'repeats the key in URL encoding': refuse((_header, key) => error(`seen: ?k=${encodeURIComponent(key)}`)),
  'repeats the key in two pieces': refuse((_header, key) => error(`[${key.slice(0, 14)}] [${key.slice(14)}]`)),
  'repeats the key masked': refuse((_header, key) => error(`wrong key: ${key.slice(0, 7)}...${key.slice(-7)}`)),
  'repeats the key where the message is cut': refuse((_header, key) => error(`${'x'.repeat(280)} ${key}`)),
  'repeats the key as the name of a model, in a reply that is none': (response, _header, key) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: 'x', created: 0, model: key, choices: key }))
  },
  'repeats the key in a reply that is cut': (response, header) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"id":"x","authorization":"${header}"`)
  },
  'redirects with the key in the address': (response, _header, key) => {
    response.writeHead(307, { location: `http://127.0.0.1:1/v1?key=${encodeURIComponent(key)}` })
    response.end()
  },
  'puts the key into headers and the status text': (response, header, key) => {
    response.writeHead(403, `Forbidden ${key}`, { 'x-echo': header, 'www-authenticate': `Bearer error="${key}"` })
    response.end()
  },
  'asks to wait as long as the key': (response, _header, key) => {
    response.writeHead(429, { 'retry-after': key, 'content-type': 'application/json' })
    response.end(error(`too many requests of ${key}`))
  },
  'hangs up in the middle of the key': (response, _header, key) => {
    response.writeHead(500, { 'content-type': 'text/plain', 'content-length': '500' })
    response.write(`failed for ${key}`, () => response.destroy())
  },
}

/** Beginning with a piece of text in the stream, when the client asked for one. */
export const streamed: { readonly [what: string]: Misbehaviour } = {
  'says an error with the key in the stream': (response, header) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${error(`broke for ${header}`)}\n\n`)
  },
  'sends a stream that is none, cut within the key': (response, _header, key) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: {"error":"${key.slice(0, 15)}`, () => response.end(`${key.slice(15)}\n\n`))
  },
}

export async function serve(
  misbehave: Misbehaviour,
  key: string,
): Promise<AsyncDisposable & { readonly url: string; readonly requests: () => number }> {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    request.resume()
    request.on('end', () => misbehave(response, request.headers.authorization ?? '', key))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
