// A chat with a crew in a browser: `useChat` of the AI SDK, a tool that waits for approval, and a page that can be
// reloaded at any time. Kill the server and start it again: the chat continues.
//
//   npx node --conditions=reprise-source examples/chat/server.ts
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { build } from 'esbuild'
import type { Crew } from 'reprise'
import { chatOf } from './chat.ts'
import { crew } from './crew.ts'

/** Serves the page and its chat. */
export function serveChat(served: Crew, port: number): Promise<Served> {
  return servePage(join(import.meta.dirname, 'page'), chatOf(served), port)
}

interface Served {
  readonly server: Server
  readonly url: string
}

/** Serves a page, and what it requests. */
export async function servePage(
  folder: string,
  chat: (request: Request) => Promise<Response>,
  port: number,
): Promise<Served> {
  const page = new Response(await readFile(join(folder, 'index.html')), { headers: { 'content-type': 'text/html' } })
  const script = new Response(await bundle(folder), { headers: { 'content-type': 'text/javascript' } })
  const handle = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/api/chat')) return chat(request)
    if (pathname === '/page.js') return script.clone()
    return pathname === '/' ? page.clone() : new Response(null, { status: 404 })
  }
  const server = createServer((incoming, reply) => void answer(handle, incoming, reply))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Bundles the page, React and the AI SDK into one file. */
async function bundle(folder: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'page.tsx')],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    conditions: ['reprise-source'],
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  })
  return outputFiles[0]?.text ?? ''
}

async function answer(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming
  const body = method === 'GET' || method === 'HEAD' ? null : (Readable.toWeb(incoming) as ReadableStream)
  const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  const response = await handle(new Request(`http://127.0.0.1${url}`, { method, headers: given, body, duplex: 'half' }))
  reply.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) return void reply.end()
  // rejects if the page disconnects, which ends the stream but not the run
  await pipeline(Readable.fromWeb(response.body), reply).catch(() => undefined)
}

if (import.meta.main) {
  const { url } = await serveChat(crew, Number(process.env['PORT'] ?? 3000))
  console.log(`open ${url}`)
  // continues the runs of a process that is gone
  await crew.resumeAll()
}
