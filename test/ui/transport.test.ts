// The AI SDK's own client over HTTP: `Chat`, which is what `useChat` is made of, with `DefaultChatTransport`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { Agent, Crew, RepriseError, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { answersFrom, lastEntryNumber, toUIMessageResponse, toUIMessageStream, type RunUIMessage } from 'reprise/ui'
import { z } from 'zod'
import { gate, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { newStore } from '../engine/support.ts'
import { loopback } from './loopback.ts'
import { shown } from './read-message.ts'

/** What the guide has servers do. */
function handler(crew: Crew): (request: Request) => Promise<Response> {
  return async (request) => {
    const [, id = ''] = /^\/api\/chat\/([^/]+)\/stream$/.exec(new URL(request.url).pathname) ?? []
    if (request.method === 'GET') return toUIMessageResponse(crew.run(id), request)
    const given = (await request.json()) as { id: string; messages: RunUIMessage[] }
    const last = given.messages.at(-1)
    if (last?.role === 'user') {
      const inputs = { notes: last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') }
      try {
        return await toUIMessageResponse(await crew.kickoff({ id: given.id, inputs }).started, request)
      } catch (error) {
        if (!RepriseError.isInstance(error) || error.code !== 'INPUTS_DIFFER') throw error
        return new Response('This chat has its run already: begin another chat.', { status: 409 })
      }
    }
    for (const { question, answer } of answersFrom(last)) await crew.run(given.id).answer(question, answer)
    const run = await crew.run(given.id).resume().started
    return toUIMessageResponse(run, request, { after: lastEntryNumber(last) })
  }
}

function claims(): Crew {
  const file = tool({
    name: 'file_claim',
    description: 'File a claim',
    approval: true,
    input: z.object({ policy: z.string() }),
    run: () => ({ claim: 7 }),
  })
  const model = scriptedModel([
    { when: 'File', calls: [{ tool: 'file_claim', input: { policy: 'P-77' } }], reply: 'I file it.' },
    { when: 'File', after: /denied|early/, reply: 'It was not filed.' },
    { when: 'File', reply: 'Filed as 7.' },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'File', model, tools: [file] })
  return new Crew({
    name: 'claims',
    tasks: [new Task({ name: 'claim', description: 'File {notes}', agent })],
    store: newStore(),
  })
}

function chatOf(url: string, id: string, transport: object = {}): Chat<RunUIMessage> {
  return new Chat<RunUIMessage>({
    id,
    transport: new DefaultChatTransport<RunUIMessage>({ api: `${url}/api/chat`, ...transport }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
}

describe('the client of the AI SDK', () => {
  for (const [decision, end] of Object.entries({ approves: 'Filed as 7.', denies: 'It was not filed.' })) {
    test(`receives a request for approval, ${decision}, and the rest in the same message`, async () => {
      await using server = await loopback(handler(claims()))
      const chat = chatOf(server.url, 'c1')
      await chat.sendMessage({ text: 'File it' })
      assert.equal(chat.status, 'ready')
      assert.deepEqual(shown(chat.lastMessage), [
        'task claim: waiting',
        'I file it.',
        'tool-file_claim claim#1/1.0: approval-requested',
        'question q1: open',
      ])
      const idle = settled(chat)
      const approved = decision === 'approves'
      await chat.addToolApprovalResponse({ id: 'q1', approved, ...(approved ? {} : { reason: 'too early' }) })
      await idle
      assert.equal(chat.error, undefined)
      assert.deepEqual(
        chat.messages.map(({ role, id }) => [role, id].slice(0, role === 'user' ? 1 : 2)),
        [['user'], ['assistant', 'run-c1']],
      )
      assert.deepEqual(shown(chat.lastMessage), [
        'task claim: executed',
        'I file it.',
        `tool-file_claim claim#1/1.0: ${approved ? 'output-available' : 'output-denied'}`,
        'question q1: answered',
        '--',
        end,
        '--',
      ])
    })
  }

  test('in a reloaded page has the message once, like the page that stayed', async () => {
    const go = gate()
    const crew = speakingCrew(
      speakingModel(() => ['Once ', go.wait, 'upon a time.']),
      { prompt: ' {notes}' },
    )
    await using server = await loopback(handler(crew))
    const stayed = chatOf(server.url, 'c2')
    const sent = stayed.sendMessage({ text: 'Go' })
    const again = chatOf(server.url, 'c2')
    await until(() => shown(stayed.lastMessage).at(-1) === 'Once …')
    const resumed = again.resumeStream()
    await until(() => shown(again.lastMessage).at(-1) === 'Once …')
    go.open()
    await Promise.all([sent, resumed])
    assert.deepEqual(shown(stayed.lastMessage), ['task note: executed', 'Once upon a time.', '--'])
    assert.deepEqual(again.lastMessage, stayed.lastMessage)
    assert.equal(again.messages.length, 1)
  })

  for (const [how, isReplay] of [
    ['from the beginning', true],
    ['after the last entry that it has', false],
  ] as const) {
    test(`continues ${how} after a cut in the middle of a text`, async () => {
      const go = gate()
      const crew = speakingCrew(
        speakingModel((call) => (call === 2 ? ['Two ', go.wait, 'ends.'] : ['One.'])),
        { tasks: ['one', 'two'], prompt: ' {notes}' },
      )
      const asked: (string | null)[] = []
      const handle = handler(crew)
      await using server = await loopback((request) => {
        asked.push(request.headers.get('last-event-id'))
        return handle(request)
      })
      const chat: Chat<RunUIMessage> = chatOf(server.url, 'c3', {
        resumeStreamIsReplay: isReplay,
        fetch: asChromium,
        prepareReconnectToStreamRequest: ({ api, id }: { api: string; id: string }) => ({
          api: `${api}/${id}/stream`,
          headers: isReplay ? {} : { 'last-event-id': String(lastEntryNumber(chat.lastMessage)) },
        }),
      })
      const sent = chat.sendMessage({ text: 'Go' })
      await until(() => shown(chat.lastMessage).at(-1) === 'Two …')
      server.cut()
      await sent
      assert.equal(chat.status, 'error')
      const resumed = chat.resumeStream()
      await until(() => asked.length === 2)
      go.open()
      await resumed
      assert.deepEqual(asked, [null, isReplay ? null : '5'])
      assert.equal(chat.status, 'ready')
      assert.deepEqual(shown(chat.lastMessage), [
        'task one: executed',
        'One.',
        '--',
        'task two: executed',
        'Two ends.',
        '--',
      ])
    })
  }

  test('that opens an empty chat gets the answer that nothing can be resumed', async () => {
    await using server = await loopback(handler(claims()))
    const chat = chatOf(server.url, 'new')
    await chat.resumeStream()
    assert.deepEqual([chat.status, chat.error, chat.messages], ['ready', undefined, []])
  })

  test('that sends a second message to a chat gets an error that the chat has its run', async () => {
    await using server = await loopback(handler(claims()))
    const chat = chatOf(server.url, 'c1')
    await chat.sendMessage({ text: 'File it' })
    await chat.sendMessage({ text: 'And what about the vendor?' })
    assert.deepEqual(
      [chat.status, chat.error?.message],
      ['error', 'This chat has its run already: begin another chat.'],
    )
  })

  test('that has everything of an ended run gets the answer that nothing can be resumed', async () => {
    const crew = speakingCrew(speakingModel(() => ['Done.']))
    await crew.kickoff({ id: 'c4' })
    await using server = await loopback(handler(crew))
    const headers = { 'last-event-id': '5' }
    const transport = new DefaultChatTransport<RunUIMessage>({ api: `${server.url}/api/chat`, headers })
    assert.equal(await transport.reconnectToStream({ chatId: 'c4' }), null)
  })
})

test('an older client of the AI SDK refuses the first chunk, which names the version that it needs', async () => {
  const crew = speakingCrew(speakingModel(() => ['Done.']))
  await crew.kickoff({ id: 'r' })
  for await (const chunk of toUIMessageStream(crew.run('r')))
    return assert.deepEqual(chunk, { type: 'reset-step', needs: 'ai 7.0.70 or newer in the page' })
})

test('a response for a missing run is refused, except for a GET, and so is one with an invalid option', async () => {
  const crew = speakingCrew(speakingModel(() => ['Done.']))
  await assert.rejects(toUIMessageResponse(crew.run('none')), { code: 'RUN_NOT_FOUND' })
  const posted = new Request('http://127.0.0.1/', { method: 'POST' })
  await assert.rejects(toUIMessageResponse(crew.run('none'), posted), { code: 'RUN_NOT_FOUND' })
  const page = await toUIMessageResponse(crew.run('none'), new Request('http://127.0.0.1/'), {
    headers: { 'x-a': '1' },
  })
  assert.deepEqual([page.status, page.headers.get('x-a'), await page.text()], [204, '1', ''])
  await crew.kickoff({ id: 'r' })
  await assert.rejects(toUIMessageResponse(crew.run('r'), undefined, { affter: 1 } as object), {
    code: 'OPTION_UNKNOWN',
  })
  await assert.rejects(toUIMessageResponse(crew.run('r'), undefined, { after: -1 }), { code: 'OPTION_INVALID' })
})

/** The client knows that it was cut off by the words of browsers, which are not those of Node. */
async function asChromium(...given: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...given)
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      yield* response.body ?? []
    } catch {
      throw new TypeError('network error')
    }
  }
  return new Response(ReadableStream.from(body()), { status: response.status, headers: response.headers })
}

/** Turns of the event loop, since the client has no events to wait for. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}

/** Resolves once the next automatic request of the client is answered. */
async function settled(chat: Chat<RunUIMessage>): Promise<void> {
  await until(() => chat.status !== 'ready')
  await until(() => chat.status === 'ready' || chat.status === 'error')
}
