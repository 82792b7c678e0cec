// Reuse: a kickoff takes outputs that any run of the crew made from the same inputs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { asked, diamond, diamondInputs as inputs } from './diamond.ts'

describe('a kickoff that reuses outputs', () => {
  test('a kickoff with reuse executes no task that a run of the crew executed with the same inputs', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ inputs })
    await crew.kickoff({ inputs: { ...inputs, topic: 'fire' } })
    const calls = model.calls.length
    const again = await crew.kickoff({ inputs, reuse: true })
    assert.equal(model.calls.length, calls)
    assert.ok(again.tasks.every((task) => task.status === 'inherited'))
    assert.equal(again.usage.spent.calls, 0)
    assert.equal(String(again), 'end')
  })

  test('a kickoff with reuse executes tasks with other inputs, and reuses tasks after them if equal', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ inputs })
    await crew.kickoff({ inputs: { ...inputs, topic: 'fire' }, reuse: true })
    assert.deepEqual(asked(model, 6), ['start'])
  })

  test('the plan of a kickoff with reuse lists outputs that exist, and those that are known only later', async () => {
    const { crew } = diamond()
    await crew.kickoff({ id: 'first', inputs })
    const plan = await crew.plan({ of: 'kickoff', inputs: { ...inputs, topic: 'fire' }, reuse: true })
    assert.deepEqual(plan.tasks.map(({ task, action }) => `${task} ${action}`).slice(0, 4), [
      'start execute',
      'left execute',
      'right execute',
      'side inherit',
    ])
    assert.match(plan.tasks[3]?.reasons[0] ?? '', /run first made it from the same/)
    assert.match(plan.tasks[1]?.reasons[0] ?? '', /is known when start is done/)
  })

  test('a kickoff with reuse executes tasks with a once call again: of an agent, a coworker or a crew', async () => {
    let paid = 0
    const pay = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => ++paid })
    const delegate = { tool: 'delegate_work', input: { coworker: 'Clerk', task: 'Pay', context: '' } }
    const model = scriptedModel([
      { when: /You are Lead/, after: 0, calls: [delegate] },
      { when: /You are Clerk/, after: 0, calls: [{ tool: 'pay', input: {} }] },
      { when: /./, reply: 'done' },
    ])
    const lead = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true })
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [pay] })
    const tasks = (agent: Agent): Task[] => [new Task({ name: 'work', description: 'Work', agent })]
    const inner = new Crew({ name: 'inner', tasks: tasks(clerk) })
    for (const options of [
      { agents: [clerk], tasks: tasks(clerk) },
      { agents: [lead, clerk], tasks: tasks(lead) },
      { tasks: [new Task({ name: 'work', crew: inner })] },
    ]) {
      paid = 0
      const crew = new Crew({ name: 'payers', store: memoryStore(), ...options })
      await crew.kickoff()
      assert.equal((await crew.kickoff({ reuse: true })).task('work').status, 'executed')
      assert.equal(paid, 2)
    }
  })

  test('a kickoff with reuse takes no output older than the limit', async () => {
    let clock = Date.now() - 7_200_000
    const { crew, model } = diamond({ store: memoryStore({ now: () => clock }) })
    await crew.kickoff({ inputs })
    clock = Date.now()
    await crew.kickoff({ inputs, reuse: { maxAgeSeconds: 3600 } })
    assert.equal(model.calls.length, 12)
    await crew.kickoff({ inputs, reuse: { maxAgeSeconds: 7300 } })
    assert.equal(model.calls.length, 12)
    await assert.rejects(crew.kickoff({ inputs, reuse: { maxAgeSeconds: -1 } }), { code: 'OPTION_INVALID' })
    await assert.rejects(crew.kickoff({ inputs, reuse: { maxAge: 1 } as never }), {
      code: 'OPTION_UNKNOWN',
      message: /did you mean maxAgeSeconds/,
    })
  })

  test('a resumed kickoff with reuse continues to reuse, and keeps its outputs if their run is deleted', async () => {
    const { crew, model, store } = diamond()
    await crew.kickoff({ id: 'first', inputs })
    await crew.kickoff({ id: 'second', inputs, reuse: true, through: 'left' })
    const whole = await crew.resume('second')
    assert.equal(model.calls.length, 6)
    await store.delete('first')
    assert.equal(String(await crew.kickoff({ id: 'second' })), String(whole))
  })

  test('a kickoff with reuse executes a task that a person has invalidated', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ inputs })
    await crew.kickoff({ id: 'second', inputs, reuse: true, through: 'left' })
    await crew.run('second').invalidate('start')
    const calls = model.calls.length
    await crew.resume('second')
    assert.deepEqual(asked(model, calls), ['start'])
  })

  test('a kickoff with reuse takes no edited output, none of another crew, and none with a once call', async () => {
    const store = memoryStore()
    const { crew } = diamond({ store })
    await crew.kickoff({ id: 'first', inputs, through: 'start' })
    await crew.run('first').edit('start', 'a person’s start')
    await crew.resume('first')
    const fresh = diamond({ store })
    assert.equal((await fresh.crew.kickoff({ inputs, reuse: true })).task('start').raw, 'start')
    const other = diamond({ store, more: { name: 'another' } })
    await other.crew.kickoff({ inputs, reuse: true })
    assert.equal(other.model.calls.length, 6)

    let paid = 0
    const pay = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => `paid ${++paid}` })
    const model = scriptedModel([
      { when: 'Task: Pay', calls: [{ tool: 'pay', input: {} }] },
      { when: 'Task: Pay', reply: (text) => /paid \d/.exec(text)?.[0] ?? '' },
    ])
    const task = new Task({
      name: 'pay',
      description: 'Pay',
      agent: new Agent({ role: 'A', goal: 'g', model }),
      tools: [pay],
    })
    const paying = new Crew({ name: 'paying', tasks: [task], store })
    await paying.kickoff()
    assert.equal(String(await paying.kickoff({ reuse: true })), 'paid 2')
  })
})
