// The four ways to execute one crew file, each printed live. In the last three, the process that executes the run is
// killed during a tool call, right after the claim was filed. A wrong recovery would file the claim again, or repeat a
// model call.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from 'reprise/stores'
import type { Entry } from 'reprise/journal'
import { crew, inputs, runId } from '../../examples/claims-triage/crew.ts'
import { openModelServer, type ModelServer } from '../../examples/model-server.ts'
import type { RestateCluster } from '../../test/support/restate/restate-cluster.ts'
import { freePort } from '../../test/support/servers/free-port.ts'
import { crewFile, root, start, startWorker, type Program, type Variables } from './processes.ts'
import { aside, say, sayResult, typed } from './tell.ts'
import { entriesOf, livesIn, secondsOf, type Life } from './watch-run.ts'

export interface Outcome {
  readonly way: string
  readonly result: string
  /** As counted by the model server. */
  readonly modelCalls: number
  /** Lines in the ledger. */
  readonly filed: number
  /** Duration by the journal, from the first entry to the last. */
  readonly seconds: number
  readonly lives: readonly Life[]
  /** The processes that were killed. */
  readonly killed: readonly number[]
}

/** The servers, files and variables of one way. */
interface Stage {
  readonly way: string
  readonly url: string
  readonly server: ModelServer
  readonly ledger: string
  /** The environment of each process. */
  readonly variables: Variables
}

/** A way that takes longer has failed. */
const limitMs = 30_000

export async function inProcess(folder: string): Promise<Outcome> {
  return onStage('in process', folder, `sqlite:${join(folder, 'runs.db')}`, async (stage) => {
    typed(`node ${crewFile}`, 'which ends with: await crew.kickoff({ id, inputs })')
    const program = start(crewFile, [], stage.variables)
    const result = await program.completed()
    return outcomeOf(stage, await journalOf(stage), result, [])
  })
}

export async function byWorkers(folder: string, url: string): Promise<Outcome> {
  return onStage('workers', folder, url, async (stage) => {
    typed(`reprise worker ${crewFile}`, 'two of them, with REPRISE_STORE=postgres://… and nothing else')
    const workers = [1, 2].map(() => startWorker([], stage.variables))
    return runWithKill(stage, workers, /serving/, ({ pid }) => workers.find((worker) => worker.pid === pid)?.kill())
  })
}

export async function byRestate(folder: string, url: string, restate: RestateCluster): Promise<Outcome> {
  return onStage('Restate', folder, url, async (stage) => {
    typed(`reprise worker ${crewFile} --dispatcher restate`, 'two of them, and a Restate server')
    const variables = {
      ...stage.variables,
      RESTATE_INGRESS_URL: restate.ingress.join(),
      RESTATE_ADMIN_URL: restate.admin.join(),
    }
    const listen = String(await freePort())
    const workers = [1, 2].map(() => startWorker(['--dispatcher', 'restate', '--listen', listen], variables))
    return runWithKill(stage, workers, /registered/, ({ pid }) => workers.find((worker) => worker.pid === pid)?.kill())
  })
}

export async function byFunctions(folder: string, url: string): Promise<Outcome> {
  return onStage('HTTP functions', folder, url, async (stage) => {
    typed('node examples/claims-triage/function.ts', 'which serves: advanceHandler({ crews: [crew], secret })')
    typed(`reprise worker ${crewFile} --dispatcher http --url …`, 'which only calls it')
    const port = String(await freePort())
    const variables = { ...stage.variables, PORT: port, REPRISE_ADVANCE_SECRET: randomBytes(16).toString('hex') }
    const serve = (): Program => start('examples/claims-triage/function.ts', [], variables)
    await using functions = new AsyncDisposableStack()
    const first = functions.use(serve())
    await first.waitForOutput(/listening/)
    const caller = startWorker(['--dispatcher', 'http', '--url', `http://127.0.0.1:${port}/advance`], variables)
    return await runWithKill(stage, [caller], /serving/, async () => {
      await first.kill()
      const next = functions.use(serve())
      await next.waitForOutput(/listening/)
      say(`process ${next.pid} answers now, on the same port`)
    })
  })
}

/** Queues a run, kills its first process during the look-up, and waits for the end of the run. */
async function runWithKill(
  stage: Stage,
  programs: readonly Program[],
  ready: RegExp,
  kill: (life: Life) => Promise<void> | undefined,
): Promise<Outcome> {
  await using stack = new AsyncDisposableStack()
  programs.forEach((program) => stack.use(program))
  await Promise.all(programs.map((program) => program.waitForOutput(ready)))
  await using queue = crew.with({ store: stage.url })
  await queue.enqueue({ id: runId, inputs })
  await using store = closing(await openStore(stage.url))
  const entries: Entry[] = []
  let killed: number | undefined
  try {
    for await (const entry of entriesOf(store, runId, limitMs)) {
      entries.push(entry)
      const life = livesIn(entries).at(-1)
      if (entry.type === 'run.resumed' && life) sayProcess(life, killed !== undefined)
      if (killed !== undefined || !life || entry.type !== 'tool.called' || entry.tool !== 'lookup_policy') continue
      killed = life.pid
      say(`kill -9 ${killed}: the claim is filed, the policy is being looked up`)
      await kill(life)
    }
  } catch (error) {
    const logs = programs.map(({ pid, output }) => `process ${pid} printed:\n${output()}`)
    throw new Error([(error as Error).message, ...logs].join('\n'), { cause: error })
  }
  const result = String(await queue.run(runId).result())
  return outcomeOf(stage, entries, result, killed === undefined ? [] : [killed])
}

function sayProcess({ pid, via }: Life, again: boolean): void {
  say(`process ${pid} ${again ? 'continues it' : 'starts the run'}`)
  if (via) aside(`for call ${via.id} of ${via.dispatcher}`)
}

/** Gives a way its own model server and ledger, so that the counts are its own. */
async function onStage(
  way: string,
  folder: string,
  url: string,
  go: (stage: Stage) => Promise<Outcome>,
): Promise<Outcome> {
  await using server = await openModelServer(join(root, 'examples/claims-triage/fixtures.json'))
  const ledger = join(folder, `${way.replaceAll(' ', '-')}.txt`)
  const variables = { ...server.environment, REPRISE_STORE: url, CLAIMS_LEDGER: ledger }
  return await go({ way, url, server, ledger, variables })
}

async function outcomeOf(
  { way, server, ledger }: Stage,
  entries: readonly Entry[],
  result: string,
  killed: readonly number[],
): Promise<Outcome> {
  const filed = (await readFile(ledger, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '').length
  sayResult(result)
  const lives = livesIn(entries)
  return { way, result, modelCalls: server.requests().length, filed, seconds: secondsOf(entries), lives, killed }
}

async function journalOf({ url }: Stage): Promise<Entry[]> {
  await using store = closing(await openStore(url))
  return await Array.fromAsync(entriesOf(store, runId, limitMs))
}

type OpenStore = Awaited<ReturnType<typeof openStore>>

function closing(store: OpenStore): OpenStore & AsyncDisposable {
  return { ...store, [Symbol.asyncDispose]: () => store.close() }
}
