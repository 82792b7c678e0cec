// Conversations with crews and flows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, chat, Crew, Flow, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { atEveryAppend, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import { quiet } from '../flows/support.ts'

const echo = { when: /./, reply: (all: string) => `re ${/Reply to (.*)/.exec(all)?.[1]}` }

function replies(description: string): Crew {
  const agent = new Agent({ role: 'Helper', goal: 'Help', model: scriptedModel([echo]) })
  return new Crew({ name: 'replies', tasks: [new Task({ name: 'reply', description, agent })] })
}

describe('a conversation with a crew', () => {
  test('a conversation with a crew passes it message and history, and its output is the answer', async () => {
    const conversation = chat(replies('After {history}. Reply to {message}'), { store: newStore() }).conversation('c')
    assert.equal(String(await conversation.send('one')), 're one')
    assert.equal(String(await conversation.send('two')), 're two')
    const run = await conversation.run()
    const { tasks } = await run.view()
    const second = tasks.find(({ name }) => name === 'answer[2]')
    assert.equal(second?.raw, 're two')
    assert.equal(run.id, 'c')
    assert.deepEqual(
      (await conversation.messages()).map(({ text }) => text),
      ['one', 're one', 'two', 're two'],
    )
  })

  test('a conversation with a crew that uses only the message works without the history', async () => {
    const conversation = chat(replies('Reply to {message}'), { store: newStore() }).conversation('c')
    assert.equal(String(await conversation.send('one')), 're one')
  })

  test('a conversation with a crew killed at any append has the answers of an undisturbed one', async () => {
    const talk = async (store: ReturnType<typeof newStore>): Promise<string[]> => {
      const served = chat(replies('After {history}. Reply to {message}'), { store, logger: quiet, turnsPerRun: 1 })
      const conversation = served.conversation('c')
      for (const text of ['one', 'two']) await conversation.send(text, { id: text })
      return (await conversation.messages()).map(({ text }) => text)
    }
    await atEveryAppend(async (dying) => {
      const inner = newStore()
      await orDeath(talk(dying(ofGoneProcess(inner))))
      assert.deepEqual(await talk(inner), ['one', 're one', 'two', 're two'])
    })
  })

  test('a conversation with a crew waits for questions of the crew, and can be stopped meanwhile', async () => {
    const pay = tool({ name: 'pay', description: 'Pay', approval: true, input: z.object({}), run: () => 'paid' })
    const model = scriptedModel([
      { when: 'pay', calls: [{ tool: 'pay', input: {} }] },
      { when: /./, reply: 'done' },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'Pay', model, tools: [pay] })
    const crew = new Crew({ name: 'pays', tasks: [new Task({ name: 'do', description: '{message}', agent })] })
    const conversation = chat(crew, { store: newStore(), logger: quiet }).conversation('c')
    const asked = await conversation.send('pay')
    assert.deepEqual([asked.status, asked.questions.map(({ id }) => id)], ['waiting', ['answer[1]/q1']])
    assert.equal(String(await conversation.answer('answer[1]/q1', { decision: 'approve' })), 'done')
    await conversation.send('pay')
    assert.equal(await conversation.stop(), true)
    assert.equal(String(await conversation.send('hello')), 'done')
  })

  test('a conversation repeats no answer after an edit of an earlier one, or if the crew drops an input', async () => {
    const store = newStore()
    const before = chat(replies('After {history}. Reply to {message}'), { store, logger: quiet })
    for (const text of ['one', 'two']) await before.conversation('c').send(text)
    await before.run('c').edit('answer[1]', 'edited')
    await before.conversation('c').send('three')
    const conversation = chat(replies('Reply to {message}'), { store, logger: quiet }).conversation('c')
    await conversation.send('four')
    const { tasks } = await (await conversation.run()).view()
    assert.deepEqual(
      tasks.filter(({ name }) => name.startsWith('answer')).map(({ raw, attempts }) => [raw, attempts]),
      [
        ['edited', 1],
        ['re two', 1],
        ['re three', 1],
        ['re four', 1],
      ],
    )
  })

  test('a conversation with a crew that does not use the message is refused', () => {
    assert.throws(() => chat(replies('Reply to {text}')), {
      code: 'OPTION_INVALID',
      message: /it must use an input named message/,
    })
  })
})

test('a conversation with a flow has the JSON of what the flow returned as its answer', async () => {
  const counts = new Flow({
    name: 'counts',
    inputs: z.object({ message: z.string(), history: z.array(z.object({ role: z.string(), text: z.string() })) }),
    run: async (flow) => ({ said: flow.inputs.message, before: flow.inputs.history.length }),
  })
  const conversation = chat(counts, { store: newStore() }).conversation('c')
  await conversation.send('one')
  assert.deepEqual(JSON.parse(String(await conversation.send('two'))), { said: 'two', before: 2 })
})
