// Agents that hand work to others: a manager's, and their own.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type CrewOptions } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../src/stores/memory-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../src/testing/scripted-model.ts'
import { atEveryAppend, dyingStore, entriesOf, orDeath, stateOf } from '../engine/support.ts'

const delegation: ScriptEntry[] = [
  {
    when: /You are Crew manager[\s\S]*Task: Report/,
    calls: [
      { tool: 'delegate_work', input: { coworker: 'Researcher', task: 'Find facts on fire', context: 'for a report' } },
      { tool: 'ask_coworker', input: { coworker: 'writer', question: 'How long?' } },
    ],
  },
  {
    when: /You are Crew manager/,
    reply: (text) => `report: ${/fact \d/.exec(text)?.[0]}, ${/\d pages/.exec(text)?.[0]}`,
  },
  { when: /hands you this piece of work: Find facts/, calls: [{ tool: 'look_up', input: { word: 'fire' } }] },
  { when: /hands you this piece of work: Find facts/, reply: (text) => /fact \d/.exec(text)?.[0] ?? '' },
  { when: /asks you: How long\?/, reply: '2 pages' },
]

function managed(options: Partial<CrewOptions> = {}, store: Store = memoryStore(), effect: 'read' | 'once' = 'read') {
  const looked: string[] = []
  const lookUp = tool({
    name: 'look_up',
    description: 'Look up',
    effect,
    input: z.object({ word: z.string() }),
    run: ({ word }) => `fact ${looked.push(word)}`,
  })
  const model = scriptedModel(delegation)
  const researcher = new Agent({ role: 'Researcher', goal: 'Find facts', model, tools: [lookUp] })
  const writer = new Agent({ role: 'Writer', goal: 'Write', model })
  const report = new Task({ name: 'report', description: 'Report on {topic}' })
  const crew = new Crew({
    name: 'managed',
    agents: [researcher, writer],
    tasks: [report],
    process: 'hierarchical',
    manager: model,
    store,
    logger: { info() {}, warn() {} },
    ...options,
  })
  return { crew, model, store, looked, researcher, writer, report }
}
const inputs = { topic: 'fire' }

