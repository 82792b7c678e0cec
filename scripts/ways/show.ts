// npm run ways: one crew file, unchanged, executed in process, by workers, by Restate and by functions. It needs no
// key, but the packages of the tests (npm run install-test-packages): the model, PostgreSQL and Restate are servers on
// loopback that are stopped at the end. Exits with 1 unless all ways have the same result and the same number of model
// calls, file the claim once, and continue in another process after the kill.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { startRestate } from '../../test/support/restate/restate-cluster.ts'
import { startServer } from '../../test/support/servers/server.ts'
import { byFunctions, byRestate, byWorkers, inProcess, type Outcome } from './four-ways.ts'
import { crewFile } from './processes.ts'
import { heading, say, table } from './tell.ts'
import type { Life } from './watch-run.ts'

const began = performance.now()
const folder = await mkdtemp(join(tmpdir(), 'reprise-ways-'))
try {
  process.exitCode = (await show()) ? 0 : 1
} catch (error) {
  console.error(`\nThis failed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function show(): Promise<boolean> {
  console.log(`One crew file, unchanged, four ways: ${crewFile}`)
  console.log('Three tasks, five model calls, and an insurance claim that must be filed once.')
  console.log('The model is a server on this machine that answers from a file: no key, no cost.')
  // both servers start during the first way, which needs neither
  const starting = Promise.allSettled([startServer('postgres'), startRestate()])

  heading('1. In process')
  const first = await inProcess(folder)
  const [postgres, restate] = await starting
  await using servers = new AsyncDisposableStack()
  for (const server of [postgres, restate]) if (server.status === 'fulfilled') servers.use(server.value)
  const { url } = started(postgres)
  const schema = (name: string): string => `${url}?schema=${name}`

  heading('2. Workers over PostgreSQL, one of them killed')
  const workers = await byWorkers(folder, schema('workers'))

  heading('3. Restate pushes the run to workers, one of them killed')
  const pushed = await byRestate(folder, schema('restate'), started(restate))

  heading('4. Functions that are called by HTTP, killed and started again')
  const functions = await byFunctions(folder, schema('functions'))

  const others = [workers, pushed, functions]
  heading('Side by side, according to the journals, the model server and the ledger')
  console.log(comparison(first, others))
  return printVerdict(first, others)
}

function comparison(first: Outcome, others: readonly Outcome[]): string {
  const head = ['way', 'result', 'model calls', 'filed', 'seconds', 'process and call']
  const rows = [first, ...others].flatMap((outcome) => {
    const { way, modelCalls, filed, seconds, lives, killed } = outcome
    const result = outcome === first ? 'as above' : outcome.result === first.result ? 'the same' : 'ANOTHER'
    const had = lives.map((life) => `${shortLife(life)}${killed.includes(life.pid) ? ', killed' : ''}`)
    const row = [way, result, String(modelCalls), String(filed), seconds.toFixed(1), had[0] ?? 'no process']
    return [row, ...had.slice(1).map((one) => ['', '', '', '', '', one])]
  })
  return table(head, rows)
}

/** The ids of calls are long, begin alike, and were printed in full above. */
function shortLife({ pid, via }: Life): string {
  return via === undefined ? `${pid}` : `${pid} …${via.id.slice(-5)}`
}

function printVerdict(first: Outcome, others: readonly Outcome[]): boolean {
  const all = [first, ...others]
  const seconds = ((performance.now() - began) / 1_000).toFixed(0)
  const promises: readonly (readonly [string, boolean])[] = [
    ['the same result, four times', others.every(({ result }) => result === first.result)],
    [
      `${first.modelCalls} model calls each time, although processes were killed`,
      others.every(({ modelCalls }) => modelCalls === first.modelCalls),
    ],
    ['one claim filed each time', all.every(({ filed }) => filed === 1)],
    [
      'after each kill, another process continued the run',
      others.every(({ lives, killed }) => killed.length === 1 && !killed.includes(lives.at(-1)?.pid ?? 0)),
    ],
  ]
  console.log()
  for (const [promise, isKept] of promises)
    say(`${isKept ? styleText('green', 'yes') : styleText('red', 'NO ')}  ${promise}`)
  console.log(`\n   That took ${seconds} seconds. In this folder, \`reprise\` is \`npm run reprise --\`;`)
  say('what else workers do is in docs/guides/workers.md.')
  return promises.every(([, isKept]) => isKept)
}

function started<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'fulfilled') return settled.value
  throw settled.reason
}
