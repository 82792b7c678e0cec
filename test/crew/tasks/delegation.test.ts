// Agents that delegate: a manager's, and their own.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type AgentOptions, type CrewOptions } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { keyedPayment } from '../../engine/payments.ts'
import { atEveryAppend, dyingStore, entriesOf, orDeath, stateOf } from '../../engine/support.ts'

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

test('models and people read roles and goals with their inputs filled in', async () => {
  const store = memoryStore()
  const model = scriptedModel([
    {
      when: /You are Head of fire/,
      calls: [{ tool: 'delegate_work', input: { coworker: 'fire expert', task: 'Dig', context: '' } }],
    },
    { when: /./, reply: 'done' },
  ])
  const lead = new Agent({ role: 'Head of {topic}', goal: 'g', model, allowDelegation: true })
  const expert = new Agent({ role: '{topic} expert', goal: 'Know {topic}', model })
  const tasks = [new Task({ name: 'a', description: 'a', agent: lead })]
  const crew = new Crew({ name: 'c', agents: [lead, expert], tasks, store })
  const result = await crew.kickoff({ id: 'r', inputs: { topic: 'fire' } })
  assert.equal(result.task('a').agent, 'Head of fire')
  const attempts = (await stateOf(store, 'r')).attempts
  assert.deepEqual(
    [...attempts].map(([path, { agent }]) => [path, agent]),
    [
      ['a#1', 'Head of fire'],
      ['a#1/1.0/fire-expert#1', 'fire expert'],
    ],
  )
  assert.match(attempts.get('a#1')?.request.tools[0]?.description ?? '', /Coworkers: fire expert \(Know fire\)/)
})

test('equal calls of coworkers in one attempt have different keys, the same in every life and in derived runs', async () => {
  const delegate = { tool: 'delegate_work', input: { coworker: 'Clerk', task: 'Pay 5', context: '' } }
  await atEveryAppend(async (dying) => {
    const keys: string[] = []
    const pay = keyedPayment(keys)
    const model = scriptedModel([
      { when: /You are Crew manager/, calls: [delegate, delegate] },
      { when: /You are Crew manager/, reply: 'paid' },
      { when: /Pay 5/, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: /Pay 5/, reply: 'done' },
    ])
    const store = memoryStore()
    const crew = new Crew({
      name: 'payers',
      agents: [new Agent({ role: 'Clerk', goal: 'g', model, tools: [pay] })],
      tasks: [new Task({ name: 'pay all', description: 'Pay all' })],
      process: 'hierarchical',
      manager: model,
      store,
      logger: { info() {}, warn() {} },
    })
    await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
    await crew.kickoff({ id: 'r' })
    assert.equal(new Set(keys).size, 2)
    const first = new Set(keys)
    await crew.replay('pay all', { runId: 'r' })
    assert.deepEqual(new Set(keys), first)
  })
})

