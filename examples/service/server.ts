// The service on node:http. Start it, stop it at any time (Ctrl-C, kill -9, pull the plug), start it again: it
// continues its runs.
//
//   OPENAI_API_KEY=sk-… npx node --conditions=reprise-source examples/service/server.ts
//   npx node --conditions=reprise-source examples/run.ts service/server.ts        (without a key)
//
//   curl -i localhost:3000/runs -d '{ "id": "claim-1", "notes": "Policy P-77, a pipe burst." }'
//   curl -N localhost:3000/runs/claim-1/events
//   curl localhost:3000/runs/claim-1
//   curl localhost:3000/runs/claim-1/answers -d '{ "question": "q1", "answer": { "decision": "approve" }, "by": "Ada" }'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { finish, handle, resumeAll } from './service.ts'

/** How long runs may take to end after SIGTERM: less than the platform waits before SIGKILL. */
const graceMs = 20_000

const server = createServer((request, reply) => void serve(request, reply))
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop())
resumeAll()

async function stop(): Promise<void> {
  server.close() // no new connections
  await Promise.race([finish(), wait(graceMs)])
  process.exit() // like a kill for runs that have not ended: the next process continues them
}

async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
  const response = await handle(toRequest(incoming))
  reply.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) return void reply.end()
  // rejects if the client disconnects, which ends the stream but not the run
  await pipeline(Readable.fromWeb(response.body), reply).catch(() => undefined)
}

function toRequest(incoming: IncomingMessage): Request {
  const { method = 'GET', url = '/', headers } = incoming
  const body = method === 'GET' || method === 'HEAD' ? null : (Readable.toWeb(incoming) as ReadableStream)
  const given = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  return new Request(`http://${headers.host ?? 'localhost'}${url}`, { method, headers: given, body, duplex: 'half' })
}
