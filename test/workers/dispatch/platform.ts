// A platform that executes functions. For every call it starts an instance, forwards the call, and kills the instance
// by SIGKILL as soon as the instance has answered or hangs. Now and then it kills an instance before the call.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { bundle } from '../../support/bundle.ts'

export interface Platform extends AsyncDisposable {
  readonly url: string
  /** Number of killed instances: those that hung, and all. */
  kills(): { readonly hung: number; readonly all: number }
}

export async function startPlatform(parameters: readonly string[]): Promise<Platform> {
  const { file, variables } = await bundle(join(import.meta.dirname, 'function-process.ts'))
  const kills = { hung: 0, all: 0 }
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat((await Array.fromAsync(incoming)) as Buffer[])
    const instance = spawn(process.execPath, [file, ...parameters], {
      env: { ...process.env, ...variables, REPRISE_LEASE_SECONDS: '2' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = once(instance, 'close')
    const lines = createInterface({ input: instance.stdout })[Symbol.asyncIterator]()
    const port = (await lines.next()).value as string
    const headers = { 'reprise-signature': String(incoming.headers['reprise-signature']) }
    const called =
      kills.all % 7 === 6 ? undefined : fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
    const limit = lines.next().then(({ done }) => (done ? new Promise<never>(() => {}) : 'limit'))
    const answer = await Promise.race([called, limit])
    const text = answer instanceof Response ? await answer.text() : ''
    if (answer === 'limit') kills.hung++
    kills.all++
    instance.kill('SIGKILL')
    await Promise.allSettled([gone, called])
    const status = answer instanceof Response ? answer.status : 504
    outgoing.writeHead(
      status,
      answer instanceof Response ? { 'retry-after': answer.headers.get('retry-after') ?? '0' } : {},
    )
    outgoing.end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    kills: () => ({ ...kills }),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