describe('a hierarchical crew', () => {
  test('has its manager delegate work to the agents and ask them, each under its own path', async () => {
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

  test('killed inside a delegation resumes inside it: no step is paid twice, after a crash at any append', async () => {
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

  test('asks about a once call inside a delegation, and continues there with the answer', async () => {
    const { crew, store, model, looked } = managed({}, memoryStore(), 'once')
    const dying = dyingStore(store, (types) => types.at(-1) === 'tool.called' && model.calls.length >= 3)
    await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r', inputs }))
    const asking = await crew.resume('r')
    assert.equal(asking.status, 'suspended')
    assert.equal(asking.questions[0]?.path, 'report#1/1.0/researcher#1/1.0')
    await crew.run('r').answer(asking.questions[0]?.id ?? '', { decision: 'happened', result: 'fact 7' })
    assert.equal(String(await crew.resume('r')), 'report: fact 7, 2 pages')
    assert.ok(looked.length <= 1)
  })

  test('tells the manager about an unknown coworker', async () => {
    const script: ScriptEntry[] = [
      { when: 'Task: Report', calls: [{ tool: 'delegate_work', input: { coworker: 'Lawyer', task: 'Sue' } }] },
      { when: 'Task: Report', reply: (text) => /coworker: choose from [^"\n]*/.exec(text)?.[0] ?? 'nothing' },
    ]
    const { crew } = managed({ manager: scriptedModel(script) })
    assert.match(String(await crew.kickoff({ inputs })), /choose from Researcher, Writer/)
  })

  test('passes a task that names an agent to that agent, with the task’s tools', async () => {
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

  test('is refused without a suitable manager', () => {
    const bad = (options: object, message: RegExp) =>
      assert.throws(() => managed(options), { code: 'CREW_INVALID', message })
    bad({ manager: undefined }, /needs a manager/)
    bad({ process: 'sequential' }, /has a manager, but its process is "sequential"/)
    const { researcher, writer } = managed()
    bad({ agents: [researcher, writer], manager: writer }, /manager Writer is one of the agents/)
    bad({ agents: [writer], manager: researcher }, /manager Researcher has tools \(look_up\)/)
    bad({ agents: [] }, /needs agents/)
  })

  test('is stale if a coworker changed, and says which', async () => {
    const { crew, store, report, writer } = managed()
    await crew.kickoff({ inputs })
    const model = scriptedModel(delegation)
    const researcher = new Agent({ role: 'Researcher', goal: 'Find many facts', model })
    const { crew: later } = managed({ agents: [researcher, writer], tasks: [report], manager: model }, store)
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

/** A lead that hands work to a writer, who pays for each draft; the first draft is refused. */
function guarded({
  store = memoryStore(),
  retries = 3,
  contextTokens = 100_000,
  sentence = 'It names no amount',
} = {}) {
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ amount: z.number() }),
    run: ({ amount }) => `paid ${paid.push(`${amount}`)}`,
  })
  const model = scriptedModel([
    { when: 'It names no amount', reply: { accept: true, reason: '' } },
    {
      when: /You are Lead/,
      after: 0,
      calls: [{ tool: 'delegate_work', input: { coworker: 'Writer', task: 'Draft' } }],
    },
    {
      when: /You are Lead/,
      reply: (text) => `lead heard: ${/(a fine draft|Writer gave no .*?is bad)/.exec(text)?.[0]}`,
    },
    { when: 'summar', reply: 'a summary' },
    { when: /work: Draft/, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    // the same call again in the continued conversation
    { when: /work: Draft/, after: /is bad/, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    { when: /work: Draft[\s\S]*is bad/, reply: retries > 0 ? 'a fine draft' : 'a bad draft' },
    { when: /work: Draft/, reply: 'a bad draft' },
  ])
  const judged: string[] = []
  const writer = new Agent({
    role: 'Writer',
    goal: 'Write',
    model,
    tools: [pay],
    guardrails: [({ raw }) => (judged.push(raw), !raw.includes('bad') || 'it is bad'), sentence],
    contextTokens,
  })
  const lead = new Agent({ role: 'Lead', goal: 'Lead', model, allowDelegation: true })
  const report = new Task({ name: 'report', description: 'Report', agent: lead, retries })
  const logged: string[] = []
  const logger = { info: (message: string) => void logged.push(message), warn() {} }
  const crew = new Crew({ name: 'guarded', agents: [lead, writer], tasks: [report], store, logger })
  return { crew, model, store, judged, paid, logged }
}

describe('a coworker with guardrails', () => {
  test('retries in the same conversation after a refusal, and makes no once call twice', async () => {
    const { crew, store, judged, paid } = guarded()
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'lead heard: a fine draft')
    assert.deepEqual(judged, ['a bad draft', 'a fine draft'])
    assert.deepEqual((await stateOf(store, 'r')).tasks.get('report')?.nested, [
      'report#1/1.0/writer#1',
      'report#1/1.0/writer#2',
      'report#1/1.0/writer#2/2/guardrail-2#1',
    ])
    const returned = (await entriesOf(store, 'r')).flatMap((entry) =>
      entry.type === 'tool.returned' && entry.path?.includes('writer') ? [`${entry.path} ${entry.source}`] : [],
    )
    assert.deepEqual(returned, ['report#1/1.0/writer#1/1.0 undefined', 'report#1/1.0/writer#2/1.0 recorded'])
    assert.deepEqual(paid, ['5'])
  })

  test('ends as an undisturbed one after a crash at any append, and repeats no recorded call of its model and guardrails', async () => {
    const undisturbed = guarded()
    await undisturbed.crew.kickoff({ id: 'r' })
    await atEveryAppend(async (dying) => {
      const { crew, store, model, paid } = guarded()
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      let result = await crew.kickoff({ id: 'r' })
      while (result.status === 'suspended') {
        const [question] = result.questions
        await crew
          .run('r')
          .answer(
            question?.id ?? '',
            paid.length > 0 ? { decision: 'happened', result: 'paid 1' } : { decision: 'run' },
          )
        result = await crew.resume('r')
      }
      assert.equal(String(result), 'lead heard: a fine draft')
      assert.equal(model.calls.length, undisturbed.model.calls.length)
      assert.deepEqual(paid, ['5'])
    })
  })

  test('without an acceptable answer fails no task: the delegating agent gets an error', async () => {
    const { crew, store, logged } = guarded({ retries: 0 })
    assert.equal(
      String(await crew.kickoff({ id: 'r' })),
      'lead heard: Writer gave no acceptable answer in one try: it is bad',
    )
    assert.equal((await stateOf(store, 'r')).attempts.get('report#1/1.0/writer#1')?.status, 'failed')
    const told = logged.filter((line) => / (started|failed|completed)/.test(line)).map((line) => line.slice(4))
    assert.deepEqual(told, [
      'task report started (report#1) by Lead',
      'attempt report#1/1.0/writer#1 started by Writer',
      'attempt report#1/1.0/writer#1 failed: Writer gave no acceptable answer in one try: it is bad',
      'task report completed',
      'completed',
    ])
  })

  test('whose conversation exceeds its contextTokens has it summarised, like any agent', async () => {
    const { crew, store } = guarded({ contextTokens: 100 })
    await crew.kickoff({ id: 'r' })
    const summaries = (await entriesOf(store, 'r')).filter(({ type }) => type === 'context.summarised')
    assert.ok(summaries.some(({ path }) => path?.startsWith('report#1/1.0/writer#')))
  })

  test('makes a result stale if they change', async () => {
    const { crew, store } = guarded()
    await crew.kickoff()
    const later = guarded({ store, sentence: 'It rhymes' })
    assert.deepEqual((await later.crew.plan()).tasks[0]?.fields, ['coworker:Writer'])
  })
})

describe('a coworker whose maxSeconds are up', () => {
  function slow(handedOn: number, store: Store = memoryStore()) {
    const delegate = { tool: 'delegate_work', input: { coworker: 'Clerk', task: 'Pay', context: '' } }
    const model = scriptedModel([
      ...Array.from({ length: handedOn }, (_, after) => ({
        when: /You are Lead/,
        after,
        calls: [delegate],
        repeat: true,
      })),
      { when: /You are Lead/, reply: (text) => `lead heard: ${text.match(/Clerk [^"]*? s\b/g)?.join(', ')}` },
      { when: /You are Clerk/, calls: [{ tool: 'pay', input: {} }] },
    ])
    let calls = 0
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      input: z.object({}),
      run: () => (calls++, new Promise(() => {})),
    })
    const lead = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true })
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [pay], maxSeconds: 0.2 })
    const tasks = [new Task({ name: 'report', description: 'Report', agent: lead })]
    const crew = new Crew({ name: 'slow', agents: [lead, clerk], tasks, store, logger: { info() {}, warn() {} } })
    return { crew, store, calls: () => calls }
  }

  test('fails no task: the delegating agent gets an error', async () => {
    const { crew, store } = slow(1)
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'lead heard: Clerk did not finish within 0.2 s')
    assert.equal((await stateOf(store, 'r')).attempts.get('report#1/1.0/clerk#1')?.status, 'failed')
  })

  test('leaves a once call in doubt, which is not made again without a person’s word', async () => {
    const { crew, store, calls } = slow(2)
    const [question] = (await crew.kickoff({ id: 'r' })).questions
    assert.equal(question?.kind, 'call')
    assert.match(question.text, /ended with an unknown outcome/)
    assert.equal(calls(), 1)
    // nor in another life, nor in a run made from it
    assert.equal((await slow(2, store).crew.resume('r')).questions.length, 1)
    const replayed = slow(1, store)
    assert.equal((await replayed.crew.replay('report', { runId: 'r' })).questions.length, 1)
    assert.equal(replayed.calls(), 0)
  })
})

describe('a coworker that is out of time', () => {
  const handOn = (coworker: string) => ({ tool: 'delegate_work', input: { coworker, task: 'Pay', context: '' } })
  const never = (): Promise<never> => new Promise(() => {})

  test('leaves the once call of its own coworker in doubt', async () => {
    const model = scriptedModel([
      { when: /You are Lead/, calls: [handOn('Middle')] },
      { when: /You are Lead/, after: 1, calls: [handOn('Clerk')] },
      { when: /You are Lead/, reply: 'done' },
      { when: /You are Middle/, calls: [handOn('Clerk')] },
      { when: /You are Clerk/, calls: [{ tool: 'pay', input: {} }] },
      { when: /You are Clerk/, reply: 'paid' },
    ])
    let calls = 0
    const run = (): Promise<string> => (calls++ === 0 ? never() : Promise.resolve('paid'))
    const pay = tool({ name: 'pay', description: 'Pay', input: z.object({}), run })
    const lead = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true })
    const middle = new Agent({ role: 'Middle', goal: 'g', model, allowDelegation: true, maxSeconds: 0.2 })
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [pay] })
    const tasks = [new Task({ name: 'report', description: 'Report', agent: lead })]
    const crew = new Crew({ name: 'slow', agents: [lead, middle, clerk], tasks, store: memoryStore() })
    const [question] = (await crew.kickoff({ id: 'r' })).questions
    assert.equal(question?.kind, 'call')
    assert.equal(calls, 1)
  })

  test('has an active idempotent call retried with its own key', async () => {
    const model = scriptedModel([
      { when: /You are Lead/, after: 0, calls: [handOn('Clerk')] },
      { when: /You are Lead/, after: 1, calls: [handOn('Clerk')], repeat: true },
      { when: /You are Lead/, reply: 'done' },
      { when: /You are Clerk/, calls: [{ tool: 'pay', input: {} }] },
      { when: /You are Clerk/, reply: 'paid' },
    ])
    const keys: string[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      effect: 'idempotent',
      input: z.object({}),
      run: (_, { idempotencyKey }) => (keys.push(idempotencyKey) === 1 ? never() : 'paid'),
    })
    const lead = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true })
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [pay], maxSeconds: 0.2 })
    const tasks = [new Task({ name: 'report', description: 'Report', agent: lead })]
    const crew = new Crew({ name: 'slow', agents: [lead, clerk], tasks, store: memoryStore() })
    assert.equal(String(await crew.kickoff()), 'done')
    assert.equal(keys.length, 2)
    assert.equal(keys[1], keys[0])
  })

  test('does not override a person who fails the task', async () => {
    const model = scriptedModel([
      { when: /You are Lead/, calls: [handOn('Clerk')] },
      { when: /You are Lead/, reply: 'done' },
      { when: /You are Clerk/, calls: ['pay', 'look'].map((name) => ({ tool: name, input: {} })) },
    ])
    const input = z.object({})
    const pay = tool({ name: 'pay', description: 'Pay', input, approval: true, run: never })
    const look = tool({ name: 'look', description: 'Look', input, effect: 'read', run: never })
    const lead = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true })
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [pay, look], maxSeconds: 0.2 })
    const tasks = [new Task({ name: 'report', description: 'Report', agent: lead })]
    const crew = new Crew({ name: 'slow', agents: [lead, clerk], tasks, store: memoryStore() })
    const failing = crew.kickoff({ onQuestion: () => ({ decision: 'fail', reason: 'not today' }) })
    await assert.rejects(failing, /not today/)
  })
})

