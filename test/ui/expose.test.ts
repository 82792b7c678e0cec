// What a front-end is shown of a run: by default what is meant for readers, and more where the server chooses it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { toAgUiStream, toUIMessageStream, type RunUIMessage, type UIStreamOptions } from 'reprise/ui'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { chunksOf, messageOf, shown } from './read-message.ts'
import { plays } from './told-crews.ts'

type Expose = UIStreamOptions['expose']

/** A claim: data is extracted with a tool, a letter is written, and a payment is approved. Everything inner says so. */
async function claim(): Promise<Crew> {
  const model = scriptedModel([
    { when: 'INNER prompt', reply: 'INNER talk', calls: [{ tool: 'lookup', input: { note: 'INNER tool input' } }] },
    { when: 'INNER prompt', reply: { secret: 'INNER json' } },
    { when: 'Write', reply: 'Dear Ada.' },
    { when: 'Pay', reply: 'I pay.', calls: [{ tool: 'pay', input: { amount: 900 } }] },
    { when: 'Pay', reply: 'Paid.' },
  ])
  const lookup = tool({
    name: 'lookup',
    description: 'Look up',
    effect: 'read',
    input: z.object({ note: z.string() }),
    run: () => 'INNER tool result',
  })
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    approval: true,
    input: z.object({ amount: z.number() }),
    run: () => 'INNER receipt',
  })
  const agent = new Agent({ role: 'Clerk', goal: 'INNER goal', model, tools: [lookup, pay] })
  const tasks = [
    new Task({
      name: 'extract',
      description: 'INNER prompt about {notes}',
      agent,
      output: z.object({ secret: z.string() }),
    }),
    new Task({ name: 'letter', description: 'Write the INNER letter', agent }),
    new Task({ name: 'payment', description: 'Pay the INNER amount', agent }),
  ]
  const crew = new Crew({ name: 'claim', tasks, store: newStore() })
  await crew.kickoff({ id: 'r', inputs: { notes: 'INNER input' } })
  return crew
}

async function read(crew: Crew, expose?: Expose): Promise<RunUIMessage> {
  return messageOf(await chunksOf(toUIMessageStream(crew.run('r'), { expose })))
}

const asked = ['Dear Ada.', '--', 'task payment: waiting', 'I pay.', 'tool-pay payment#1/1.0: approval-requested']

