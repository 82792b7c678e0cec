// Names of properties that every JavaScript object has, for inputs, tools, tasks and models: none is found unless
// declared, none is lost.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { tool as toolOfAiSdk } from 'ai'
import { z } from 'zod'
import { changedFields, explainChange } from '../../../src/journal/describe.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { newStore, oneTask, refusal } from '../../engine/support.ts'

const aiTool = toolOfAiSdk({ description: 'd', inputSchema: z.object({}), execute: () => 1 })
const quiet = { info() {}, warn() {} }
const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty']
const model = () => scriptedModel([{ when: '', reply: 'done' }])
const agent = (): Agent => new Agent({ role: 'A', goal: 'g', model: model() })
for (const name of names) {
  describe(`the name ${name}`, () => {
    test('is an input like any other: missing until it is given, and changed when its value is', async () => {
      const task = new Task({ name: 'job', description: `Do {${name}}`, agent: agent() })
      const crew = new Crew({ name: 'c', tasks: [task], store: newStore(), logger: quiet })
      const missing = await refusal(() => crew.kickoff({}))
      assert.equal(missing.code, 'INPUT_MISSING')
      await crew.kickoff({ id: 'r', inputs: JSON.parse(`{"${name}":"x"}`) as never })
      assert.deepEqual(Object.keys((await crew.run('r').view()).inputs), [name])
      const differ = await refusal(() => crew.kickoff({ id: 'r', inputs: JSON.parse(`{"${name}":"y"}`) as never }))
      assert.match(differ.message, new RegExp(`${name} was "x" and is "y"`))
    })

    test('in a text or output file of a nested crew is missing until it is given', async () => {
      const inner = new Crew({
        name: 'inner',
        tasks: [new Task({ name: 'say', description: `Say {${name}}`, agent: agent() })],
      })
      const task = new Task({
        name: 'outer',
        crew: inner,
        inputs: () => JSON.parse(`{"${name}":"x"}`) as never,
      })
      assert.equal(
        String(await new Crew({ name: 'c', tasks: [task], store: newStore(), logger: quiet }).kickoff()),
        'done',
      )
      const bare = new Task({ name: 'bare', crew: inner })
      const error = await refusal(() =>
        new Crew({ name: 'd', tasks: [bare], store: newStore(), logger: quiet }).kickoff(),
      )
      assert.equal(error.code, 'INPUT_MISSING')
      const file = new Task({ name: 'file', description: 'Do', agent: agent(), outputFile: `{${name}}.md` })
      const path = await refusal(() =>
        new Crew({ name: 'e', tasks: [file], store: newStore(), logger: quiet }).kickoff({}),
      )
      assert.equal(path.code, 'INPUT_MISSING')
    })

    test(
      'is a task and a tool like any other',
      { skip: name === '__proto__' && 'refused as the name of a tool' },
      async () => {
        let calls = 0
        const odd = tool({
          name,
          description: 'd',
          effect: 'once',
          input: z.object({}),
          run: () => `called ${++calls}`,
        })
        const { crew, model: asked } = oneTask({
          tools: [odd],
          script: [
            { when: 'Do it', calls: [{ tool: name, input: {} }] },
            { when: 'Do it', reply: 'done' },
          ],
        })
        assert.equal(String(await crew.kickoff()), 'done')
        assert.deepEqual([calls, asked.calls[0]?.tools, asked.calls[1]?.lastMessage], [1, [name], 'called 1'])
        const code = new Task({ name, effect: 'read', run: () => 'seen' })
        const next = new Task({
          name: 'next',
          effect: 'read',
          run: ({ outputs }) => Object.entries(outputs).flat().join(' '),
        })
        const result = await new Crew({ name: 'c', tasks: [code, next], store: newStore() }).kickoff()
        assert.equal(String(result), `${name} seen`)
      },
    )

    test('of an unknown tool is an error for the model that calls it', async () => {
      const look = tool({ name: 'look', description: 'd', effect: 'read', input: z.object({}), run: () => 'seen' })
      const { crew, model: asked } = oneTask({
        tools: [look],
        script: [
          { when: 'Do it', calls: [{ tool: name, input: {} }] },
          { when: 'Do it', reply: 'done' },
        ],
      })
      assert.equal(String(await crew.kickoff()), 'done')
      assert.match(asked.calls[1]?.lastMessage ?? '', /There is no tool called/)
    })

    test('is a field of a fingerprint only if it is set there', () => {
      const field = JSON.parse(`{"${name}":"d"}`) as Record<string, string>
      assert.deepEqual(changedFields({}, field), [name])
      assert.deepEqual(explainChange({}, field), [`${name} added`])
      assert.deepEqual(explainChange(field, {}), [`${name} removed`])
      assert.deepEqual(explainChange(field, field), [])
    })
  })
}

