// The ways of executing runs that the benches of dispatchers compare. Each has two executing processes and its own
// schema in the same PostgreSQL.
import { restateDispatcher } from 'reprise/restate'
import { httpDispatcher } from 'reprise/http'
import type { Dispatcher } from 'reprise/workers'
import { startRestate, type RestateCluster } from '../../test/support/restate/restate-cluster.ts'
import { freePort } from '../../test/support/servers/free-port.ts'
import type { TestServer } from '../../test/support/servers/server.ts'
import { durableServer, storeUrl } from '../postgres/bench-server.ts'
import { forkBench, type BenchProcess, type ProcessPlan } from './bench-process.ts'

/** Processes of each way. */
export const processes = 2
/** Concurrency of each process. */
export const concurrency = 20

export interface Way extends AsyncDisposable {
  /** The URL of its store. */
  readonly url: string
  /** The processes that execute runs. */
  readonly executing: readonly BenchProcess[]
  /** The dispatcher for a queueing process that notifies it. */
  readonly dispatcher?: Dispatcher
}

export interface Ways extends AsyncDisposable {
  inProcess(): Promise<Way>
  workers(): Promise<Way>
  restate(): Promise<Way>
  functions(): Promise<Way>
  /** The plan for a process of this way. */
  plan(role: ProcessPlan['role'], schema: string): Promise<ProcessPlan>
}

/** `tells`: the processes report model calls. */
export async function openWays({ tells = false } = {}): Promise<Ways> {
  await using stack = new AsyncDisposableStack()
  const server: TestServer = stack.use(await durableServer())
  const { ingress, admin }: RestateCluster = stack.use(await startRestate())
  const secret = crypto.randomUUID()

  async function plan(role: ProcessPlan['role'], schema: string): Promise<ProcessPlan> {
    return { role, url: storeUrl(server, schema), concurrency, port: await freePort(), ingress, admin, secret, tells }
  }

  /** Opens the plans one after another, so that none migrates while others open. */
  async function open(plans: readonly ProcessPlan[], dispatcher?: Dispatcher): Promise<Way> {
    await using own = new AsyncDisposableStack()
    const opened: BenchProcess[] = []
    for (const one of plans) opened.push(own.use(await forkBench(one)))
    const executing = opened.filter((_, index) => plans[index]?.role !== 'caller')
    const disposal = own.move()
    const close = (): Promise<void> => disposal.disposeAsync()
    return { url: plans[0]?.url ?? '', executing, ...(dispatcher && { dispatcher }), [Symbol.asyncDispose]: close }
  }

  const twice = (given: ProcessPlan): ProcessPlan[] => Array.from({ length: processes }, () => given)
  const disposal = stack.move()
  return {
    plan,
    inProcess: async () => open(twice(await plan('in process', 'in_process'))),
    workers: async () => open(twice(await plan('worker', 'workers'))),
    restate: async () => open(twice(await plan('restate', 'restate')), restateDispatcher({ ingress })),
    async functions() {
      const own = await plan('function', 'functions')
      const caller = { ...own, role: 'caller', concurrency: processes * concurrency } as const
      const url = `http://127.0.0.1:${own.port}/advance`
      return open([...twice(own), caller], httpDispatcher({ url, secret }))
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}
