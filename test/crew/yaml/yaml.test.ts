// agents.yaml and tasks.yaml as CrewAI users have them: the same objects and the same runs.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { crewFromYaml, loadAgents, loadTasks, type YamlCrewOptions } from 'reprise/yaml'
import { z } from 'zod'
import { agentTable } from '../../../src/crew/options/agent-options.ts'
import { taskTables } from '../../../src/crew/options/task-table.ts'
import { snakeCase } from '../../../src/base/options.ts'
import { crewOf, search, small, templateAgents, templateTasks, withFiles } from './yaml-files.ts'

async function agentOf(fields: string, options: YamlCrewOptions = {}): Promise<Agent> {
  const { agents } = await crewOf({ agents: `a:\n  role: R\n  goal: G\n${fields}` }, options)
  assert.ok(agents[0])
  return agents[0]
}

async function taskOf(fields: string, options: YamlCrewOptions = {}): Promise<Task> {
  const { tasks } = await crewOf({ tasks: `t:\n  description: D\n${fields}` }, options)
  assert.ok(tasks[0])
  return tasks[0]
}

test("crewFromYaml runs CrewAI's template unchanged", async () => {
  const model = scriptedModel([
    { when: 'Look thoroughly', reply: 'ten points' },
    { when: 'Make a full section', reply: '# Report' },
  ])
  const crew = (await crewOf({ agents: templateAgents, tasks: templateTasks })).with({ model, store: 'memory:' })
  const result = await crew.kickoff({ inputs: { topic: 'AI', current_year: 2026 } })
  assert.equal(String(result), '# Report')
  assert.equal(result.task('research_task').raw, 'ten points')
  const [first, second] = model.calls
  assert.ok(first && second)
  assert.ok(
    first.instructions.startsWith(
      'You are AI Senior Data Researcher.\n\nYou have looked into AI for many years, and you tell what matters from what does not.\n\n' +
        'Your goal: Find out what is new in AI\n\n',
    ),
    first.instructions,
  )
  assert.equal(
    first.lastMessage,
    'Task: Look thoroughly into AI and keep in mind that it is 2026.\n\nExpected result: A list of 10 points about AI',
  )
  assert.equal(
    second.lastMessage,
    "Task: Make a full section of each point that you were given. Leave nothing out.\n\nExpected result: A report with a section for each point. Formatted as markdown without '```'\n\n" +
      'What earlier tasks found:\n\n--- research_task ---\nten points',
  )
})

test('crew files have the same task and crew ids as equal TypeScript', async () => {
  const fromYaml = await crewOf({ agents: templateAgents, tasks: templateTasks })
  const agent = new Agent({ role: 'R', goal: 'G' })
  const tasks = ['research_task', 'reporting_task'].map((name) => new Task({ name, description: 'D', agent }))
  assert.deepEqual(
    fromYaml.tasks.map((task) => task.id),
    tasks.map((task) => task.id),
  )
  assert.equal(fromYaml.name, new Crew({ tasks }).name)
})

test('crewFromYaml leads to an error about a missing input before any model call', async () => {
  const model = scriptedModel([{ when: '', reply: 'x' }])
  const crew = (await crewOf({ agents: templateAgents, tasks: templateTasks })).with({ model, store: 'memory:' })
  await assert.rejects(crew.kickoff({ inputs: { topic: 'AI' } }), { code: 'INPUT_MISSING', message: /current_year/ })
  assert.equal(model.calls.length, 0)
})

test('crewFromYaml accepts a folder, two paths, URLs and the text of a URL', async () => {
  await withFiles(small, (folder) => {
    const [agents, tasks] = [join(folder, 'agents.yaml'), join(folder, 'tasks.yaml')]
    const url = pathToFileURL(folder)
    const { name } = crewFromYaml(folder)
    for (const crew of [
      crewFromYaml(url),
      crewFromYaml(new URL(`${url.href}/`)),
      crewFromYaml(url.href),
      crewFromYaml({ agents, tasks }),
      crewFromYaml({ agents: pathToFileURL(agents), tasks: pathToFileURL(tasks).href }),
    ])
      assert.equal(crew.name, name)
    assert.equal(crewFromYaml({ agents, tasks, name: 'mine', store: 'memory:' }).name, 'mine')
    assert.equal(crewFromYaml(folder, { name: 'mine', process: 'sequential', onTask() {} }).name, 'mine')
  })
})

