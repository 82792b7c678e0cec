// Conversations with the AI SDK's own client: `Chat`, which is what `useChat` is made of, with `DefaultChatTransport`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { Agent, chat, Crew, Task, tool, type LanguageModel } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { toUIMessageResponse, toUIMessages, type RunUIMessage } from 'reprise/ui'
import { z } from 'zod'
import { gate, speakingModel } from '../crew/runs/speaking-model.ts'
import { entriesOf, newStore } from '../engine/support.ts'
import { quiet } from '../flows/support.ts'
import { loopback } from './loopback.ts'
import { shown } from './read-message.ts'

type Served = ReturnType<typeof chat>

/** What the guide has servers do. */
function handler(served: Served): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method === 'POST') {
      const body = (await request.json()) as { id: string; messages: RunUIMessage[] }
      return toUIMessageResponse(served.conversation(body.id), body)
    }
    const [, id = ''] = /^\/api\/chat\/([^/]+)\/stream$/.exec(new URL(request.url).pathname) ?? []
    return toUIMessageResponse(served.conversation(id), request)
  }
}

function talking(model: LanguageModel, options: object = {}): Served {
  return chat(new Agent({ role: 'Helper', goal: 'Help', model }), { store: newStore(), logger: quiet, ...options })
}

function page(url: string, messages: RunUIMessage[] = []): Chat<RunUIMessage> {
  return new Chat<RunUIMessage>({
    id: 'c',
    messages,
    transport: new DefaultChatTransport<RunUIMessage>({ api: `${url}/api/chat` }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
}

const told = ({ messages }: Chat<RunUIMessage>): string[] =>
  messages.map((message) => {
    if (message.role === 'user')
      return `user: ${message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`
    return `assistant: ${shown(message)
      .filter((part) => part !== '--')
      .join(' | ')}`
  })

const echo = { when: /./, reply: (all: string) => `re ${all.split('\n\n').at(-1)}` }

describe('the client of the AI SDK in a conversation', () => {
  test('sends several messages, each of which gets its own answer', async () => {
    const served = talking(scriptedModel([echo]), { turnsPerRun: 2 })
    await using server = await loopback(handler(served))
    const client = page(server.url)
    for (const text of ['one', 'two', 'three']) {
      await client.sendMessage({ text })
      assert.deepEqual([client.status, client.error], ['ready', undefined])
    }
    const all = [
      'user: one',
      'assistant: re one',
      'user: two',
      'assistant: re two',
      'user: three',
      'assistant: re three',
    ]
    assert.deepEqual(told(client), all)
    assert.equal(client.lastMessage?.metadata?.status, 'completed')
    const loaded = page(server.url, await toUIMessages(served.conversation('c')))
    assert.deepEqual(told(loaded), all)
    assert.deepEqual(
      loaded.messages.map(({ id }) => id),
      client.messages.map(({ id }) => id),
    )
    await loaded.resumeStream()
    assert.deepEqual([loaded.status, told(loaded)], ['ready', all])
  })

  test('that is loaded again in the middle of a turn streams the rest of that turn, as the page that stayed', async () => {
    const go = gate()
    const served = talking(speakingModel((call) => (call === 1 ? ['First.'] : ['Once ', go.wait, 'upon a time.'])))
    await using server = await loopback(handler(served))
    const stayed = page(server.url)
    await stayed.sendMessage({ text: 'a' })
    const sent = stayed.sendMessage({ text: 'b' })
    await until(() => told(stayed).at(-1) === 'assistant: Once …')
    const loaded = page(server.url, await toUIMessages(served.conversation('c')))
    assert.deepEqual(told(loaded), ['user: a', 'assistant: First.', 'user: b'])
    const resumed = loaded.resumeStream()
    await until(() => told(loaded).at(-1) === 'assistant: Once …')
    go.open()
    await Promise.all([sent, resumed])
    assert.deepEqual(told(stayed), ['user: a', 'assistant: First.', 'user: b', 'assistant: Once upon a time.'])
    assert.deepEqual(told(loaded), told(stayed))
    assert.deepEqual(loaded.lastMessage, stayed.lastMessage)
  })

  test('has the model streamed, however late the store says that the turn has begun', async () => {
    const model = speakingModel(() => ['One.'])
    const inner = newStore()
    const never = new Promise<never>(() => {})
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => never }) }
    const served = talking(model, { store: { ...inner, watch: () => silent } })
    const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'one' }] }
    const response = await toUIMessageResponse(served.conversation('c'), { messages: [user] })
    assert.match(await response.text(), /One\./)
    assert.deepEqual(model.asked, ['streamed'])
  })

  test('that posts a message twice has one turn', async () => {
    const served = talking(scriptedModel([echo]))
    const handle = handler(served)
    const post = async (): Promise<string> => {
      const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'one' }] }
      const body = JSON.stringify({ id: 'c', messages: [message], trigger: 'submit-message' })
      return (await handle(new Request('http://localhost/api/chat', { method: 'POST', body }))).text()
    }
    const [first, second] = await Promise.all([post(), post()])
    const answer = /"messageId":"answer-1".*"delta":"re .*one".*"finishReason":"stop"/s
    for (const stream of [first, second, await post()]) assert.match(stream, answer)
    assert.equal((await served.conversation('c').messages()).length, 2)
  })

  test('receives a request for approval in the second turn, approves it, and gets the rest', async () => {
    const pay = tool({ name: 'pay', description: 'Pay', approval: true, input: z.object({}), run: () => 'paid' })
    const model = scriptedModel([{ when: /pay$/, calls: [{ tool: 'pay', input: {} }] }, echo])
    const agent = new Agent({ role: 'Clerk', goal: 'Pay', model, tools: [pay] })
    await using server = await loopback(handler(chat(agent, { store: newStore(), logger: quiet })))
    const client = page(server.url)
    await client.sendMessage({ text: 'hello' })
    await client.sendMessage({ text: 'pay' })
    assert.deepEqual(told(client).slice(2), [
      'user: pay',
      'assistant: tool-pay answer[2]#1/1.0: approval-requested | question q1: open',
    ])
    await client.addToolApprovalResponse({ id: 'q1', approved: true })
    await until(() => client.status === 'ready' && told(client).at(-1)?.includes('re paid') === true)
    assert.equal(told(client).length, 4)
    await client.sendMessage({ text: 'thanks' })
    assert.equal(told(client).at(-1), 'assistant: re thanks')
  })

  test('that approves in a page which is behind answers no other question, and gets the answer that there is', async () => {
    const paid: string[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      approval: true,
      input: z.object({ sum: z.string() }),
      run: ({ sum }) => paid.push(sum) && 'paid',
    })
    const calls = ['5', '5000'].map((sum) => ({
      when: new RegExp(`pay ${sum}$`),
      calls: [{ tool: 'pay', input: { sum } }],
    }))
    const agent = new Agent({ role: 'Clerk', goal: 'Pay', model: scriptedModel([...calls, echo]), tools: [pay] })
    // each run counts its questions from q1
    const served = chat(agent, { store: newStore(), logger: quiet, turnsPerRun: 1 })
    await using server = await loopback(handler(served))
    const client = page(server.url)
    await client.sendMessage({ text: 'pay 5' })
    const behind = page(server.url, structuredClone(client.messages))
    await client.addToolApprovalResponse({ id: 'q1', approved: true })
    await until(() => client.status === 'ready' && told(client).at(-1)?.includes('re paid') === true)
    await client.sendMessage({ text: 'pay 5000' })
    await behind.addToolApprovalResponse({ id: 'q1', approved: true })
    await until(() => behind.status === 'ready' && told(behind).at(-1)?.includes('re paid') === true)
    assert.deepEqual([paid, behind.error], [['5'], undefined])
    assert.equal((await served.conversation('c')['~turns']()).at(-1)?.status, 'waiting')
  })

  test('gets an error for a turn that fails, and answers after it', async () => {
    await using server = await loopback(handler(talking(scriptedModel([{ when: /bad$/, error: 'no' }, echo]))))
    const client = page(server.url)
    await client.sendMessage({ text: 'bad' })
    assert.deepEqual([client.status, client.error?.message], ['error', 'the message could not be answered'])
    await client.sendMessage({ text: 'good' })
    assert.deepEqual([client.status, told(client).at(-1)], ['ready', 'assistant: re good'])
  })

  test('receives the end of a turn that is stopped', async () => {
    const never = Promise.withResolvers<void>()
    const store = newStore()
    const served = talking(
      speakingModel((call) => (call === 1 ? ['One ', never.promise] : ['Two'])),
      { store },
    )
    await using server = await loopback(handler(served))
    const client = page(server.url)
    const sent = client.sendMessage({ text: 'a' })
    await until(() => told(client).at(-1) === 'assistant: One …')
    assert.equal(await served.conversation('c').stop(), true)
    await sent
    assert.deepEqual([client.status, client.error], ['ready', undefined])
    await client.sendMessage({ text: 'b' })
    assert.equal(told(client).at(-1), 'assistant: Two')
    assert.equal((await entriesOf(store, 'c')).filter(({ type }) => type === 'task.failed').length, 1)
  })

  test('receives what a crew says while it does, and the answer once, as a page that is loaded in the middle', async () => {
    const [go, heard] = [gate(), gate()]
    const model = speakingModel((call) => (call === 1 ? ['A ', 'draft.'] : ['The ', heard.wait, go.wait, 'answer.']))
    const agent = new Agent({ role: 'Helper', goal: 'Help', model })
    const tasks = ['draft', 'reply'].map((name) => new Task({ name, description: `${name} to {message}`, agent }))
    await using server = await loopback(handler(chat(new Crew({ name: 'crew', tasks }), { store: newStore() })))
    const stayed = page(server.url)
    const sent = stayed.sendMessage({ text: 'a' })
    await until(() => told(stayed).at(-1) === 'assistant: A draft. | The …')
    heard.open()
    const loaded = page(server.url, [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'a' }] }])
    const resumed = loaded.resumeStream()
    await until(() => told(loaded).at(-1) === 'assistant: A draft. | The …')
    go.open()
    await Promise.all([sent, resumed])
    assert.deepEqual(told(stayed), ['user: a', 'assistant: A draft. | The answer.'])
    assert.deepEqual(loaded.lastMessage, stayed.lastMessage)
    const origins = stayed.lastMessage?.parts.flatMap((part) =>
      part.type === 'text' ? [part.providerMetadata?.['reprise']] : [],
    )
    assert.deepEqual(origins, [
      { task: 'answer[1]', within: 'draft', path: 'answer[1]#1/draft#1/1', agent: 'Helper' },
      { task: 'answer[1]', within: 'reply', path: 'answer[1]#1/reply#1/1', agent: 'Helper' },
    ])
  })

  test('receives an answer that no model of the crew has said in these words', async () => {
    const agent = new Agent({ role: 'Helper', goal: 'Help', model: scriptedModel([{ when: /./, reply: 'Said.' }]) })
    const tasks = [
      new Task({ name: 'say', description: '{message}', agent }),
      new Task({ name: 'reply', effect: 'read', run: () => 'Changed.' }),
    ]
    await using server = await loopback(handler(chat(new Crew({ name: 'crew', tasks }), { store: newStore() })))
    const client = page(server.url)
    await client.sendMessage({ text: 'a' })
    assert.deepEqual(told(client), ['user: a', 'assistant: Said. | Changed.'])
  })

  test('receives the answer of a crew', async () => {
    const agent = new Agent({
      role: 'Helper',
      goal: 'Help',
      model: scriptedModel([{ when: /./, reply: 'From a crew.' }]),
    })
    const crew = new Crew({ name: 'crew', tasks: [new Task({ name: 'reply', description: '{message}', agent })] })
    await using server = await loopback(handler(chat(crew, { store: newStore() })))
    const client = page(server.url)
    await client.sendMessage({ text: 'a' })
    await client.sendMessage({ text: 'b' })
    assert.deepEqual(told(client), ['user: a', 'assistant: From a crew.', 'user: b', 'assistant: From a crew.'])
  })
})

test('a request to a conversation that cannot be used is refused, and a GET without a turn gets 204', async () => {
  const conversation = talking(scriptedModel([echo])).conversation('c')
  const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'one' }] }
  const refused = [
    [{ messages: [] }, /no id, role and parts/],
    [{ messages: [{ ...user, id: '' }] }, /no id, role and parts/],
    [{ messages: [{ ...user, parts: [{ type: 'file', url: 'x' }] }] }, /a part of the type file/],
    [{ messages: [{ ...user, role: 'assistant' }] }, /answers no question/],
    [{ messages: [user], trigger: 'regenerate-message' }, /another answer to message m/],
    [{ method: 'POST', headers: {} }, /no list of messages/],
  ] as const
  for (const [body, message] of refused)
    await assert.rejects(toUIMessageResponse(conversation, body as never), { code: 'INPUT_INVALID', message })
  assert.deepEqual(await conversation.messages(), [])
  const got = await toUIMessageResponse(conversation, new Request('http://localhost/'), { headers: { 'x-a': '1' } })
  assert.deepEqual([got.status, got.headers.get('x-a')], [204, '1'])
})

/** Turns of the event loop, since the client has no events to wait for. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}
