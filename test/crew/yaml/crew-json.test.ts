// crew.jsonc with a file for each agent beside it, as CrewAI's newer projects have them.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Crew, RepriseError } from 'reprise'
import { crewFromYaml, type YamlCrewOptions } from 'reprise/yaml'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { blankComments } from '../../../src/crew/yaml/document.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { search } from './yaml-files.ts'

const crewText = `{
  // what the crew is called
  "name": "News desk",
  "agents": ["finder", "writer"],
  "tasks": [
    { "name": "find", "description": "Find news on {topic}", "expected_output": "A list", "agent": "finder" },
    {
      "name": "write",
      "description": "Write for {reader} // not a comment",
      "expected_output": "A text with \\u00fc",
      "agent": "writer",
      "context": ["find"], /* the facts */
      "markdown": true,
    },
  ],
  "process": "sequential",
  "memory": false,
  "inputs": { "topic": "tides", "reader": "sailors" },
}
`
const finder =
  '{ "role": "Finder of {topic}", "goal": "g", "backstory": "b", "tools": [], "settings": { "max_iter": 4 } }'
const writer =
  '{\n\t"role": "Writer", // who\n\t"goal": "g", "backstory": "b", "llm": { "model": "llama3", "provider": "ollama", "temperature": 0 }\n}'
const project = { 'crew.jsonc': crewText, 'agents/finder.jsonc': finder, 'agents/writer.json': writer }

type Project = { readonly [path: string]: string | undefined }

async function inFolder<T>(files: Project, use: (folder: string) => T | Promise<T>): Promise<T> {
  await using folder = await temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    if (text === undefined) continue
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    writeFileSync(join(folder.path, path), text)
  }
  return await use(folder.path)
}

const crewOf = (files: Project, options?: YamlCrewOptions): Promise<Crew> =>
  inFolder({ ...project, ...files }, (folder) => crewFromYaml(folder, options))

async function refusal(files: Project, options?: YamlCrewOptions): Promise<string> {
  return inFolder({ ...project, ...files }, (folder) => {
    try {
      crewFromYaml(folder, options)
    } catch (error) {
      assert.ok(RepriseError.isInstance(error) && error.code === 'CREW_INVALID', String(error))
      return error.message.replaceAll(`${folder}/`, '')
    }
    return assert.fail('nothing was refused')
  })
}

/** The crew's file, with these fields in place of its own. */
const withFields = (fields: object): Project => ({
  'crew.jsonc': JSON.stringify({ ...(JSON.parse(plainText) as object), ...fields }, null, 2),
})
const plainText = blankComments(crewText).replaceAll(/,(?=\s*[\]}])/g, '')