test('loadAgents and loadTasks load one file each', async () => {
  await withFiles({ agents: templateAgents, tasks: templateTasks }, (folder) => {
    const agents = loadAgents(join(folder, 'agents.yaml'))
    assert.deepEqual(Object.keys(agents), ['researcher', 'reporting_analyst'])
    assert.equal(agents['constructor'], undefined)
    const tasks = loadTasks(join(folder, 'tasks.yaml'), { agents })
    assert.deepEqual(
      tasks.map((task) => [task.name, task.named, task.agent === agents['researcher']]),
      [
        ['research_task', true, true],
        ['reporting_task', true, false],
      ],
    )
    assert.throws(() => loadTasks(join(folder, 'tasks.yaml'), { agents: {} }), {
      code: 'CREW_INVALID',
      message: /tasks\.yaml:7:3: task research_task: agent "researcher" is not in the agents given; there are none\n/,
    })
  })
})

test('names in the code type the agents and tasks, and names that the file lacks are refused', async () => {
  await withFiles({ agents: templateAgents, tasks: templateTasks }, async (folder) => {
    const file = join(folder, 'agents.yaml')
    const agents = loadAgents(file, { names: ['researcher'] })
    // no `!`: the compiler knows that it is there
    const role: string = agents.researcher.role
    assert.match(role, /Senior Data Researcher/)
    // @ts-expect-error -- not among the names, though it is there for loadTasks
    assert.ok(agents.reporting_analyst)
    assert.throws(() => loadAgents(file, { names: ['researcher', 'reporting_analist'] }), {
      code: 'OPTION_UNKNOWN',
      message: /^names has reporting_analist, which is not in .*agents\.yaml; did you mean reporting_analyst\?$/,
    })
    assert.throws(() => loadAgents(file, { names: 'researcher' as never }), {
      code: 'OPTION_INVALID',
      message: /^names is "researcher"; give a list of names$/,
    })

    const tasksFile = join(folder, 'tasks.yaml')
    const tasks = loadTasks(tasksFile, { agents, order: ['research_task', 'reporting_task'] })
    const name: 'reporting_task' = tasks[1].name
    assert.equal(name, 'reporting_task')
    const model = scriptedModel([{ when: '', reply: 'fine' }])
    const crew = new Crew({ tasks }).with({ model, store: 'memory:' })
    const result = await crew.kickoff({ inputs: { topic: 'AI', current_year: 2026 } })
    assert.equal(result.task('research_task').raw, 'fine')
    // @ts-expect-error -- the crew knows the names of its tasks
    assert.throws(() => result.task('research'), { code: 'TASK_NOT_FOUND' })
    assert.throws(() => loadTasks(tasksFile, { agents, order: ['research_task', 'report'] }), {
      code: 'OPTION_UNKNOWN',
      message: /^order has report, which is not in .*tasks\.yaml/,
    })
  })
})

test('the order of the file is kept, even for names that are numbers or properties of every object', async () => {
  const names = ['b', '10', '2', '__proto__', 'a', 'constructor']
  const { tasks } = await crewOf({ tasks: names.map((name) => `${name}:\n  description: D ${name}\n`).join('') })
  assert.deepEqual(
    tasks.map((task) => [task.name, task.description]),
    names.map((name) => [name, `D ${name}`]),
  )
})

