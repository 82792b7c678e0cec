// agent.kickoff creates a run of its own, as durable as that of a crew.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type AgentOptions } from 'reprise'
import { openStore } from 'reprise/stores'
import { loadAgents } from 'reprise/yaml'
import { z } from 'zod'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, entriesOf, newStore, orDeath, refusal, stateOf } from '../../engine/support.ts'
import { chatReply, openServer, sendJson } from '../../models/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { bundle } from '../../support/bundle.ts'

/** An agent with a scripted model. Default: it answers `done`. */
function clerk(
  script: readonly ScriptEntry[] = [{ when: 'Task:', reply: 'done' }],
  options: Partial<AgentOptions> = {},
) {
  const model = scriptedModel(script)
  return { agent: new Agent({ role: 'Clerk', goal: 'Answer', model, ...options }), model, store: newStore() }
}

const lookup = tool({
  name: 'lookup',
  description: 'Look up',
  effect: 'read',
  input: z.object({ word: z.string() }),
  run: ({ word }) => `${word} is a word`,
})

describe('the kickoff of an agent', () => {
  test('agent.kickoff returns the answer as a string, from a run of a crew with one task', async () => {
    const { agent, model, store } = clerk([{ when: 'Task: Say hello', reply: 'hello' }])
    const result = await agent.kickoff('Say hello', { store, id: 'r' })
    assert.equal(result.output, 'hello')
    assert.equal(String(result), 'hello')
    assert.equal(result.task('answer').agent, 'Clerk')
    assert.match(model.calls[0]?.instructions ?? '', /^You are Clerk\..*Your goal: Answer/s)
    assert.equal((await store.row('r'))?.crew, 'agent Clerk')
    assert.deepEqual((await stateOf(store, 'r')).inputs, { prompt: 'Say hello' })
  })

  test('agent.kickoff returns what the output schema parses', async () => {
    const { agent, model, store } = clerk([{ when: 'Task:', reply: { day: '2020-01-02' } }])
    const output = z.object({ day: z.string().transform((day) => new Date(day)) })
    const result = await agent.kickoff('When?', { store, output })
    assert.equal(result.status, 'completed')
    assert.equal(result.output?.day.getFullYear(), 2020)
    assert.ok(model.calls[0]?.output)
  })

  test('the tools of agent.kickoff replace those of the agent', async () => {
    const own = tool({ name: 'own', description: 'd', effect: 'read', input: z.object({}), run: () => 'own' })
    const script = [
      { when: 'Task:', calls: [{ tool: 'lookup', input: { word: 'fog' } }] },
      { when: 'Task:', reply: (text: string) => /(\w+ is a word)/.exec(text)?.[0] ?? '' },
    ]
    const { agent, model, store } = clerk(script, { tools: [own] })
    assert.equal(String(await agent.kickoff('What is fog?', { store, tools: { lookup } })), 'fog is a word')
    assert.deepEqual(model.calls[0]?.tools, ['lookup'])
  })

  test('agent.kickoff leaves braces in the prompt as they are', async () => {
    const { agent, model, store } = clerk(undefined, { goal: 'Know {topic}' })
    const prompt = 'Explain {topic}, {{literal}}, {prompt} and ${x} in {"json": {"a": 1}}'
    await agent.kickoff(prompt, { store, inputs: { topic: 'fire' } })
    assert.equal(model.calls[0]?.lastMessage, `Task: ${prompt}`)
    assert.match(model.calls[0]?.instructions ?? '', /Your goal: Know fire/)
  })

  test('agent.kickoff inserts the prompt into texts of the agent that use {prompt}', async () => {
    const { agent, model, store } = clerk(undefined, { goal: 'Answer {prompt}' })
    await agent.kickoff('Why?', { store })
    assert.match(model.calls[0]?.instructions ?? '', /Your goal: Answer Why\?/)
  })

  test('agent.kickoff is refused without an input that a text of the agent uses', async () => {
    const { agent, model, store } = clerk(undefined, { goal: 'Know {topic}' })
    const missing = await refusal(() => agent.kickoff('Why?', { store, inputs: {} }))
    assert.equal(missing.code, 'INPUT_MISSING')
    assert.match(missing.message, /the goal of agent Clerk uses \{topic\}/)
    const unknown = await refusal(() => agent.kickoff('Why?', { store, inputs: { topci: 'x' } }))
    assert.match(unknown.message, /crew agent Clerk has no input topci; did you mean topic\?/)
    assert.deepEqual(model.calls, [])
  })

  test('agent.kickoff returns the stored result of a completed run, and refuses another prompt for it', async () => {
    const { agent, model, store } = clerk()
    await agent.kickoff('One?', { store, id: 'r' })
    const again = await agent.kickoff('One?', { store, id: 'r' })
    assert.equal(String(again), 'done')
    assert.equal(model.calls.length, 1)
    const other = await refusal(() => agent.kickoff('Two?', { store, id: 'r' }))
    assert.equal(other.code, 'INPUTS_DIFFER')
    assert.match(other.message, /prompt was "One\?" and is "Two\?"/)
    assert.equal(model.calls.length, 1)
  })

  test('a repeated agent.kickoff continues after a crash at any append, and repeats no recorded step', async () => {
    await atEveryAppend(async (dying) => {
      const { agent, model, store } = clerk([
        { when: 'Task:', calls: [{ tool: 'lookup', input: { word: 'fog' } }] },
        { when: 'Task:', reply: 'done' },
      ])
      const options = { id: 'r', tools: [lookup] }
      await orDeath(agent.kickoff('What is fog?', { ...options, store: dying(store) }))
      assert.equal(String(await agent.kickoff('What is fog?', { ...options, store })), 'done')
      const replies = (await entriesOf(store, 'r')).filter(({ type }) => type === 'model.replied')
      assert.equal(replies.length, 2)
      assert.ok(model.calls.length <= 3, `${model.calls.length} calls`)
    })
  })

  test('agent.kickoff returns an open question, and a repeated call with onQuestion answers it', async () => {
    const input = z.object({ word: z.string() })
    const post = tool({ name: 'post', description: 'Post', approval: true, input, run: () => 'posted' })
    const { agent, store } = clerk([
      { when: 'Task:', calls: [{ tool: 'post', input: { word: 'fog' } }] },
      { when: 'Task:', reply: 'done' },
    ])
    const options = { id: 'r', store, tools: [post] }
    const asked = await agent.kickoff('What is fog?', options)
    assert.deepEqual([asked.status, asked.output, asked.questions.length], ['suspended', undefined, 1])
    const onQuestion = () => ({ decision: 'approve' }) as const
    assert.equal(String(await agent.kickoff('What is fog?', { ...options, onQuestion })), 'done')
  })

  test('agent.kickoff asks whether to continue when its budget is used up', async () => {
    const { agent, model, store } = clerk(
      [
        { when: 'Task:', calls: [{ tool: 'lookup', input: { word: 'fog' } }], usage: { input: 90, output: 20 } },
        { when: 'Task:', reply: 'done' },
      ],
      { tools: [lookup] },
    )
    const { status, questions } = await agent.kickoff('Why?', { store, budget: { tokens: 100 } })
    assert.deepEqual([status, questions[0]?.kind, model.calls.length], ['suspended', 'limit', 1])
  })

  test('agent.kickoff executes nothing when its plan is refused', async () => {
    const { agent, model, store } = clerk()
    const planned: (readonly string[])[] = []
    const onPlan = ({ execute }: { readonly execute: readonly string[] }) => planned.push(execute) > 1
    assert.equal((await refusal(() => agent.kickoff('Why?', { store, onPlan }))).code, 'PLAN_REFUSED')
    assert.deepEqual([planned, model.calls.length], [[['answer']], 0])
  })

  test('agent.kickoff is suspended by its signal', async () => {
    const { agent, model, store } = clerk()
    const { status } = await agent.kickoff('Why?', { store, signal: AbortSignal.abort() })
    assert.deepEqual([status, model.calls.length], ['suspended', 0])
  })

  test('concurrent calls of agent.kickoff with one id create one run and share its result', async () => {
    const { agent, model, store } = clerk()
    const calls = Array.from({ length: 5 }, () => agent.kickoff('Why?', { store, id: 'r', whenHeld: 'follow' }))
    assert.deepEqual((await Promise.all(calls)).map(String), Array(5).fill('done'))
    assert.equal(model.calls.length, 1)
  })

  test('the run of agent.kickoff can be followed by its events', async () => {
    const { agent, store } = clerk()
    const run = await agent.kickoff('Why?', { store }).started
    const types: string[] = []
    for await (const { type } of run.events()) types.push(type)
    assert.equal(types.at(-1), 'run.completed')
    assert.equal(String(await run.result()), 'done')
  })

  test('an agent from a YAML file has kickoff, too', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'agents.yaml')
    await writeFile(file, 'clerk:\n  role: Clerk\n  goal: Answer\n  llm: script\n')
    const { model, store } = clerk()
    const { clerk: agent } = loadAgents(file, { names: ['clerk'], models: { script: model } })
    assert.equal(String(await agent.kickoff('Why?', { store })), 'done')
  })
})

