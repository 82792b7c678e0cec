// The service of the guide, as a process that is killed and started again. Claims are counted in a file, requests by
// the model server.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, watch } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { crew } from '../../examples/service/crew.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { openModel, root, startBundled, type Ended, type Model } from './support.ts'

const fixtures = 'service/fixtures.json'
const facts = 'Task: Extract the facts from these case notes: Policy P-77, a pipe burst.'
const filing = 'Task: File the claim and give its number.'
const note = 'Task: Write a note on this claim for the customer.'
const claim = { id: 'claim-1', notes: 'Policy P-77, a pipe burst.' }

interface Service extends AsyncDisposable {
  post(
    path: string,
    body: object,
  ): Promise<{ readonly status: number; readonly body: { readonly [name: string]: unknown } }>
  get(path: string): Promise<{ readonly [name: string]: unknown }>
  /** The server-sent events, until one of this type. */
  eventsUntil(type: string, after?: number): Promise<{ readonly id: number; readonly event: string }[]>
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Ended>
}

async function startService(folder: string, model: Model, confirmMs = 0): Promise<Service> {
  const { child, ended } = await startBundled('examples/service/server.ts', [], folder, {
    ...model.environment,
    PORT: '0',
    CLAIMS_LEDGER: ledgerIn(folder),
    CLAIMS_CONFIRM_MS: String(confirmMs),
  })
  const [said] = (await Promise.race([
    once(child.stdout ?? child, 'data'),
    ended.then(({ stderr }) => assert.fail(stderr)),
  ])) as [string]
  const address = /http:\/\/\S+/.exec(said)?.[0] ?? ''
  return {
    async post(path, body) {
      const response = await fetch(address + path, { method: 'POST', body: JSON.stringify(body) })
      return { status: response.status, body: (await response.json()) as { [name: string]: unknown } }
    },
    async get(path) {
      const response = await fetch(address + path)
      return { http: response.status, ...((await response.json()) as object) }
    },
    async eventsUntil(type, after) {
      const headers = after === undefined ? {} : { 'last-event-id': String(after) }
      const response = await fetch(`${address}/runs/claim-1/events`, { headers })
      const events: { id: number; event: string }[] = []
      let text = ''
      for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        const blocks = (text + Buffer.from(piece).toString('utf8')).split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) {
          const event = /^event: (.*)$/m.exec(block)?.[1]
          if (event !== undefined) events.push({ id: Number(/^id: (\d+)$/m.exec(block)?.[1]), event })
          if (event === type) return events
        }
      }
      return events
    },
    end(signal) {
      child.kill(signal)
      return ended
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const ledgerIn = (folder: string): string => join(folder, 'ledger.txt')

async function filed(folder: string): Promise<number> {
  const text = await readFile(ledgerIn(folder), 'utf8').catch(() => '')
  return text.split('\n').length - 1
}

test('a service killed inside a once call, and inside a model call, continues automatically and repeats nothing', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const changes = watch(folder.path)[Symbol.asyncIterator]()

  await using first = await startService(folder.path, model, 600_000)
  const posts = await Promise.all([1, 2, 3].map(() => first.post('/runs', claim)))
  for (const { status, body } of posts) assert.deepEqual([status, body], [202, { id: 'claim-1' }])
  while ((await filed(folder.path)) === 0) await changes.next()
  await changes.return?.()
  const seen = (await first.eventsUntil('tool.called')).at(-1)?.id ?? 0
  await first.end('SIGKILL')

  const writing = model.hold(note)
  await using second = await startService(folder.path, model, 600_000)
  await writing.arrived
  await second.end('SIGKILL')
  writing.release()

  await using third = await startService(folder.path, model)
  const missed = await third.eventsUntil('end', seen)
  // the marks, of where history is over and of the end, have no number
  const numbers = missed.filter(({ id }) => id > 0).map(({ id }) => id)
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, index) => seen + 1 + index),
    'every entry that the client has not seen, and none that it has',
  )
  const types = missed.map(({ event }) => event)
  assert.ok(
    types.indexOf('run.resumed') < types.indexOf('tool.returned'),
    'the second process found out that it was filed',
  )

  assert.equal((await third.post('/runs', claim)).status, 202)
  const other = await third.post('/runs', { ...claim, notes: 'Policy P-78.' })
  assert.deepEqual([other.status, other.body['code']], [409, 'INPUTS_DIFFER'])
  const asked = await third.get('/runs/claim-1')
  const [question] = asked['questions'] as { id: string; output: string }[]
  assert.deepEqual(
    [asked['status'], question?.id, question?.output],
    ['waiting', 'q1', 'Your claim CL-0001 is filed. An assessor will call you this week.'],
  )

  const answer = { question: 'q1', answer: { decision: 'approve' }, by: 'Ada' }
  assert.equal((await third.post('/runs/claim-1/answers', answer)).status, 202)
  await third.eventsUntil('run.completed')
  const done = await third.get('/runs/claim-1')
  assert.deepEqual(
    [done['status'], done['result']],
    ['completed', 'Your claim CL-0001 is filed. An assessor will call you this week.'],
  )
  const late = await third.post('/runs/claim-1/answers', answer)
  assert.equal(late.status, 409)

  assert.equal(await filed(folder.path), 1)
  assert.deepEqual(model.asked(), [facts, filing, filing, note, note], 'only what the kill cut off is asked again')
})