test('a tool with the name of a delegation tool is refused before anything is spent', () => {
  for (const name of ['delegate_work', 'ask_coworker']) {
    const rival = tool({ name, description: 'd', effect: 'read', input: z.object({}), run: () => '' })
    const boss = new Agent({ role: 'Boss', goal: 'g', model: model(), tools: [rival], allowDelegation: true })
    const job = new Task({ name: 'job', description: 'Do', agent: boss })
    const expected = { code: 'CREW_INVALID', message: new RegExp(`task job: agent Boss .* tool ${name}.*rename`) }
    assert.throws(() => new Crew({ tasks: [job], agents: [boss, agent()] }), expected)
    // a coworker that may delegate itself
    const lead = new Agent({ role: 'Lead', goal: 'g', model: model(), allowDelegation: true })
    const led = new Task({ name: 'job', description: 'Do', agent: lead })
    assert.throws(() => new Crew({ tasks: [led], agents: [lead, boss, agent()] }), expected)
    // who hands nothing on may have it
    const alone = new Agent({ role: 'Alone', goal: 'g', model: model(), tools: [rival] })
    assert.ok(new Crew({ tasks: [new Task({ name: 'job', description: 'Do', agent: alone })] }))
  }
})

test('an output file named by an input is accepted for a function whose crew gets its inputs later', async () => {
  const save = new Task({ name: 'save', effect: 'read', run: () => 'text', outputFile: '{topic}.md' })
  const inner = new Crew({ name: 'inner', tasks: [save] })
  const task = new Task({ name: 'outer', crew: inner, inputs: () => ({}) })
  const crew = new Crew({ name: 'c', tasks: [task], store: newStore(), logger: quiet })
  // refused with the name of the input when its turn comes, not before its inputs are known
  const error = await refusal(() => crew.kickoff({ id: 'r' }))
  assert.equal(error.code, 'INPUT_MISSING')
  assert.ok(await crew.run('r').view())
  assert.deepEqual(inner.inputs, ['topic'])
})

test('a hole in a list of tools is named instead of crashing', () => {
  const look = tool({ name: 'look', description: 'd', effect: 'read', input: z.object({}), run: () => '' })
  const tools = [look]
  tools[2] = look
  assert.throws(() => new Agent({ role: 'A', goal: 'g', tools }), {
    code: 'OPTION_INVALID',
    message: /item 2 of tools of agent "A" is undefined/,
  })
})

describe('a name with invisible characters', () => {
  const hidden = {
    newline: 'a\nb',
    control: 'a\u009bb',
    direction: 'a\u202eb',
    isolate: 'a\u2066b',
    width: 'a\u200bb',
    line: 'a\u2028b',
  }
  const made: { readonly [of: string]: (name: string) => unknown } = {
    crew: (name) => new Crew({ name, tasks: [new Task({ name: 't', run: () => 1 })] }),
    task: (name) => new Task({ name, description: 'x' }),
    function: (name) => new Task({ name, run: () => 1 }),
    agent: (role) => new Agent({ role, goal: 'g' }),
    tool: (name) => tool({ name, description: 'd', input: z.object({}), run: () => 1 }),
    'tool of the AI SDK': (name) => new Agent({ role: 'A', goal: 'g', tools: { [name]: aiTool } }),
    run: (id) => new Crew({ tasks: [new Task({ name: 't', run: () => 1 })], store: newStore() }).kickoff({ id }),
    schedule: (name) =>
      new Crew({ tasks: [new Task({ name: 't', run: () => 1 })], store: newStore() }).schedule({
        name,
        cron: '@daily',
      }),
  }
  for (const [of, make] of Object.entries(made)) {
    test(`is refused for a ${of}, and shown escaped`, async () => {
      for (const [kind, name] of Object.entries(hidden)) {
        const error = await refusal(async () => make(name))
        assert.equal(error.code, 'OPTION_INVALID', kind)
        assert.doesNotMatch(error.message, /[\p{Cc}\p{Cf}\p{Zl}]/u, kind)
        assert.match(error.message, /a\\(u[0-9a-f]{4}|n)b/, kind)
      }
    })
  }

  test('is left out of the generated name of an unnamed task', () => {
    const task = new Task({ description: 'Say \u202eit\n now' })
    assert.match(task.name, /^say-it-now-[0-9a-f]{4}$/)
  })
})
