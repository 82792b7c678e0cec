// A run as server-sent events: over real HTTP on loopback, read by an independent parser.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, test } from 'node:test'
import { RepriseError, type RunEvent } from 'reprise'
import { eventResponse, type RunSource } from '../../../src/crew/result/event-stream.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { gate, speakingCrew, speakingModel } from './speaking-model.ts'

describe('a response', () => {
  test('has each entry with its number, and model text without one, until the run has ended', async () => {
    const heard = gate()
    const run = await speakingCrew(speakingModel(() => ['Once\r\n', heard.wait, 'upon\u2028a "time".'])).kickoff()
      .started
    const sent = run.toResponse()
    await using server = await serve(() => sent)
    const response = await fetch(server.url)
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'no-cache, no-transform')
    const events = await read(response, (event) => event.type === 'text.delta' && heard.open())
    assert.deepEqual(
      events.map(({ id, type }) => [id, type]),
      [
        ['1', 'run.created'],
        ['2', 'task.started'],
        [undefined, 'text.delta'],
        [undefined, 'text.delta'],
        ['3', 'model.replied'],
        ['4', 'task.completed'],
        ['5', 'run.completed'],
        [undefined, 'end'],
      ],
    )
    assert.deepEqual(events[2]?.data, { type: 'text.delta', path: 'note#1/1', text: 'Once\r\n' })
    assert.deepEqual(events[3]?.data, { type: 'text.delta', path: 'note#1/1', text: 'upon\u2028a "time".' })
    assert.deepEqual((events[4]?.data as { parts: unknown } | undefined)?.parts, [
      { type: 'text', text: 'Once\r\nupon\u2028a "time".' },
    ])
  })

  test('ends when the run is suspended', async () => {
    const run = await speakingCrew(
      speakingModel(() => ['Done.']),
      { tasks: ['one', 'two'] },
    ).kickoff({ through: 'one' }).started
    const events = await read(await run.toResponse())
    assert.equal(events.at(-2)?.type, 'run.suspended')
    assert.deepEqual(events.at(-1), { id: undefined, type: 'end', data: { status: 'suspended' } })
  })

  test('marks the end of history once, between old entries and new ones', async () => {
    const [asked, go] = [gate(), gate()]
    const crew = speakingCrew(
      speakingModel((call) => (call === 2 ? (asked.open(), [go.wait, 'Two.']) : ['One.'])),
      { tasks: ['one', 'two'] },
    )
    await crew.kickoff({ id: 'r', through: 'one' })
    const run = await crew.resume('r').started
    run.events()
    await asked.wait
    const heard: Received[] = []
    for await (const event of eventsIn(await run.toResponse())) {
      heard.push(event)
      if (event.type === 'caught-up') go.open()
    }
    const marks = heard.filter(({ type }) => type === 'caught-up')
    assert.deepEqual(marks, [{ id: undefined, type: 'caught-up', data: { type: 'caught-up', entry: 7 } }])
    const types = heard.map(({ type }) => type)
    assert.ok(types.indexOf('run.suspended') < types.indexOf('caught-up'))
    assert.deepEqual(types.slice(types.indexOf('caught-up') + 1), [
      'text.delta',
      'model.replied',
      'task.completed',
      'run.completed',
      'end',
    ])
  })

  test('does not mark the end of history if the run rests by then, since the end event says more', async () => {
    const crew = speakingCrew(speakingModel(() => ['Done.']))
    await crew.kickoff({ id: 'r' })
    const types: string[] = []
    for await (const { type } of eventsIn(await crew.run('r').toResponse())) types.push(type)
    assert.deepEqual(types.slice(-2), ['run.completed', 'end'])
    assert.ok(!types.includes('caught-up'))
  })

  test('reports that the run rests to a client that has everything of a resumable run', async () => {
    const crew = speakingCrew(
      speakingModel(() => ['Done.']),
      { tasks: ['one', 'two'] },
    )
    await crew.kickoff({ id: 'r', through: 'one' })
    for (const id of ['5', '99']) {
      const response = await crew.run('r').toResponse({ headers: { 'last-event-id': id } })
      assert.equal(response.status, 200)
      assert.deepEqual(await read(response), [{ id: undefined, type: 'end', data: { status: 'suspended' } }])
    }
  })

  test('ends without an end event when the store is closed, so that the client reconnects', async () => {
    const [asked, go] = [gate(), gate()]
    const crew = speakingCrew(
      speakingModel(() => (asked.open(), [go.wait, 'Done.'])),
      { store: 'memory:' },
    )
    const run = await crew.kickoff({ id: 'r' }).started
    const reading = read(await run.toResponse())
    await asked.wait
    await crew.close()
    assert.deepEqual(
      (await reading).map(({ type }) => type),
      ['run.created', 'task.started'],
    )
    go.open()
    await run.result().catch(() => undefined)
  })

  test('continues after the last entry that the client has seen', async () => {
    const go = gate()
    const crew = speakingCrew(speakingModel(() => ['Once ', go.wait, 'more.']))
    const run = await crew.kickoff({ id: 'r' }).started
    // a listener from the start, or the first call would not stream
    run.events()
    await using server = await serve((request) => run.toResponse(request))
    const cut = await fetch(server.url)
    let last: string | undefined
    for await (const event of eventsIn(cut)) {
      last = event.id ?? last
      if (event.type === 'text.delta') break
    }
    assert.equal(last, '2')
    const again = await fetch(server.url, { headers: { 'last-event-id': last ?? '' } })
    const events = await read(again, (event) => event.type === 'text.delta' && go.open())
    // the current reply is sent again from its beginning, after a retraction
    const types = events.map(({ type }) => type)
    assert.deepEqual(types.slice(0, 2), ['text.reset', 'text.delta'])
    assert.deepEqual(types.slice(-4), ['model.replied', 'task.completed', 'run.completed', 'end'])
    const said = events.filter(({ type }) => type === 'text.delta').map(({ data }) => (data as { text: string }).text)
    assert.equal(said.join(''), 'Once more.')
  })

  test('reads the last seen entry from a web request as well', async () => {
    const crew = speakingCrew(speakingModel(() => ['Done.']))
    const { runId } = await crew.kickoff()
    const request = new Request('http://localhost/', { headers: { 'Last-Event-ID': '3' } })
    const events = await read(await crew.run(runId).toResponse(request, { after: 1 }))
    assert.deepEqual(
      events.map(({ id }) => id),
      ['4', '5', undefined],
    )
  })

  test('begins after `after` for a client without a last seen entry', async () => {
    const crew = speakingCrew(speakingModel(() => ['Done.']))
    const { runId } = await crew.kickoff()
    const events = await read(await crew.run(runId).toResponse(undefined, { after: 4 }))
    assert.deepEqual(
      events.map(({ id }) => id),
      ['5', undefined],
    )
  })

  test("begins at the beginning for a client whose last seen entry isn't a number", async () => {
    const crew = speakingCrew(speakingModel(() => ['Done.']))
    const { runId } = await crew.kickoff()
    for (const id of ['', 'x', '-1', '1e3', '9'.repeat(40)]) {
      const events = await read(await crew.run(runId).toResponse({ headers: { 'last-event-id': id } }))
      assert.equal(events.filter((event) => event.id !== undefined).length, 5, id)
    }
  })

  test('tells a client that has everything of an ended run not to reconnect', async () => {
    const crew = speakingCrew(speakingModel(() => ['Done.']))
    const run = await crew.kickoff({ id: 'r' }).started
    await run.result()
    const request = { headers: { 'last-event-id': '5' } }
    assert.equal((await run.toResponse(request)).status, 204)
    assert.equal((await crew.run('r').toResponse(request)).status, 204)
    assert.equal((await run.toResponse({ headers: { 'last-event-id': '4' } })).status, 200)
  })

  test('accepts extra headers, but stays an event stream', async () => {
    const run = await speakingCrew(speakingModel(() => ['Done.'])).kickoff().started
    const headers = { 'access-control-allow-origin': '*', 'content-type': 'text/plain' }
    const response = await run.toResponse(undefined, { headers })
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    await read(response)
  })

  test('refuses an unknown option', async () => {
    const run = await speakingCrew(speakingModel(() => ['Done.'])).kickoff().started
    await assert.rejects(run.toResponse(undefined, { affter: 1 } as object), { code: 'OPTION_UNKNOWN' })
    await run.result()
  })
})