describe('a refused agent.kickoff', () => {
  for (const [prompt, words] of [
    ['', '""'],
    [' \n', '" \\n"'],
    [undefined, 'undefined'],
    [7, '7'],
    [['a', 'b'], 'a list'],
    [{ text: 'a' }, 'an object'],
  ] as const) {
    test(`agent.kickoff with ${words} as the prompt is refused, with nothing stored`, async () => {
      const { agent, store } = clerk()
      const call = agent.kickoff(prompt as never, { store })
      const error = await refusal(() => call)
      assert.equal(error.code, 'OPTION_INVALID')
      assert.equal(error.facts, `the prompt for agent "Clerk" is ${words}; give a non-empty string`)
      await assert.rejects(call.started, { code: 'OPTION_INVALID' })
      assert.deepEqual((await store.list({}, { limit: 1 })).rows, [])
    })
  }

  for (const [options, code, words] of [
    [
      { topic: 'x' },
      'OPTION_UNKNOWN',
      /kickoff of an agent has no option "topic"; did you mean \{ inputs: \{ topic \} \}\?/,
    ],
    [{ through: 'answer' }, 'OPTION_UNKNOWN', /"through"/],
    [{ output: 'text' }, 'SCHEMA_INVALID', /output of task "answer"/],
    [{ tools: 'lookup' }, 'OPTION_INVALID', /tools of task "answer" is "lookup"/],
    [{ store: 7 }, 'STORE_INVALID', /store of crew "agent Clerk" is 7/],
    [{ budget: { token: 1 } }, 'OPTION_INVALID', /budget of crew "agent Clerk"/],
    [{ inputs: 'x' }, 'INPUT_INVALID', /inputs is "x"/],
    [{ inputs: { prompt: 'x' } }, 'INPUT_INVALID', /inputs\.prompt is "x"; the prompt is the first argument/],
    [null, 'OPTION_INVALID', /not null/],
  ] as const) {
    test(`agent.kickoff with the options ${JSON.stringify(options)} is refused, with nothing stored`, async () => {
      const { agent, model, store } = clerk()
      const given = options && !('store' in options) ? { store, ...options } : options
      const error = await refusal(() => agent.kickoff('Why?', given as never))
      assert.equal(error.code, code)
      assert.match(error.message, words)
      assert.deepEqual([model.calls.length, (await store.list({}, { limit: 1 })).rows.length], [0, 0])
    })
  }
})