test('a service told to stop accepts nothing new, finishes its active runs, and continues those answered meanwhile', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const writing = model.hold(note)
  await using service = await startService(folder.path, model)
  assert.deepEqual(await service.get('/health'), { http: 200, ok: true })
  await service.post('/runs', claim)
  await writing.arrived
  const ended = service.end('SIGTERM')
  const isOpen = (): Promise<boolean> =>
    service.get('/health').then(
      ({ http }) => http === 200,
      () => false,
    )
  while (await isOpen());
  writing.release()
  const { code, stdout } = await ended
  assert.deepEqual([code, stdout.includes('run claim-1: suspended')], [0, true])
  assert.equal(await filed(folder.path), 1)

  // an answer that comes while no process is there
  await using elsewhere = crew.with({ store: `sqlite:${join(folder.path, '.reprise/runs.db')}` })
  await elsewhere.run('claim-1').answer('q1', { decision: 'approve' })
  await using again = await startService(folder.path, model)
  // the first look may come before the run is taken up, and find it at rest
  while (!(await again.eventsUntil('run.completed')).some(({ event }) => event === 'run.completed'));
})

test('a service explains a wrong request', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  await using service = await startService(folder.path, model)
  const codes = await Promise.all([
    service.get('/runs/missing').then(({ http }) => http),
    service.get('/elsewhere').then(({ http }) => http),
    service.get('/runs/%E0%A4%A').then(({ http }) => http),
    service.post('/runs', { id: 'claim-1' }).then(({ status }) => status),
    service.post('/runs', { ...claim, id: 'a\nb' }).then(({ status }) => status),
    service
      .post('/runs/missing/answers', { question: 'q1', answer: { decision: 'approve' }, by: 'Ada' })
      .then(({ status }) => status),
  ])
  assert.deepEqual(codes, [404, 404, 400, 400, 400, 404])
  const { body } = await service.post('/runs', { id: 'claim-1' })
  assert.match(String(body['message']), /^\S+ Invalid input: expected string.*\n.*notes$/)
})

test('the guide shows the code of the example as it is', async () => {
  const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8')
  const code = (await Promise.all(['service', 'server'].map((name) => read(`examples/service/${name}.ts`)))).join('\n')
  const shown = [...(await read('docs/guides/in-a-service.md')).matchAll(/^```typescript\n(.*?)^```$/gms)]
  assert.ok(shown.length > 4)
  for (const [, block = ''] of shown) assert.ok(code.includes(block), block)
})