describe('a client that leaves', () => {
  test('does not stop the run, and nothing listens for it any more', async () => {
    const go = gate()
    const model = speakingModel((call) => (call === 1 ? ['Once', go.wait] : ['Twice']))
    const run = await speakingCrew(model, { tasks: ['one', 'two'] }).kickoff().started
    const sent = run.toResponse()
    await using server = await serve(() => sent)
    const client = new AbortController()
    const response = await fetch(server.url, { signal: client.signal })
    const reading = read(response, (event) => event.type === 'text.delta' && client.abort())
    await assert.rejects(reading, { name: 'AbortError' })
    await server.closed()
    go.open()
    assert.equal(String(await run.result()), 'Twice')
    assert.deepEqual(model.asked, ['streamed', 'whole'])
  })

  test('is released at once while no event comes', async () => {
    const run = await speakingCrew(speakingModel(() => [new Promise(() => {})])).kickoff({ id: 'r' }).started
    const reader = ((await run.toResponse()).body as ReadableStream<Uint8Array>).getReader()
    for (let chunk = 0; chunk < 3; chunk++) await reader.read()
    const pending = reader.read()
    await reader.cancel()
    assert.deepEqual(await pending, { done: true, value: undefined })
    await run.cancel()
  })
})

describe('on the wire to the client,', () => {
  const served = { id: 'r', isOver: async () => false }
  const never: RunSource['world'] = { sleep: () => new Promise(() => {}) }
  const event = (text: string): RunEvent => ({ type: 'text.delta', path: 'note#1/1', text })

  async function* given(...events: (RunEvent | Error)[]): AsyncGenerator<RunEvent, undefined> {
    for (const one of events) {
      if (one instanceof Error) throw one
      yield one
    }
  }

  test('a comment breaks the silence every 15 seconds, and no event is lost to it', async () => {
    const sleeps: { ms: number; end: () => void; signal: AbortSignal }[] = []
    const slept = gate()
    const world: RunSource['world'] = {
      sleep: (ms, signal) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        sleeps.push({ ms, end: resolve, signal })
        slept.open()
        return promise
      },
    }
    const go = gate()
    async function* late(): AsyncGenerator<RunEvent, undefined> {
      await go.wait
      yield event('Once')
    }
    const { body } = await eventResponse({ ...served, follow: () => late(), world }, undefined, {})
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    const next = async () => Buffer.from((await reader.read()).value ?? []).toString()
    assert.equal(await next(), ': run r\n\n')
    const first = next()
    await slept.wait
    sleeps[0]?.end()
    assert.equal(await first, ': ping\n\n')
    const second = next()
    go.open()
    assert.match(await second, /^event: text\.delta\ndata: \{.*\}\n\n$/)
    assert.deepEqual(
      sleeps.map(({ ms, signal }) => [ms, signal.aborted]),
      [
        [15_000, true],
        [15_000, true],
      ],
    )
  })

  test('no more is read than the client takes', async () => {
    let fetched = 0
    async function* many(): AsyncGenerator<RunEvent, undefined> {
      for (;;) yield event(`${++fetched}`)
    }
    const { body } = await eventResponse({ ...served, follow: () => many(), world: never }, undefined, {})
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    for (let chunk = 0; chunk < 4; chunk++) await reader.read()
    await new Promise(setImmediate)
    assert.equal(fetched, 3)
    await reader.cancel()
  })

  test('an error is the last event, without the keys in it', async () => {
    const error = new RepriseError('JOURNAL_DAMAGED', 'entry 3 is damaged, says sk-abcdefgh1234')
    const source = { ...served, follow: () => given(event('Once'), error), world: never }
    const events = await read(await eventResponse(source, undefined, {}))
    assert.deepEqual(events.at(-1), {
      id: undefined,
      type: 'error',
      data: { code: 'JOURNAL_DAMAGED', message: 'entry 3 is damaged, says [redacted]' },
    })
  })

  test('the message of a foreign error is left out', async () => {
    const error = new Error('connect to db://ada:pw@host failed')
    const source = { ...served, follow: () => given(error), world: never }
    const [last] = await read(await eventResponse(source, undefined, {}))
    assert.deepEqual(last?.data, {
      code: 'STORE_FAILED',
      message: 'the events of run r cannot be read any further',
    })
  })
})

