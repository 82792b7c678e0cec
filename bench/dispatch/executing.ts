// The program that bench-process.ts starts.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Crew } from 'reprise'
import { advanceHandler, httpDispatcher } from 'reprise/http'
import { restateDispatcher } from 'reprise/restate'
import { startWorker, type WorkerEvent, type WorkerOptions } from 'reprise/workers'
import { holdingCrew } from '../../test/workers/holding-worker.ts'
import { modelCrew } from '../crew.ts'
import { now, steps, type ProcessPlan, type Said, type Told } from './bench-process.ts'

const plan = JSON.parse(process.argv[2] ?? '') as ProcessPlan
const { role, url, concurrency, port, ingress, admin, secret, tells, holds } = plan
const crew = holds
  ? holdingCrew(url, () => (say({ is: 'held', at: now() }), toldTo('go on')))
  : modelCrew(url, steps, () => tells && say({ is: 'asked', at: now() }))

// opens the store, and compiles the code that a run needs
if (!holds && role !== 'caller') for (let run = 0; run < 20; run++) await crew.kickoff()
const end = await begin(crew)
say({ is: 'ready' })
await once(process, 'disconnect')
await end()
await crew.close()

async function begin(served: Crew): Promise<() => Promise<void> | void> {
  switch (role) {
    case 'in process':
      process.on('message', (told: Told) => void (told.is === 'kick off' && kickOff(served, told.runs)))
      return () => undefined
    case 'worker':
      return work(served, {})
    case 'caller':
      return work(served, { dispatcher: httpDispatcher({ url: `http://127.0.0.1:${port}/advance`, secret }) })
    case 'restate': {
      const { promise: isRegistered, resolve } = Promise.withResolvers<void>()
      const stop = await work(served, { dispatcher: restateDispatcher({ ingress, admin, port }) }, (event) => {
        if (event.type === 'dispatcher' && event.message.startsWith('registered')) resolve()
      })
      await isRegistered
      return stop
    }
    case 'function':
      return serveFunctions(served)
  }
}

async function work(
  served: Crew,
  options: WorkerOptions,
  alsoHear?: (event: WorkerEvent) => void,
): Promise<() => Promise<void>> {
  const onEvent = (event: WorkerEvent): void => {
    heard(event)
    alsoHear?.(event)
  }
  const worker = await startWorker([served], { concurrency, onEvent, ...options })
  return () => worker.stop({ graceSeconds: 1 })
}

/** Listens on a port that several processes share: the system distributes connections. */
async function serveFunctions(served: Crew): Promise<() => void> {
  const advance = advanceHandler({ crews: [served], secret, onEvent: heard })
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat((await Array.fromAsync(incoming)) as Buffer[])
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
    const answer = await advance(new Request(`http://127.0.0.1${incoming.url}`, { method: 'POST', headers, body }))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  server.listen({ host: '127.0.0.1', port, reusePort: process.platform === 'linux' })
  await once(server, 'listening')
  return () => {
    server.close()
    server.closeAllConnections()
  }
}

/** Kicks off runs, as many at once as a worker would execute. */
async function kickOff(served: Crew, runs: number): Promise<void> {
  let left = runs
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      await served.kickoff()
      say({ is: 'completed' })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, one))
}

function heard(event: WorkerEvent): void {
  if (event.type === 'left' && event.outcome === 'completed') say({ is: 'completed' })
  else if (event.type === 'refused' || (event.type === 'left' && event.outcome !== 'more')) console.error(event)
  else if (event.type === 'dispatcher-away') console.error(event)
}

async function toldTo(what: Told['is']): Promise<void> {
  for (;;) {
    const [told] = (await once(process, 'message')) as [Told]
    if (told.is === what) return
  }
}

function say(said: Said): void {
  if (process.connected) process.send?.(said)
}