describe('a crew of JSON files', () => {
  test('has their agents, tasks and fields', async () => {
    const crew = await crewOf({})
    assert.equal(crew.name, 'News desk')
    assert.deepEqual(
      crew.tasks.map((task) => [task.name, task.agent?.role, task.context?.map(({ name }) => name), task.markdown]),
      [
        ['find', 'Finder of {topic}', undefined, false],
        ['write', 'Writer', ['find'], true],
      ],
    )
    assert.deepEqual(
      crew.tasks.map((task) => [task.description, task.expectedOutput]),
      [
        ['Find news on {topic}', 'A list'],
        ['Write for {reader} // not a comment', 'A text with ü'],
      ],
    )
    assert.deepEqual(
      crew.agents.map((agent) => [agent.maxIterations, agent.model, agent.settings]),
      [
        [4, undefined, {}],
        [20, 'ollama/llama3', { temperature: 0 }],
      ],
    )
  })

  test('is found by its folder or its file, as a path or a URL, but two YAML files in the folder come first', async () => {
    await inFolder(project, (folder) => {
      for (const place of [
        folder,
        join(folder, 'crew.jsonc'),
        pathToFileURL(`${folder}/`),
        pathToFileURL(join(folder, 'crew.jsonc')),
      ])
        assert.equal(crewFromYaml(place).name, 'News desk')
      writeFileSync(join(folder, 'agents.yaml'), 'a:\n  role: R\n  goal: G\n')
      writeFileSync(join(folder, 'tasks.yaml'), 't:\n  description: D\n')
      assert.equal(crewFromYaml(folder).tasks[0]?.name, 't')
    })
    const plain = { ...project, 'crew.jsonc': undefined, 'crew.json': plainText }
    assert.equal((await inFolder(plain, (folder) => crewFromYaml(folder))).name, 'News desk')
  })

  test('runs with the inputs of its file, unless others are given', async () => {
    const model = scriptedModel([{ when: '', reply: (text) => /Task: (.+)/.exec(text)?.[1] ?? '' }])
    const seen: unknown[] = []
    const beforeKickoff = (inputs: object): void => void seen.push(inputs)
    const crew = (await crewOf({}, { store: memoryStore(), beforeKickoff })).with({ model })
    const first = await crew.kickoff({ id: 'one' })
    assert.deepEqual(
      first.tasks.map(({ raw }) => raw),
      ['Find news on tides', 'Write for sailors // not a comment'],
    )
    const second = await crew.kickoff({ inputs: { topic: 'storms' } })
    assert.equal(second.task('find').raw, 'Find news on storms')
    assert.deepEqual(seen, [
      { topic: 'tides', reader: 'sailors' },
      { topic: 'storms', reader: 'sailors' },
    ])
    const again = await crew.replay('write', { runId: 'one', inputs: { reader: 'pilots' } })
    assert.deepEqual(again.raw, 'Write for pilots // not a comment')
  })

  test('passes these inputs through beforeKickoff', async () => {
    const model = scriptedModel([{ when: '', reply: (text) => /Task: (.+)/.exec(text)?.[1] ?? '' }])
    const options = { store: memoryStore(), beforeKickoff: () => ({ topic: 'ice', reader: 'all' }) }
    const result = await (await crewOf({}, options)).with({ model }).kickoff()
    assert.equal(result.task('find').raw, 'Find news on ice')
  })

  test('prefers values in the code to those in the file', async () => {
    const crew = await crewOf(withFields({ process: 'nonsense', max_rpm: 'many' }), {
      name: 'other',
      process: 'parallel',
      maxRpm: 3,
      order: ['write'],
      taskOptions: { write: { agent: 'finder', context: [] } },
      agentOptions: { finder: { tools: [search] } },
    })
    assert.deepEqual([crew.name, crew.tasks.map(({ name }) => name)], ['other', ['write']])
    assert.deepEqual(crew.tasks[0]?.agent?.tools, [search])
  })

  test('reads whether a run continues when a task fails, under either name', async () => {
    for (const name of ['onTaskFailure', 'on_task_failure']) {
      const crew = await crewOf(withFields({ [name]: 'continue' }))
      assert.equal(crew['~definition']({}).onTaskFailure, 'continue')
      assert.match(await refusal(withFields({ [name]: 'ignore' })), /is "ignore"; give 'stop' or 'continue'/)
    }
  })

  test('has a manager that is a model, or an agent outside its list of agents', async () => {
    const boss = { 'agents/boss.jsonc': '{ "role": "Boss", "goal": "g" }' }
    const fields = { process: 'hierarchical', manager_agent: 'boss' }
    const managed = await crewOf({ ...boss, ...withFields(fields) })
    assert.deepEqual(
      managed.agents.map(({ role }) => role),
      ['Finder of {topic}', 'Writer'],
    )
    const listed = await crewOf({ ...boss, ...withFields({ ...fields, agents: ['finder', 'boss', 'writer'] }) })
    assert.equal(listed.agents.length, 2)
    const spoken = await crewOf(withFields({ process: 'hierarchical', manager_llm: 'gpt-4o' }))
    assert.ok(spoken.models.includes('openai/gpt-4o'))
  })

  test('may have inline agents, and tasks without a name', async () => {
    const crew = await crewOf(
      withFields({
        agents: { clerk: { role: 'Clerk', goal: 'g' } },
        tasks: [{ description: 'Do it' }, { description: 'And that', agent: 'clerk' }],
      }),
    )
    assert.deepEqual(
      crew.tasks.map((task) => [task.named, task.description, task.agent?.role]),
      [
        [false, 'Do it', undefined],
        [false, 'And that', 'Clerk'],
      ],
    )
  })

  test('tells the logger about ignored fields', async () => {
    const warnings: string[] = []
    await inFolder(
      { ...project, ...withFields({ memory: true, cache: true, output_log_file: 'crew.log', colour: 'red' }) },
      (folder) =>
        crewFromYaml(folder, {
          logger: { info() {}, warn: (words) => warnings.push(words.replace(/^.*\.jsonc:\d+:\d+: /, '')) },
        }),
    )
    assert.deepEqual(warnings, [
      'memory is true: Reprise has no memory; a run knows its inputs and the outputs of its tasks',
      'cache is true: results are only cached for tools with cache: true',
      'output_log_file is "crew.log": give a logger in the code instead',
      'a crew has no field "colour": it has no effect; remove it',
    ])
  })
})