test('another process follows the run with the same entries, but without model text', async () => {
  await using folder = await temporaryFolder()
  const store = `sqlite:${folder.path}/runs.db`
  const go = gate()
  await using crew = speakingCrew(
    speakingModel(() => ['Once ', go.wait, 'more.']),
    { store },
  )
  const run = await crew.kickoff({ id: 'r' }).started
  const here = read(await run.toResponse())
  const script = new URL('follower.ts', import.meta.url).pathname
  const child = spawn(process.execPath, ['--conditions=reprise-source', script, store, 'r'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const there: Received[] = []
  for await (const event of parse(child.stdout)) {
    if (event.type !== 'caught-up') there.push(event)
    if (event.type === 'task.started') go.open()
  }
  const unspoken = (await here).filter(({ type }) => !type.endsWith('.delta'))
  assert.equal(unspoken.length, 6)
  assert.deepEqual(there, unspoken)
})

interface Received {
  readonly id: string | undefined
  readonly type: string
  readonly data: unknown
}

/** Without the mark that history is over: where it comes depends on how quick the client is. */
async function read(response: Response, hear?: (event: Received) => unknown): Promise<Received[]> {
  const events: Received[] = []
  for await (const event of eventsIn(response)) {
    if (event.type === 'caught-up') continue
    events.push(event)
    hear?.(event)
  }
  return events
}

function eventsIn(response: Response): AsyncGenerator<Received> {
  return parse(response.body ?? [])
}

/** Server-sent events as the standard has them: lines end with CR, LF or both, and an empty one ends an event. */
async function* parse(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Received> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(text)
      if (!end) break
      const block = text.slice(0, end.index)
      text = text.slice(end.index + end[0].length)
      const fields = block.split(/\r\n|\n|\r/).filter((line) => !line.startsWith(':'))
      if (fields.length === 0) continue
      const field = (name: string) =>
        fields.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2))
      assert.deepEqual(
        fields.filter((line) => !/^(id|event|data): /.test(line)),
        [],
        'there are only known fields',
      )
      yield { id: field('id')[0], type: field('event')[0] ?? 'message', data: JSON.parse(field('data').join('\n')) }
    }
  }
  assert.equal(text, '', 'the last event is whole')
}

/** A server of node:http that answers as the guide shows. */
async function serve(
  answer: (request: IncomingMessage) => Promise<Response>,
): Promise<AsyncDisposable & { readonly url: string; closed(): Promise<void> }> {
  const closed = Promise.withResolvers<void>()
  const send = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const response = await answer(request)
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    await pipeline(response.body ? Readable.fromWeb(response.body) : Readable.from([]), reply)
  }
  const server = createServer(
    (request, reply) => void send(request, reply).then(closed.resolve, () => closed.resolve()),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    closed: () => closed.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