describe('by default a page receives', () => {
  test('the tasks, the texts of those without an output schema, and what needs approval', async () => {
    const crew = await claim()
    const message = await read(crew)
    assert.deepEqual(
      shown(message).filter((part) => part !== '--'),
      [
        'task extract: executed',
        'task letter: executed',
        ...asked.filter((part) => part !== '--'),
        'question q1: open',
      ],
    )
    const question = message.parts.findLast((part) => part.type === 'data-question')?.data
    assert.deepEqual(question?.kind === 'call' && [question.tool, question.input], ['pay', { amount: 900 }])
    assert.deepEqual(question?.asking, [
      { runId: 'r', crew: 'claim', task: 'payment', agent: 'Clerk', outputs: [{ task: 'letter', raw: 'Dear Ada.' }] },
    ])
    const part = message.parts.findLast((one) => one.type === 'tool-pay')
    assert.deepEqual(part && 'input' in part && part.input, { amount: 900 })
  })

  for (const protocol of ['the AI SDK', 'AG-UI'])
    test(`no prompt, inner data, input or result of a tool, in the protocol of ${protocol}`, async () => {
      const crew = await claim()
      const everything = await whole(protocol, crew, true)
      for (const words of ['INNER prompt', 'INNER json', 'INNER tool input', 'INNER tool result', 'INNER input'])
        assert.ok(everything.includes(words), `${words} is shown where everything is exposed`)
      assert.doesNotMatch(await whole(protocol, crew), /INNER/)
      await crew.run('r').answer('q1', { decision: 'approve' })
      await crew.resume('r')
      assert.match(await whole(protocol, crew), /Paid\./)
      assert.doesNotMatch(await whole(protocol, crew), /INNER/)
    })

  test('how an approved call ended, without its result', async () => {
    const crew = await claim()
    await crew.run('r').answer('q1', { decision: 'approve' })
    await crew.resume('r')
    const call = (message: RunUIMessage) => {
      const part = message.parts.find((one) => one.type === 'tool-pay')
      return part && 'output' in part && [part.state, part.output]
    }
    assert.deepEqual(call(await read(crew)), ['output-available', null])
    assert.deepEqual(call(await read(crew, { tools: ['pay'] })), ['output-available', 'INNER receipt'])
  })

  test('the last output, also where it has a schema', async () => {
    const model = scriptedModel([{ when: 'Decide', reply: { verdict: 'paid' } }])
    const agent = new Agent({ role: 'Clerk', goal: 'Decide', model })
    const task = new Task({ name: 'verdict', description: 'Decide', agent, output: z.object({ verdict: z.string() }) })
    const crew = new Crew({ name: 'verdicts', tasks: [task], store: newStore() })
    await crew.kickoff({ id: 'r' })
    assert.equal((await read(crew)).parts.find((part) => part.type === 'data-task')?.data.output, '{"verdict":"paid"}')
  })

  test('the result, also where the last task was skipped', async () => {
    const model = scriptedModel([{ when: 'Decide', reply: { verdict: 'paid' } }])
    const agent = new Agent({ role: 'Clerk', goal: 'Decide', model })
    const verdict = new Task({
      name: 'verdict',
      description: 'Decide',
      agent,
      output: z.object({ verdict: z.string() }),
    })
    const appeal = new Task({ name: 'appeal', description: 'Appeal', agent, when: () => false })
    const crew = new Crew({ name: 'verdicts', tasks: [verdict, appeal], store: newStore() })
    await crew.kickoff({ id: 'r' })
    const [first] = (await read(crew)).parts.flatMap((part) => (part.type === 'data-task' ? [part.data] : []))
    assert.deepEqual([first?.name, first?.output], ['verdict', '{"verdict":"paid"}'])
    assert.match(await whole('AG-UI', crew), /"result":\{"verdict":"paid"\}/)
  })

  test('that something failed or was refused, and not why', async () => {
    const crew = speakingCrew(speakingModel(() => [new Error('INNER cause')]))
    await crew.kickoff({ id: 'r' }).catch(() => undefined)
    const chunks = await chunksOf(toUIMessageStream(crew.run('r')))
    assert.deepEqual(chunks.at(-1), { type: 'error', errorText: 'run r failed' })
    assert.doesNotMatch(JSON.stringify(chunks), /INNER/)
    const refused = await messageOf((await plays['an answer that a guardrail refuses']!({})).chunks)
    const task = refused.parts.find((part) => part.type === 'data-task')?.data
    assert.deepEqual(task?.refusals, [{ attempt: 1, by: 'short' }])
  })

  test('no reasoning, and no text of coworkers', async () => {
    const thinking = await messageOf((await plays['a reply that breaks off, and thoughts']!({})).chunks)
    assert.ok(thinking.parts.every(({ type }) => type !== 'reasoning'))
    const working = await messageOf((await plays['work for a coworker']!({})).chunks)
    assert.deepEqual(
      working.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
      ['I ask.', 'So it is.'],
    )
  })
})