test("crew files accept CrewAI's fields and Reprise's names for them", async () => {
  const theirs = await agentOf(
    '  llm: gpt-4o\n  tools: [search]\n  verbose: true\n  max_iter: 7\n  max_retry_limit: 0\n  max_execution_time: 90\n  backstory: B\n',
    { tools: [search] },
  )
  const ours = await agentOf(
    '  model: openai/gpt-4o\n  tools: [search]\n  verbose: true\n  maxIterations: 7\n  maxRetries: 0\n  maxSeconds: 90\n  backstory: B\n',
    { tools: { anything: search } },
  )
  assert.deepEqual(theirs, ours)
  assert.deepEqual(
    [theirs.model, theirs.tools[0], theirs.maxIterations, theirs.maxRetries, theirs.maxSeconds, theirs.verbose],
    ['openai/gpt-4o', search, 7, 0, 90, true],
  )
  const options = { tools: { SerperDevTool: search } }
  const task = await taskOf(
    '  expected_output: E\n  tools: [SerperDevTool]\n  guardrail_max_retries: 1\n  name: t\n',
    options,
  )
  assert.deepEqual([task.expectedOutput, task.tools, task.retries], ['E', [search], 1])
  assert.deepEqual(await taskOf('  expectedOutput: E\n  tools: [search]\n  retries: 1\n', options), task)
  assert.deepEqual((await agentOf('  settings:\n    temperature: 0.5\n    stopSequences: [a, b]\n')).settings, {
    temperature: 0.5,
    stopSequences: ['a', 'b'],
  })
})

test('a context is a list of earlier tasks, empty for none and left out for all', async () => {
  const { tasks } = await crewOf({
    tasks:
      'one:\n  description: D1\ntwo:\n  description: D2\n  context: []\nthree:\n  description: D3\n  context: [one]\nfour:\n  description: D4\n  context:\n',
  })
  assert.deepEqual(
    tasks.map((task) => task.context?.map((other) => other.name)),
    [undefined, [], ['one'], undefined],
  )
})

for (const [written, model] of Object.entries({
  'openai/gpt-4o': 'openai/gpt-4o',
  'gpt-4o-mini': 'openai/gpt-4o-mini',
  'o3-mini': 'openai/o3-mini',
  'anthropic/claude-sonnet-4-5': 'anthropic/claude-sonnet-4-5',
  'claude-sonnet-4-5': 'anthropic/claude-sonnet-4-5',
  'gemini/gemini-2.0-flash': 'google/gemini-2.0-flash',
  'ollama/llama3.1:8b': 'ollama/llama3.1:8b',
})) {
  test(`llm ${written} is the model ${model}`, async () => {
    assert.equal((await agentOf(`  llm: ${written}\n`)).model, model)
  })
}

test('llm may be the name of a model in the code', async () => {
  const model = scriptedModel([{ when: '', reply: 'x' }])
  assert.equal((await agentOf('  llm: azure/gpt-4o\n', { models: { 'azure/gpt-4o': model } })).model, model)
  assert.equal((await agentOf('  llm: fast\n', { models: { fast: 'openai/gpt-5-mini' } })).model, 'openai/gpt-5-mini')
})

test('values in the code replace those in the file', async () => {
  const agent = await agentOf('  llm: azure/x\n  tools: [nowhere]\n', {
    agentOptions: { a: { model: 'openai/gpt-5', tools: [search], role: 'Other' } },
  })
  assert.deepEqual([agent.model, agent.tools, agent.role], ['openai/gpt-5', [search], 'Other'])
  const output = z.object({ title: z.string() })
  const task = await taskOf('  output_pydantic: Report\n', { taskOptions: { t: { output, callback() {} } } })
  assert.ok(task.schema && task.callback)
})

test('fields without effect are accepted', async () => {
  const agent = await agentOf(
    '  max_rpm: null\n  allow_delegation: false\n  cache: no\n  memory: off\n  reasoning: False\n  knowledge_sources: []\n  embedder: {}\n' +
      '  system_template: ""\n  max_tokens:\n  use_system_prompt: true\n  code_execution_mode: safe\n  inject_date: no\n  tools: []\n  llm:\n  backstory: ""\n',
  )
  assert.deepEqual(agent, new Agent({ role: 'R', goal: 'G' }))
  const task = await taskOf(
    '  async_execution: false\n  human_input: no\n  output_file: ""\n  markdown: false\n  output_json: null\n  output_pydantic:\n  callback: ~\n' +
      '  guardrail:\n  guardrails: []\n  create_directory: true\n  tools: []\n  expected_output: ""\n',
  )
  assert.deepEqual(task, new Task({ name: 't', description: 'D' }))
})

test('texts are the same in every YAML notation', async () => {
  const roles = [
    '> \n    a b\n    c',
    '>-\n    a b\n    c',
    '"a b\n    c"',
    "' a b c '",
    '|\n    a b c\n\n',
    'a b\n    c',
  ]
  const seen = new Set<string>()
  for (const role of roles) {
    const crew = await crewOf({ agents: `a:\n  role: ${role}\n  goal: G\n` })
    seen.add(crew.agents[0]?.role ?? '')
  }
  assert.deepEqual([...seen], ['a b c'])
})

