// One instance of a function: a process that answers calls on a port, executes one step per call, and reports when it
// hangs.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { advanceHandler } from 'reprise/http'
import { functionCrew } from './function-crew.ts'

const [store = '', folder = '', tasks = '', secret = ''] = process.argv.slice(2)
const crew = functionCrew({ store, folder, tasks: Number(tasks), hangs: () => process.stdout.write('hangs\n') })
const handler = advanceHandler({ crews: [crew], secret, sliceSeconds: 0.001 })

const server = createServer(async (incoming, outgoing) => {
  const body = Buffer.concat((await Array.fromAsync(incoming)) as Buffer[])
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
  const answer = await handler(new Request(`http://127.0.0.1${incoming.url}`, { method: 'POST', headers, body }))
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
}).listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
