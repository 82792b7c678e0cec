// A run as AG-UI events: each fits the protocol's own schema, and its own client, over HTTP, makes the right messages
// of them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import type { Message, RunAgentInput } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import { Crew, Task } from 'reprise'
import { toAgUiResponse, toAgUiStream, type AgUiEvent } from 'reprise/ui'
import { busy, gate, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { newStore } from '../engine/support.ts'
import { loopback } from './loopback.ts'
import { plays } from './told-crews.ts'

const user = { id: 'u1', role: 'user', content: 'Go' } as const
const input = { threadId: 't', runId: 'a1', messages: [user] }

for (const [what, play] of Object.entries(plays)) {
  test(`a run with ${what} is a sequence of events that the protocol knows, from the first to the last`, async () => {
    const { crew } = await play()
    const events = await eventsOf(toAgUiStream(crew.run('r'), input))
    assert.equal(events[0]?.type, 'RUN_STARTED')
    assert.deepEqual(
      events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR'),
      [events.at(-1)],
    )
  })
}

describe('a client of AG-UI', () => {
  test('receives a run while it happens, with retracted text removed', async () => {
    const heard = gate()
    const model = speakingModel((call) =>
      call === 1 ? [{ thought: 'Hm.' }, 'Wrong', heard.wait, busy()] : [{ thought: 'Ah.' }, 'Right.'],
    )
    const crew = speakingCrew(model)
    await using server = await loopback(async (request) => {
      const given = (await request.json()) as RunAgentInput
      return toAgUiResponse(await crew.kickoff({ id: 'r' }).started, given, { expose: { reasoning: true } })
    })
    const agent = new HttpAgent({ url: server.url, initialMessages: [user], threadId: 't' })
    const said: string[] = []
    await agent.runAgent(undefined, {
      onTextMessageContentEvent: ({ event }) => {
        said.push(event.delta)
        heard.open()
      },
    })
    assert.deepEqual(said, ['Wrong', 'Right.'])
    assert.deepEqual(texts(agent.messages), ['user: Go', 'reasoning: Ah.', 'assistant: Right.'])
    assert.equal(agent.messages.find(({ role }) => role === 'activity')?.role, 'activity')
  })

  test('receives what a nested crew says while it does, each message once', async () => {
    const heard = gate()
    const model = speakingModel((call) => {
      if (call === 1) return ['One.']
      return call === 2 ? ['Wrong', heard.wait, busy()] : ['Two ', 'is right.']
    })
    const store = newStore()
    const inner = new Task({ name: 'inner', crew: speakingCrew(model, { tasks: ['one', 'two'], store }) })
    const crew = new Crew({ name: 'outer', tasks: [inner], store })
    await using server = await loopback(async (request) => {
      const given = (await request.json()) as RunAgentInput
      return toAgUiResponse(await crew.kickoff({ id: 'r' }).started, given)
    })
    const agent = new HttpAgent({ url: server.url, initialMessages: [user], threadId: 't' })
    const said: string[] = []
    await agent.runAgent(undefined, {
      onTextMessageContentEvent: ({ event }) => {
        said.push(event.delta)
        if (event.delta === 'Wrong') heard.open()
      },
    })
    // the first reply may be in the snapshot
    assert.deepEqual(said.slice(-3), ['Wrong', 'Two ', 'is right.'])
    assert.deepEqual(texts(agent.messages), ['user: Go', 'assistant: One.', 'assistant: Two is right.'])
  })

  test('is interrupted by a question, answers it, and has the rest, each message once', async () => {
    const { crew } = await plays['an open question']!()
    await using server = await loopback(answering(crew))
    const agent = new HttpAgent({ url: server.url, initialMessages: [user], threadId: 't' })
    await agent.runAgent()
    assert.deepEqual(texts(agent.messages), [
      'user: Go',
      'assistant: I look it up. [lookup, lookup]',
      'tool: {"policy":"P-77","holder":"Ada"}',
      'tool: there is no policy P-0',
      'assistant: Ada has P-77.',
      'assistant: I file it. [file_claim]',
    ])
    const [interrupt] = agent.pendingInterrupts
    assert.deepEqual([interrupt?.id, interrupt?.reason, interrupt?.toolCallId], ['q1', 'reprise.call', 'r/claim#1/1.0'])
    await agent.runAgent({ resume: [{ interruptId: 'q1', status: 'resolved', payload: { decision: 'approve' } }] })
    assert.deepEqual(texts(agent.messages).slice(5), [
      'assistant: I file it. [file_claim]',
      'tool: {"claim":"CL-P-77"}',
      'assistant: That is done.',
    ])
    assert.equal(new Set(agent.messages.map(({ id }) => id)).size, agent.messages.length)
    assert.deepEqual(activities(agent.messages), ['facts: executed', 'claim: executed', 'q1: answered'])
  })

  test('comes back in the middle of a text, and has it once', async () => {
    const go = gate()
    const crew = speakingCrew(speakingModel(() => ['Once ', go.wait, 'upon a time.']))
    const run = await crew.kickoff({ id: 'r' }).started
    run.events()
    await using server = await loopback(async (request) =>
      toAgUiResponse(crew.run('r'), (await request.json()) as RunAgentInput),
    )
    const first = new HttpAgent({ url: server.url, initialMessages: [user], threadId: 't' })
    const { promise: half, resolve } = Promise.withResolvers<void>()
    const lost = first.runAgent(undefined, { onTextMessageContentEvent: () => resolve() })
    await half
    first.abortRun()
    await lost
    const again = new HttpAgent({ url: server.url, initialMessages: first.messages, threadId: 't' })
    await again.runAgent(undefined, { onMessagesSnapshotEvent: () => go.open() })
    assert.deepEqual(texts(again.messages), ['user: Go', 'assistant: Once upon a time.'])
  })

  test('receives how a run ended that failed, was cancelled, or only stopped', async () => {
    const last = async (crew: Crew) => (await eventsOf(toAgUiStream(crew.run('r'), input))).at(-1)
    const failed = speakingCrew(speakingModel(() => [new Error('no such model')]))
    await failed.kickoff({ id: 'r' }).catch(() => undefined)
    assert.equal((await last(failed))?.type, 'RUN_ERROR')
    const stopped = speakingCrew(
      speakingModel(() => ['Done.']),
      { tasks: ['one', 'two'] },
    )
    await stopped.kickoff({ id: 'r', through: 'one' })
    const suspended = await last(stopped)
    assert.deepEqual(suspended?.type === 'RUN_FINISHED' && suspended.outcome, {
      type: 'interrupt',
      interrupts: [
        {
          id: 'resume',
          reason: 'reprise.through',
          message: 'Run r is suspended; it continues when it is resumed.',
        },
      ],
    })
    await stopped.run('r').cancel()
    const cancelled = await last(stopped)
    assert.deepEqual(cancelled?.type === 'RUN_FINISHED' && cancelled.outcome, { type: 'cancelled' })
  })
})

test('the body that a client posts is checked', async () => {
  const run = speakingCrew(speakingModel(() => ['Done.'])).run('r')
  for (const bad of [undefined, {}, { ...input, messages: 'no' }, { ...input, messages: [{}] }, { ...input, runId: 7 }])
    assert.throws(() => toAgUiStream(run, bad as never), { code: 'OPTION_INVALID' })
})

/** What the guide has servers do. */
function answering(crew: Pick<Crew, 'run'>): (request: Request) => Promise<Response> {
  return async (request) => {
    const given = (await request.json()) as RunAgentInput
    for (const { interruptId, payload } of given.resume ?? [])
      await crew.run('r').answer(interruptId, payload as { decision: 'approve' })
    const run = given.resume ? await crew.run('r').resume().started : crew.run('r')
    return toAgUiResponse(run, given, { expose: { tools: true } })
  }
}

async function eventsOf(stream: ReadableStream<AgUiEvent>): Promise<AgUiEvent[]> {
  const events: AgUiEvent[] = []
  for await (const event of stream) {
    EventSchemas.parse(event)
    events.push(event)
  }
  return events
}

function texts(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'activity') return []
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    const names = calls.length > 0 ? ` [${calls.map((call) => call.function.name).join(', ')}]` : ''
    return `${message.role}: ${message.content as string}${names}`
  })
}

function activities(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role !== 'activity') return []
    const { name, id, status } = message.content as { name?: string; id?: string; status: string }
    return `${name ?? id}: ${status}`
  })
}
