// Cron jobs in place of a long-running worker: the command line, and a route that calls functions.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { advanceHandler } from 'reprise/http'
import { memoryStore } from 'reprise/stores'
import { cronRoute } from '../../../examples/recipes/cron-route.ts'
import { imports, project } from '../../cli/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { isFull } from '../../support/full.ts'
import { callsPerTask, functionCrew } from '../dispatch/function-crew.ts'
import { startPlatform } from '../dispatch/platform.ts'
import { claims } from '../worker-crews.ts'

/** Pays once, by appending a line to a file, and then hangs if requested. */
const paying = `${imports}
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
const model = scriptedModel(['a', 'b'].flatMap((claim) => [
  { when: 'Pay ' + claim, calls: [{ tool: 'pay', input: { claim } }] },
  { when: 'Pay ' + claim, reply: 'Paid ' + claim },
]))
const paid = (key) => existsSync('ledger') && readFileSync('ledger', 'utf8').includes(key)
const pay = tool({
  name: 'pay', description: 'Pay', input: z.object({ claim: z.string() }),
  async run({ claim }, { idempotencyKey }) {
    appendFileSync('ledger', claim + ' ' + idempotencyKey + '\\n')
    if (process.env.HANGS === claim) {
      console.error('paid and hangs')
      await new Promise(() => setInterval(() => {}, 60_000))
    }
    return 'paid'
  },
  settle: (key) => paid(key) ? { happened: true, result: 'paid' } : { happened: false },
})
const clerk = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [pay] })
export const crew = new Crew({ name: 'paying', tasks: [new Task({ name: 'pay', description: 'Pay {claim}', agent: clerk })] })
`

test('worker --once, started by cron again and again, skips runs of live workers and continues those of killed ones', async () => {
  await using folder = await project(paying)
  for (const claim of ['a', 'b']) await folder.reprise('enqueue', 'crew.ts', '--id', claim, '--input', `claim=${claim}`)
  const cron = ['worker', 'crew.ts', '--once', '--concurrency', '1']
  const first = folder.start(cron, { HANGS: 'a' })
  await first.says('paid and hangs')

  const second = await folder.start(cron).ended()
  assert.equal(second.code, 0)
  assert.match(second.stderr, /run b of crew paying: completed/)
  assert.doesNotMatch(second.stderr, /run a /)

  first.child.kill('SIGKILL')
  await first.ended()
  const third = await folder.start(cron).ended()
  assert.equal(third.code, 0)
  assert.match(third.stderr, /run a of crew paying: completed/)
  assert.doesNotMatch(third.stderr, /run b /)

  const lines = readFileSync(join(folder.path, 'ledger'), 'utf8').trim().split('\n')
  assert.deepEqual(
    lines.map((line) => line.slice(0, 2)),
    ['a ', 'b '],
  )
})

const secret = 'a secret that is long enough'
const cronSecret = 'what the platform sends'
const fromCron = (): Request => new Request('http://x/cron', { headers: { authorization: `Bearer ${cronSecret}` } })

test('a cron route calls the function for every ready run, and requires its secret', async () => {
  const crew = claims(memoryStore())
  const handler = advanceHandler({ crews: [crew], secret, sliceSeconds: 0.001 })
  await using functions = await serve(handler)
  const route = cronRoute([crew], { url: functions.url, secret, cronSecret })
  for (const id of ['a', 'b', 'c']) await crew.enqueue({ id, inputs: { notes: id } })
  assert.equal((await route(new Request('http://x/cron'))).status, 401)
  assert.equal((await crew.run('a').view()).status, 'queued')
  assert.equal((await route(fromCron())).status, 204)
  for (const id of ['a', 'b', 'c']) assert.equal((await crew.run(id).view()).status, 'completed')
})

test(
  'a cron route that is called again and again brings a run through functions that are killed',
  { skip: !isFull && 'only with npm run test:full' },
  async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using platform = await startPlatform([store, folder.path, '1', secret])
    await using crew = functionCrew({ store, folder: folder.path, tasks: 1 })
    await crew.enqueue({ id: 'r' })
    const route = cronRoute([crew], { url: platform.url, secret, cronSecret })
    while ((await crew.run('r').view()).status !== 'completed') assert.equal((await route(fromCron())).status, 204)
    assert.equal(readFileSync(join(folder.path, 'calls'), 'utf8').split('\n').length - 1, callsPerTask)
    assert.ok(platform.kills().hung > 0)
  },
)

async function serve(handler: (request: Request) => Promise<Response>) {
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat((await Array.fromAsync(incoming)) as Buffer[])
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
    const answer = await handler(new Request('http://x/', { method: 'POST', headers, body }))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