describe('a hierarchical crew', () => {
  test('has its manager hand work to the agents and ask them, each under its own path', async () => {
    const { crew, store, model, looked } = managed()
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.equal(String(result), 'report: fact 1, 2 pages')
    assert.deepEqual((await stateOf(store, 'r')).tasks.get('report')?.nested, [
      'report#1/1.0/researcher#1',
      'report#1/1.1/writer#1',
    ])
    assert.deepEqual(looked, ['fire'])
    // two of the manager, two of the researcher, one of the writer
    assert.equal(result.usage.spent.calls, 5)
    const first = model.calls[0]
    assert.deepEqual(first?.tools.toSorted(), ['ask_coworker', 'delegate_work'])
    const within = model.calls.find(({ lastMessage }) => lastMessage.includes('Find facts on fire'))
    assert.match(within?.instructions ?? '', /You are Researcher/)
    assert.match(within?.lastMessage ?? '', /for a report/)
    assert.deepEqual(within?.tools, ['look_up'])
  })

  test('killed inside of a delegation resumes inside of it: no step is paid twice, after a crash at any append', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, store, model, looked } = managed()
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r', inputs }))
      // a read tool may be called again; what it gave is part of the answer
      assert.match(String(await crew.kickoff({ id: 'r', inputs })), /report: fact \d, 2 pages/)
      const replies = (await entriesOf(store, 'r'))
        .filter((entry) => entry.type === 'model.replied')
        .map(({ path }) => path)
      assert.equal(new Set(replies).size, 5)
      assert.equal(replies.length, 5)
      // a reply that was under way beside the one at which the process died is lost with it
      assert.ok(model.calls.length <= 6, `${model.calls.length} calls`)
      assert.ok(looked.length <= 2)
    })
  })

  test('asks about a once call within a delegation, and goes on there with the answer', async () => {
    const { crew, store, model, looked } = managed({}, memoryStore(), 'once')
    const dying = dyingStore(store, (types) => types.includes('tool.called') && model.calls.length >= 3)
    await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r', inputs }))
    const asking = await crew.resume('r')
    assert.equal(asking.status, 'suspended')
    assert.equal(asking.questions[0]?.path, 'report#1/1.0/researcher#1/1.0')
    await crew.answer('r', asking.questions[0]?.id ?? '', { decision: 'happened', result: 'fact 7' })
    assert.equal(String(await crew.resume('r')), 'report: fact 7, 2 pages')
    assert.ok(looked.length <= 1)
  })

  test('tells the manager about a coworker that there is not', async () => {
    const script: ScriptEntry[] = [
      { when: 'Task: Report', calls: [{ tool: 'delegate_work', input: { coworker: 'Lawyer', task: 'Sue' } }] },
      { when: 'Task: Report', reply: (text) => /coworker: there is [^"\n]*/.exec(text)?.[0] ?? 'nothing' },
    ]
    const { crew } = managed({ manager: scriptedModel(script) })
    assert.match(String(await crew.kickoff({ inputs })), /there is Researcher, Writer/)
  })

  test('hands a task that names an agent to that one, with the task’s tools', async () => {
    const { researcher, writer } = managed()
    const note = tool({ name: 'note', description: 'Note', effect: 'read', input: z.object({}), run: () => 'noted' })
    const script: ScriptEntry[] = [
      { when: 'Task: Report', calls: [{ tool: 'delegate_work', input: { coworker: 'Writer', task: 'Write it' } }] },
      { when: 'Task: Report', reply: 'done' },
    ]
    const manager = new Agent({ role: 'Boss', goal: 'Manage', model: scriptedModel(script) })
    const answers = scriptedModel([{ when: 'Write it', reply: 'written' }])
    const busy = new Agent({ role: writer.role, goal: writer.goal, model: answers })
    const task = new Task({ name: 'report', description: 'Report', agent: busy, tools: [note] })
    const crew = new Crew({
      name: 'm',
      agents: [researcher, busy],
      tasks: [task],
      process: 'hierarchical',
      manager,
      store: memoryStore(),
    })
    assert.equal(String(await crew.kickoff()), 'done')
    assert.deepEqual(answers.calls[0]?.tools, ['note'])
  })

  test('is refused without a manager that can be one', () => {
    const bad = (options: object, message: RegExp) =>
      assert.throws(() => managed(options), { code: 'CREW_INVALID', message })
    bad({ manager: undefined }, /needs a manager/)
    bad({ process: 'sequential' }, /has a manager, but its process is "sequential"/)
    const { researcher, writer } = managed()
    bad({ agents: [researcher, writer], manager: writer }, /manager Writer is among the agents/)
    bad({ agents: [writer], manager: researcher }, /manager Researcher has tools \(look_up\)/)
    bad({ agents: [] }, /needs agents/)
  })

  test('is stale when a coworker is another one, and says which', async () => {
    const { crew, store, report, writer } = managed()
    await crew.kickoff({ inputs })
    const model = scriptedModel(delegation)
    const researcher = new Agent({ role: 'Researcher', goal: 'Find many facts', model })
    const later = new Crew({
      name: 'managed',
      agents: [researcher, writer],
      tasks: [report],
      process: 'hierarchical',
      manager: model,
      store,
    })
    assert.deepEqual((await later.plan()).tasks[0]?.fields, ['coworker:Researcher'])
  })
})

describe('an agent that may delegate', () => {
  test('has the crew’s other agents as coworkers, and does the rest itself', async () => {
    const model = scriptedModel([
      {
        when: /You are Lead[\s\S]*Task: Plan/,
        calls: [{ tool: 'ask_coworker', input: { coworker: 'Expert', question: 'Is it safe?' } }],
      },
      { when: /You are Lead/, reply: (text) => `plan: ${/quite safe/.exec(text)?.[0]}` },
      { when: 'asks you: Is it safe?', reply: 'quite safe' },
    ])
    const lead = new Agent({ role: 'Lead', goal: 'Lead', model, allowDelegation: true })
    const expert = new Agent({ role: 'Expert', goal: 'Know', model })
    const plan = new Task({ name: 'plan', description: 'Plan', agent: lead })
    const crew = new Crew({ name: 'c', agents: [lead, expert], tasks: [plan], store: memoryStore() })
    assert.equal(String(await crew.kickoff()), 'plan: quite safe')
    const alone = new Crew({ name: 'alone', agents: [lead], tasks: [plan], store: memoryStore() })
    await assert.rejects(alone.kickoff(), { code: 'MODEL_FAILED' }).catch(() => undefined)
    assert.deepEqual(model.calls.at(-1)?.tools, [])
  })
})