describe('expose', () => {
  test('names the tasks whose texts and outputs are shown', async () => {
    const crew = await claim()
    const texts = async (expose: Expose) =>
      (await read(crew, expose)).parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    assert.deepEqual(await texts({ tasks: ['letter'] }), ['Dear Ada.'])
    assert.deepEqual(await texts({ tasks: ['extract'] }), ['INNER talk', '{"secret":"INNER json"}'])
    assert.deepEqual(await texts({ tasks: false }), [])
    const outputs = (message: RunUIMessage) =>
      message.parts.flatMap((part) => (part.type === 'data-task' ? [part.data.output] : []))
    assert.deepEqual(outputs(await read(crew, { tasks: ['extract'] })), [
      '{"secret":"INNER json"}',
      undefined,
      undefined,
    ])
    assert.deepEqual(outputs(await read(crew)), [undefined, 'Dear Ada.', undefined])
  })

  test('names tasks of child runs, or a task that runs them; by default, texts with an output schema are left out', async () => {
    const store = newStore()
    const model = scriptedModel([
      { when: 'Extract', reply: { secret: 'INNER json' } },
      { when: 'Write', reply: 'Dear Ada.' },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'Handle claims', model })
    const output = z.object({ secret: z.string() })
    const extract = new Task({ name: 'extract', description: 'Extract', agent, output })
    const check = new Task({ name: 'check', description: 'Extract again', agent, output })
    const draft = new Task({ name: 'draft', description: 'Write', agent })
    const letter = new Crew({ name: 'letters', tasks: [extract, draft, check] })
    const deep = new Crew({ name: 'deep', tasks: [new Task({ name: 'letter', crew: letter })] })
    const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'claim', crew: deep })], store })
    await crew.kickoff({ id: 'r' })
    const texts = async (expose?: Expose) =>
      (await read(crew, expose)).parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const all = ['{"secret":"INNER json"}', 'Dear Ada.', '{"secret":"INNER json"}']
    assert.deepEqual(await texts(), ['Dear Ada.'])
    assert.deepEqual(await texts(true), all)
    assert.deepEqual(await texts({ tasks: ['claim'] }), all)
    assert.deepEqual(await texts({ tasks: ['letter'] }), all)
    assert.deepEqual(await texts({ tasks: ['extract'] }), all.slice(0, 1))
    assert.deepEqual(await texts({ tasks: ['other'] }), [])
    assert.deepEqual(await texts({ tasks: false }), [])
  })

  test('shows the calls of the tools that it names', async () => {
    const calls = async (expose: Expose) =>
      shown(await read(await claim(), expose)).filter((part) => part.startsWith('tool-'))
    assert.deepEqual(await calls({}), ['tool-pay payment#1/1.0: approval-requested'])
    assert.deepEqual(await calls({ tools: ['lookup'] }), [
      'tool-lookup extract#1/1.0: output-available',
      'tool-pay payment#1/1.0: approval-requested',
    ])
  })

  test('shows prompts where it is asked to, and the inputs that a question is about', async () => {
    const message = await read(await claim(), { prompts: true })
    const descriptions = message.parts.flatMap((part) => (part.type === 'data-task' ? [part.data.description] : []))
    assert.deepEqual(descriptions, ['INNER prompt about INNER input', 'Write the INNER letter', 'Pay the INNER amount'])
    const question = message.parts.findLast((part) => part.type === 'data-question')?.data
    assert.deepEqual(question?.asking[0]?.inputs, { notes: 'INNER input' })
  })

  test('is checked', async () => {
    const run = (await claim()).run('r')
    const input = { threadId: 't', runId: 'a', messages: [] }
    for (const expose of ['all', 7, null, { tools: 'pay' }, { tasks: [7] }, { prompts: 'yes' }]) {
      assert.throws(() => toUIMessageStream(run, { expose: expose as never }), { code: 'OPTION_INVALID' })
      assert.throws(() => toAgUiStream(run, input, { expose: expose as never }), { code: 'OPTION_INVALID' })
    }
    assert.throws(() => toUIMessageStream(run, { expose: { tool: true } as never }), { code: 'OPTION_UNKNOWN' })
  })
})

/** The whole response. */
async function whole(protocol: string, crew: Crew, expose?: Expose): Promise<string> {
  if (protocol === 'the AI SDK') return JSON.stringify(await chunksOf(toUIMessageStream(crew.run('r'), { expose })))
  const events: unknown[] = []
  const input = { threadId: 't', runId: 'a', messages: [] }
  for await (const event of toAgUiStream(crew.run('r'), input, { expose })) events.push(event)
  return JSON.stringify(events)
}
