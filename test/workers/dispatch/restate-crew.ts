// Shared by the tests of Restate: crews, a worker in this process, and the state of calls in Restate.
import { Agent, Crew, Task, tool, type CrewOptions } from 'reprise'
import { restateDispatcher, type RestateOptions } from 'reprise/restate'
import { startWorker, type Worker, type WorkerEvent, type WorkerOptions } from 'reprise/workers'
import { z } from 'zod'
import { freePort } from '../../support/servers/free-port.ts'
import type { RestateCluster } from '../../support/restate/restate-cluster.ts'
import { hearing, model } from '../worker-crews.ts'

type Ear = ReturnType<typeof hearing>

/** Pays when a person approves. */
export function payingCrew(store: string, paid: string[], options: Partial<CrewOptions> = {}) {
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ to: z.string() }),
    approval: true,
    run: ({ to }) => void paid.push(to),
  })
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [pay] })
  const tasks = [new Task({ name: 'pay', description: 'Ask {notes}' })]
  return new Crew({ name: 'paying', agents: [agent], store, ...options, tasks })
}

export interface RestateWorker extends AsyncDisposable {
  readonly worker: Worker
  readonly ear: Ear
  readonly url: string
}

/** Starts a worker. Resolves when it is registered with Restate. */
export async function startRestateWorker(
  { ingress, admin }: RestateCluster,
  crews: readonly Crew[],
  options: RestateOptions = {},
  given: WorkerOptions = {},
): Promise<RestateWorker> {
  const ear = hearing()
  const port = options.port ?? (await freePort())
  const dispatcher = restateDispatcher({ ingress, admin, port, ...options })
  const worker = await startWorker(crews, { dispatcher, onEvent: ear.onEvent, ...given })
  await ear.until((event) => event.type === 'dispatcher' && event.message.startsWith('registered'))
  return { worker, ear, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => worker.stop() }
}

export const leftAs =
  (runId: string, outcome: string) =>
  (event: WorkerEvent): boolean =>
    event.type === 'left' && event.runId === runId && event.outcome === outcome

/** The calls for a run that Restate knows. */
export async function callsOf({ admin }: RestateCluster, runId: string): Promise<readonly Invocation[]> {
  const query = `select id, target_service_name as service, status, completion_result, retry_count, last_failure from sys_invocation where target_service_key = '${runId}' order by created_at`
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const response = await fetch(`${admin[0]}/query`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  return ((await response.json()) as { rows: Invocation[] }).rows
}

export interface Invocation {
  readonly id: string
  readonly service: string
  readonly status: string
  readonly retry_count?: number
  readonly last_failure?: string
}