describe('a coworker that may delegate', () => {
  /** Each hands on to the first coworker that it is offered. */
  function chain(roles: readonly string[]) {
    const script = roles.flatMap((role, index): ScriptEntry[] => {
      const next = roles[index + 1]
      const you = new RegExp(`You are ${role}\\b`)
      const hand = { tool: 'delegate_work', input: { coworker: next ?? '', task: `work for ${next}` } }
      return [
        ...(next === undefined ? [] : [{ when: you, after: 0, calls: [hand] }]),
        { when: you, reply: (text) => `${role}(${/[B-E]\([B-E()]*\)/.exec(text)?.[0] ?? ''})` },
      ]
    })
    const model = scriptedModel(script)
    const agents = roles.map((role) => new Agent({ role, goal: 'g', model, allowDelegation: true }))
    const [first] = agents
    const job = new Task({ name: 'job', description: 'Do it', agent: first as Agent })
    const store = memoryStore()
    return { crew: new Crew({ name: 'chain', agents, tasks: [job], store }), model, store }
  }

  test('delegates to agents below it only, step by step in the journal', async () => {
    const { crew, model, store } = chain(['A', 'B', 'C'])
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'A(B(C()))')
    assert.deepEqual((await stateOf(store, 'r')).tasks.get('job')?.nested, ['job#1/1.0/b#1', 'job#1/1.0/b#1/1.0/c#1'])
    const offered = model.calls.map(
      ({ instructions, tools }) => `${/You are (\w)/.exec(instructions)?.[1]} ${tools.length}`,
    )
    // all other agents are above C
    assert.deepEqual(offered, ['A 2', 'B 2', 'C 0', 'B 2', 'A 2'])
  })

  test('delegates up to three levels deep', async () => {
    const { crew, model } = chain(['A', 'B', 'C', 'D', 'E'])
    assert.equal(String(await crew.kickoff()), 'A(B(C(D())))')
    assert.ok(model.calls.every(({ instructions }) => !instructions.includes('You are E')))
  })

  test('makes a result stale if it may no longer delegate or its settings change, whoever else may', async () => {
    const model = scriptedModel([{ when: /./, reply: 'done' }])
    const store = memoryStore()
    const [a, b] = ['A', 'B'].map((role) => new Agent({ role, goal: 'g', model, allowDelegation: true }))
    const crewWith = (c: Partial<AgentOptions>): Crew =>
      new Crew({
        name: 'chain',
        agents: [a as Agent, b as Agent, new Agent({ role: 'C', goal: 'g', model, ...c })],
        tasks: [new Task({ name: 'job', description: 'Do it', agent: a as Agent })],
        store,
      })
    await crewWith({ allowDelegation: true }).kickoff()
    assert.deepEqual((await crewWith({ allowDelegation: true }).plan()).tasks[0]?.fields ?? [], [])
    assert.deepEqual((await crewWith({}).plan()).tasks[0]?.fields, ['coworker:C'])
    const warm = crewWith({ allowDelegation: true, settings: { temperature: 1 } })
    assert.deepEqual((await warm.plan()).tasks[0]?.fields, ['coworker:C'])
  })

  test('continues inside it after a crash at any append, and pays for no step twice', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, model, store } = chain(['A', 'B', 'C'])
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      assert.equal(String(await crew.kickoff({ id: 'r' })), 'A(B(C()))')
      assert.equal(model.calls.length, 5)
    })
  })
})