test('every role of an agent results in a crew name of its own', async () => {
  const long = 'x'.repeat(300)
  const roles = [
    'a/b',
    'a#b',
    'a%2Fb',
    ' a',
    'constructor',
    long,
    `${long}y`,
    `a${'🙂'.repeat(60)}`,
    '{a} {b',
    '研究員',
  ]
  const store = newStore()
  for (const [index, role] of roles.entries()) {
    const { agent } = clerk(undefined, { role })
    const inputs = role.startsWith('{') ? { a: 'x' } : {}
    assert.equal(String(await agent.kickoff('Why?', { store, id: `r${index}`, inputs })), 'done')
  }
  const names = await Promise.all(roles.map(async (_, index) => (await store.row(`r${index}`))?.crew ?? ''))
  assert.deepEqual(names.slice(0, 5), ['agent a%2Fb', 'agent a%23b', 'agent a%252Fb', 'agent  a', 'agent constructor'])
  assert.equal(new Set(names).size, roles.length)
})

describe('the kickoff of an agent within a function task', () => {
  const scene = (store = newStore()) => {
    const { agent, model } = clerk([
      { when: 'Task: one', reply: '1' },
      { when: 'Task: two', reply: '2' },
    ])
    const add = new Task({
      name: 'add',
      effect: 'idempotent',
      run: async () => {
        const answers = await Promise.all(['one', 'two'].map((prompt) => agent.kickoff(prompt)))
        return answers.map(String).join(' + ')
      },
    })
    return { crew: new Crew({ name: 'sums', tasks: [add], store, logger: { info() {}, warn() {} } }), model, store }
  }

  test('agent.kickoff within a function task creates a child run, whose usage the parent counts', async () => {
    const { crew, store } = scene()
    const result = await crew.kickoff({ id: 's' })
    assert.equal(result.output, '1 + 2')
    assert.equal(result.usage.spent.calls, 2)
    const { rows } = await store.list({ root: 's' }, { limit: 9 })
    const children = rows.filter(({ run }) => run !== 's')
    assert.equal(children.length, 2)
    for (const { run, crew: name } of children) {
      assert.match(run, /^s\/add#1\/1\.0\/agent Clerk-.{8}#1$/)
      assert.equal(name, 'agent Clerk')
    }
  })

  test('agent.kickoff within a function task finds its run after a crash, and pays for nothing twice', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, model, store } = scene()
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 's' }))
      const lost = 2 - (await repliesBelow(store))
      const asked = model.calls.length
      assert.equal((await crew.kickoff({ id: 's' })).output, '1 + 2')
      assert.equal(model.calls.length - asked, lost)
    })
  })

  async function repliesBelow(store: ReturnType<typeof newStore>): Promise<number> {
    const { rows } = await store.list({ root: 's' }, { limit: 9 })
    const journals = await Promise.all(rows.map(({ run }) => entriesOf(store, run)))
    return journals.flat().filter(({ type }) => type === 'model.replied').length
  }
})

