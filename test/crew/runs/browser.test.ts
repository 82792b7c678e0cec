// The browser code of the guide, on a real EventSource and a real server: it receives the end of every run.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Crew, Task, type Run } from 'reprise'
import { newStore } from '../../engine/support.ts'
import { gate, speakingCrew, speakingModel } from './speaking-model.ts'

const guide = readFileSync(new URL('../../../docs/guides/streaming.md', import.meta.url), 'utf8')
const script = /^```js\n([^]*?)^```$/m.exec(guide)?.[1] ?? ''
const tasks = ['one', 'two']

describe('the page of the guide', () => {
  test('receives the end of a run that was suspended and is resumed', async () => {
    const go = gate()
    const crew = speakingCrew(
      speakingModel((call) => (call === 2 ? [go.wait, 'Two.'] : ['One.'])),
      { tasks },
    )
    await crew.kickoff({ id: 'r', through: 'one' })
    await crew.resume('r').started
    const heard = await visit(crew.run('r'), (event) => event === '(caught up)' && go.open())
    assert.deepEqual(heard.events, [
      'run.created',
      'model.replied',
      'run.suspended',
      'run.resumed',
      '(caught up)',
      'Two.',
      'model.replied',
      'run.completed',
    ])
    assert.deepEqual([heard.ended, heard.visits], ['completed', 1])
  })

  test('receives the end of a run that had failed and was resumed', async () => {
    const crew = speakingCrew(speakingModel((call) => (call === 1 ? [new Error('no')] : ['Done.'])))
    await assert.rejects(crew.kickoff({ id: 'r' }))
    await crew.resume('r')
    const { events, ended } = await visit(crew.run('r'))
    assert.deepEqual(events.slice(-4), ['run.failed', 'run.resumed', 'model.replied', 'run.completed'])
    assert.equal(ended, 'completed')
  })

  test('closes, and does not reconnect, when the run rests', async () => {
    const crew = speakingCrew(
      speakingModel(() => ['Done.']),
      { tasks },
    )
    await crew.kickoff({ id: 'r', through: 'one' })
    const { events, ended, visits } = await visit(crew.run('r'))
    assert.deepEqual(events, ['run.created', 'model.replied', 'run.suspended'])
    assert.deepEqual([ended, visits], ['suspended', 1])
  })

  test('receives the end when another crew, as in another process, resumes the run', async () => {
    const [go, store] = [gate(), newStore()]
    const crew = speakingCrew(
      speakingModel((call) => (call === 2 ? [go.wait, 'Two.'] : ['One.'])),
      { tasks, store },
    )
    const here = await crew.kickoff({ id: 'r', through: 'one' }).started
    await here.result()
    await crew.with({ store }).resume('r').started
    // the server still has the handle of the first life
    const { events, ended } = await visit(here, (event) => event === 'run.resumed' && go.open())
    assert.deepEqual(events.filter(isNoMark).slice(-2), ['model.replied', 'run.completed'])
    assert.equal(ended, 'completed')
  })

  test("receives the model's text of a later life through the handle of an earlier one", async () => {
    const go = gate()
    const crew = speakingCrew(
      speakingModel((call) => (call === 2 ? [go.wait, 'Two.'] : ['One.'])),
      { tasks },
    )
    const first = await crew.kickoff({ id: 'r', through: 'one' }).started
    await first.result()
    const second = await crew.resume('r').started
    second.events()
    const { events, ended } = await visit(first, (event) => event === 'run.resumed' && go.open())
    assert.deepEqual(events.filter(isNoMark).slice(-3), ['Two.', 'model.replied', 'run.completed'])
    assert.equal(ended, 'completed')
  })

  test('reconnects for the rest after a cut, and receives nothing twice', async () => {
    const go = gate()
    const crew = speakingCrew(
      speakingModel((call) => (call === 2 ? [go.wait, 'Two.'] : ['One.'])),
      { tasks },
    )
    await crew.kickoff({ id: 'r', through: 'one' })
    await crew.resume('r').started
    const run = crew.run('r')
    const heard = await visit(run, (event, cut) => {
      if (event !== 'run.resumed') return
      cut()
      go.open()
    })
    assert.deepEqual(
      heard.events.filter((event) => event.startsWith('run.')),
      ['run.created', 'run.suspended', 'run.resumed', 'run.completed'],
    )
    // a page that has everything of a completed run gets 204, and closes without an end event
    assert.ok(heard.visits > 1)
  })

  test('receives the end of a nested run that was suspended with the outer one', async () => {
    const [store, stop] = [newStore(), new AbortController()]
    const inner = speakingCrew(
      speakingModel(() => (stop.signal.aborted ? ['Done.'] : [new Promise(() => {})])),
      { store },
    )
    const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew: inner })], store })
    const run = await crew.kickoff({ id: 'r', signal: stop.signal }).started
    for await (const event of run.events()) if (event.type === 'task.started') stop.abort()
    await crew.resume('r')
    const { events, ended } = await visit(inner.run('r/inner#1'))
    assert.deepEqual(events, ['run.created', 'run.suspended', 'run.resumed', 'model.replied', 'run.completed'])
    assert.equal(ended, 'completed')
  })
})

/** Where that comes depends on how quick the page is, unless the run waits for it. */
function isNoMark(event: string): boolean {
  return event !== '(caught up)'
}

interface Visit {
  /** What the page heard, in order. */
  readonly events: readonly string[]
  readonly ended: string
  /** How often it asked the server. */
  readonly visits: number
}

/** Resolves once the page has received the end, or a 204. */
async function visit(run: Run, hear: (event: string, cut: () => void) => unknown = () => undefined): Promise<Visit> {
  let visits = 0
  let current: ServerResponse | undefined
  const finished = Promise.withResolvers<string>()
  const serve = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    visits++
    current = reply
    const response = await run.toResponse(request)
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.status === 204) finished.resolve('204')
    if (!response.body) return void reply.end()
    // or it would wait for seconds before it comes back
    reply.write('retry: 1\n\n')
    await pipeline(Readable.fromWeb(response.body), reply).catch(() => undefined)
  }
  const server = createServer((request, reply) => void serve(request, reply))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const page = new Worker(new URL('browser-page.ts', import.meta.url), {
    workerData: { script, id: run.id, origin },
    execArgv: ['--experimental-eventsource', '--no-warnings'],
  })
  page.on('error', finished.reject)
  const events: string[] = []
  page.on('message', (message: string | { readonly ended: string }) => {
    if (typeof message !== 'string') return finished.resolve(message.ended)
    events.push(message)
    hear(message, () => current?.end())
  })
  try {
    return { events, ended: await finished.promise, visits }
  } finally {
    await page.terminate()
    server.closeAllConnections()
    server.close()
  }
}