const fieldErrors: { readonly [what: string]: readonly [object, RegExp] } = {
  'no agents': [
    { agents: undefined },
    /^crew\.jsonc: agents is nothing; write a list of the names of the files in agents\/$/,
  ],
  'no tasks': [{ tasks: [] }, /^crew\.jsonc: tasks is a list; write a list of tasks, each with name and description$/],
  'an agent without a file': [
    { agents: ['finder', 'writer', 'editor'] },
    /^crew\.jsonc:6:5: agents has "editor", but agents\/editor\.jsonc does not exist; create it/,
  ],
  'an agent that is not a name': [
    { agents: ['finder', 'writer', 7, {}] },
    /agents has "7"[^]*agents has something that is not a name/,
  ],
  'two tasks of one name': [
    {
      tasks: [
        { name: 'a', description: 'd', agent: 'finder' },
        { name: 'a', description: 'e' },
      ],
    },
    /: two tasks have the name a, first at crew\.jsonc:\d+:5; rename one$/,
  ],
  'a task that is a text': [
    { tasks: ['find'] },
    /task number 1: it is "find", but must have fields: write description:/,
  ],
  'a process that is not there': [
    { process: 'random' },
    /: process is "random"; give 'sequential', 'parallel' or 'hierarchical'$/,
  ],
  'a misspelt field': [{ proces: 'sequential' }, /: there is no field "proces"; did you mean process\?$/],
  'a callback': [
    { before_kickoff_callbacks: [{ python: 'a.b' }] },
    /: before_kickoff_callbacks is a list, but a file cannot contain what it needs; give it in the code: crewFromYaml\(…, \{ beforeKickoff: … \}\)$/,
  ],
  'a manager that is Python': [
    { process: 'hierarchical', manager_agent: { python: 'a.b' } },
    /: manager_agent is a mapping, but a file cannot contain what it needs; give it in the code: crewFromYaml\(…, \{ manager: … \}\)$/,
  ],
  'a manager with settings': [
    { process: 'hierarchical', manager_llm: { model: 'gpt-4o', temperature: 1 } },
    /: manager_llm has settings, which need a manager that is an agent; give it in the code/,
  ],
  'what Reprise does not have': [
    { knowledge_sources: ['a'] },
    /: knowledge_sources is a list: this version of Reprise does not have it/,
  ],
  'an unknown agent of a task': [
    { tasks: [{ name: 'a', description: 'd', agent: 'findr' }] },
    /^crew\.jsonc:\d+:\d+: task a: agent "findr" is not in crew\.jsonc; did you mean finder\?$/,
  ],
  'inputs that are a list': [{ inputs: [1] }, /: inputs is a list; write a mapping: names and values/],
}
describe('a mistake in JSON files is reported with its place:', () => {
  for (const [what, [fields, says]] of Object.entries(fieldErrors)) {
    test(what, async () => {
      assert.match(await refusal(withFields(fields)), says)
    })
  }

  test('for the crew and all its agents at once', async () => {
    const message = await refusal({
      ...withFields({ verbose: 'loud' }),
      'agents/finder.jsonc': '{\n  "role": "R",\n  "goals": "g"\n}',
      'agents/writer.json': '{ "role": ',
    })
    assert.deepEqual(
      message.split('\n').map((line) => line.trim().split(': ').slice(0, 3).join(': ')),
      [
        'there are 4 mistakes:',
        'agents/writer.json:1:11: invalid YAML: Flow map must end with a }; the opening character may be several lines above',
        'crew.jsonc:31:3: verbose is "loud"; give true or false',
        'agents/finder.jsonc:3:3: agent finder: there is no field "goals"; did you mean goal?',
        'agents/finder.jsonc:1:1: agent finder: goal is missing; every agent needs role and goal',
      ],
    )
  })

  test('with lines and columns of the file, whatever comments come before', async () => {
    const text =
      '/* a\n   b */ { // c\n  "name": "x", /* d */ "agents": ["finder"],\n  "tasks": [{ /* e */ "agent": "nobody", "description": "d" }]\n}'
    assert.match(
      await refusal({ 'crew.jsonc': text }),
      /^crew\.jsonc:4:23: task number 1: agent "nobody" is not in crew\.jsonc/,
    )
  })
})

test('comments become blanks, and comment-like text within a string stays', () => {
  assert.equal(
    blankComments('{"a": "// b /* c */ \\" //", // d\n"e": 1} /* f\ng */'),
    '{"a": "// b /* c */ \\" //",     \n"e": 1}     \n    ',
  )
})
