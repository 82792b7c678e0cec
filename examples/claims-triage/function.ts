// The same crew as an HTTP function that executes a slice of a run per call. `advanceHandler` is a function from
// Request to Response, which most web frameworks and function platforms accept; here node:http serves it. It may be
// killed at any time: the next call continues.
//
//   export REPRISE_STORE=postgres://… REPRISE_ADVANCE_SECRET=$(openssl rand -hex 32)
//   PORT=3000 npx node --conditions=reprise-source examples/claims-triage/function.ts
//   npm run reprise -- worker examples/claims-triage/crew.ts --dispatcher http --url http://127.0.0.1:3000/advance
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { advanceHandler } from 'reprise/http'
import { crew } from './crew.ts'

const advance = advanceHandler({ crews: [crew], secret: process.env['REPRISE_ADVANCE_SECRET'] ?? '' })

const server = createServer(async (incoming, outgoing) => {
  const answer = await advance(await requestOf(incoming))
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
})
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/advance`)
})

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const { method = 'GET', url = '/', headers } = incoming
  const body = Buffer.concat((await Array.fromAsync(incoming)) as Buffer[])
  const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  return new Request(`http://127.0.0.1${url}`, { method, headers: given, ...(method === 'POST' && { body }) })
}