test('line ends, a byte order mark and comments make no difference', async () => {
  const plain = await crewOf({ agents: templateAgents, tasks: templateTasks })
  for (const change of [
    (text: string) => text.replaceAll('\n', '\r\n'),
    (text: string) => `\ufeff${text}`,
    (text: string) => `# config\n---\n${text}...\n# end\n`,
    (text: string) => `%YAML 1.1\n---\n${text}`,
  ]) {
    const changed = await crewOf({ agents: change(templateAgents), tasks: change(templateTasks) })
    assert.deepEqual(changed.tasks, plain.tasks)
  }
})

test('a scalar is read as its field needs: booleans of YAML 1.1, quoted numbers, texts that look like something else', async () => {
  for (const [word, verbose] of Object.entries({
    yes: true,
    On: true,
    TRUE: true,
    no: false,
    off: false,
    '"true"': true,
    1: true,
  }))
    assert.equal((await agentOf(`  verbose: ${word}\n`)).verbose, verbose, word)
  assert.equal((await agentOf('  max_iter: "12"\n')).maxIterations, 12)
  assert.equal((await agentOf('  max_iter: 1_000\n')).maxIterations, 1000)
  for (const word of ['42', '0x1F', '1.50', 'yes', 'true', '2026-01-31', '12:30'])
    assert.equal((await agentOf(`  backstory: ${word}\n`)).backstory, word)
})

test('anchors, aliases and merge keys work as in any YAML', async () => {
  const { agents } = await crewOf({
    agents: `
x-careful: &careful
  max_iter: 5
  verbose: true
x-quiet: &quiet { verbose: false, max_retry_limit: 1 }
a: &a
  <<: *careful
  role: &role R
  goal: G
b:
  <<: [*quiet, *a]
  goal: *role
`,
    tasks: 't:\n  description: D\n  agent: b\n',
  })
  const [a, b] = agents
  assert.ok(a && b && agents.length === 2)
  assert.deepEqual([a.maxIterations, a.verbose, a.role], [5, true, 'R'])
  assert.deepEqual([b.maxIterations, b.verbose, b.maxRetries, b.role, b.goal], [5, false, 1, 'R', 'R'])
})

test('JSON is accepted as YAML', async () => {
  const agents = JSON.stringify({ a: { role: '{topic}', goal: 'G' } }, null, '\t')
  assert.equal((await crewOf({ agents })).agents[0]?.role, '{topic}')
})

test("the guide's files make a crew, and its table has every accepted field", async () => {
  const guide = readFileSync('docs/guides/yaml.md', 'utf8')
  const [agents, tasks] = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map((match) => match[1])
  assert.ok(agents !== undefined && tasks !== undefined)
  const crew = await crewOf({ agents, tasks })
  assert.deepEqual(
    crew.tasks.map((task) => [task.name, task.agent?.role]),
    [
      ['research_task', '{topic} Senior Data Researcher'],
      ['reporting_task', '{topic} Reporting Analyst'],
    ],
  )
  const rows = [...Object.entries(agentTable.options), ...Object.entries(taskTables.agent.options)]
  // a task's name is its key
  const taken = rows.filter(([, row]) => typeof row.yaml === 'string' && row.yaml !== 'key')
  const names = taken.map(([option, row]) => row.crewai?.[0] ?? snakeCase(option))
  assert.deepEqual(
    names.filter((name) => !guide.includes(`\`${name}\``)),
    [],
  )
})

test('a number is accepted for verbose alone, as other switches are on or off', async () => {
  const agents = 'a:\n  role: R\n  goal: G\n  verbose: 2\n'
  const tasks = (more: string): string => `t:\n  description: D\n  agent: a\n${more}`
  await withFiles({ agents, tasks: tasks('') }, (folder) => void crewFromYaml(folder))
  await withFiles({ agents, tasks: tasks('  human_input: 5\n') }, (folder) => {
    assert.throws(() => crewFromYaml(folder), { code: 'CREW_INVALID', message: /human_input is 5/ })
  })
})