test('an agent killed by SIGKILL continues by its id in another process, and repeats no recorded step', async () => {
  await using folder = await temporaryFolder()
  const lastCall = Promise.withResolvers<ServerResponse>()
  const call = { id: 'c', type: 'function', function: { name: 'count', arguments: '{"of":"claims"}' } }
  await using server = await openServer((response, count) => {
    if (count === 1) sendJson(response, 200, chatReply({ tool_calls: [call] }))
    else if (count === 2) lastCall.resolve(response)
    else sendJson(response, 200, chatReply({ content: '{"sum":3}' }))
  })
  const program = await bundle(join(import.meta.dirname, 'agent-process.ts'))
  const url = `sqlite:${join(folder.path, 'runs.db')}`
  const ledger = join(folder.path, 'ledger')
  const start = () =>
    spawn(process.execPath, [program.file, url, ledger], {
      env: { ...process.env, ...program.variables, OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const outcome = async (): Promise<unknown> => {
    const child = start()
    const [chunks] = await Promise.all([child.stdout.toArray(), once(child, 'close')])
    return JSON.parse(Buffer.concat(chunks as Buffer[]).toString())
  }
  const first = start()
  const ended = once(first, 'close')
  await Promise.race([lastCall.promise, ended])
  first.kill('SIGKILL')
  assert.deepEqual(await ended, [null, 'SIGKILL'])
  const completed = { status: 'completed', sum: 3, calls: 2 }
  assert.deepEqual(await outcome(), completed)
  assert.equal(server.received.length, 3, 'only the call in flight is repeated')
  assert.equal(await readFile(ledger, 'utf8'), 'claims\n')
  assert.deepEqual(await outcome(), completed)
  assert.equal(server.received.length, 3, 'a completed run is only read')
  const store = await openStore(url)
  assert.equal((await store.list({}, { limit: 9 })).rows.length, 1)
  await store.close()
})
