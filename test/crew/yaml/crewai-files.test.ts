// Files as CrewAI's users have them: options replace crew.py, all mistakes are reported at once, and fields that
// Reprise lacks and a crew can do without are logged.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, RepriseError, Task } from 'reprise'
import { crewFromYaml, loadAgents, loadTasks, type YamlCrewOptions } from 'reprise/yaml'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { crewOf, refusal, search, small, withFiles, type Files } from './yaml-files.ts'

const staff = ['finder', 'writer', 'boss'].map((name) => `${name}:\n  role: ${name}\n  goal: G\n`).join('')
const work = 'write:\n  description: Write\ncheck:\n  description: Check\nfind:\n  description: Find\n'
const office: Files = { agents: staff, tasks: work }

/** The crew, and the warnings that it logged when it was made. */
async function told(files: Files, options: YamlCrewOptions = {}): Promise<{ crew: Crew; warnings: string[] }> {
  const warnings: string[] = []
  const crew = await crewOf(files, {
    logger: { info() {}, warn: (words) => warnings.push(words.replace(/^\S+(?=config)/, '')) },
    ...options,
  })
  return { crew, warnings }
}

describe('options in place of crew.py:', () => {
  const options: YamlCrewOptions = {
    order: ['find', 'write'],
    taskOptions: { find: { agent: 'finder' }, write: { agent: 'writer', context: ['find'] } },
  }

  test('agents, contexts, and the tasks with their order', async () => {
    const { tasks, agents } = await crewOf(office, options)
    assert.deepEqual(
      tasks.map((task) => [task.name, task.agent?.role, task.context?.map((other) => other.name)]),
      [
        ['find', 'finder', undefined],
        ['write', 'writer', ['find']],
      ],
    )
    assert.deepEqual(
      agents.map(({ role }) => role),
      ['finder', 'writer', 'boss'],
    )
  })

  test('the crew runs in that order', async () => {
    const model = scriptedModel([{ when: '', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} done` }])
    const crew = (await crewOf(office, { ...options, name: 'office', store: memoryStore() })).with({ model })
    const result = await crew.kickoff()
    assert.deepEqual(
      result.tasks.map(({ name, raw }) => [name, raw]),
      [
        ['find', 'Find done'],
        ['write', 'Write done'],
      ],
    )
    assert.match(model.calls[1]?.conversation ?? '', /--- find ---\nFind done/)
  })

  test('they replace what the file says, which then need not be valid', async () => {
    const files = { ...office, tasks: 'find:\n  description: Find\n  agent: clerk\n  context: [later]\n' }
    const [task] = (await crewOf(files, { taskOptions: { find: { agent: 'boss', context: [] } } })).tasks
    assert.deepEqual([task?.agent?.role, task?.context], ['boss', []])
  })

  test('agents and tasks may be objects', async () => {
    await withFiles(office, (folder) => {
      const agents = loadAgents(join(folder, 'agents.yaml'))
      const own = new Agent({ role: 'own', goal: 'g' })
      const tasks = loadTasks(join(folder, 'tasks.yaml'), {
        agents,
        order: ['find', 'check'],
        taskOptions: { find: { agent: own }, check: { agent: 'boss', context: ['find'] } },
      })
      assert.deepEqual(
        tasks.map((task) => task.agent),
        [own, agents['boss']],
      )
      assert.deepEqual(tasks[1]?.context, [tasks[0]])
    })
  })

  test('a manager is named as in the file, and then leaves the list of agents', async () => {
    const crew = await crewOf(office, { process: 'hierarchical', manager: 'boss' })
    assert.deepEqual(
      crew.agents.map(({ role }) => role),
      ['finder', 'writer'],
    )
  })

  for (const [what, changes, says] of [
    [
      'an agent that is not there',
      { taskOptions: { ...options.taskOptions, find: { agent: 'findr' } } },
      /^taskOptions\.find\.agent "findr" is not in config\/agents\.yaml; did you mean finder\?$/,
    ],
    [
      'a task that is not there',
      { taskOptions: { ...options.taskOptions, write: { agent: 'writer', context: ['fnd'] } } },
      /^taskOptions\.write\.context "fnd" is not a task of this file; did you mean find\?$/,
    ],
    [
      'a later task',
      { order: ['write', 'find'] },
      /^taskOptions\.write\.context has find, which comes later; .+ order: \['find', 'write', …\]$/,
    ],
    [
      'a task that order leaves out',
      { taskOptions: { ...options.taskOptions, write: { agent: 'writer', context: ['check'] } } },
      /^taskOptions\.write\.context has check, which is not in order; add it there, or give another context/,
    ],
    ['an order with a name twice', { order: ['find', 'find'] }, /^order has find twice; remove one$/],
    [
      "an order that isn't a list",
      { order: 'find' as never },
      /^order is "find"; give a list of at least one task name$/,
    ],
    ['an empty order', { order: [] }, /^order is a list; give a list of at least one task name$/],
  ] as const) {
    test(`${what} is refused`, async () => {
      const { code, message } = await refusal(office, { ...options, ...changes })
      assert.equal(code, 'OPTION_INVALID')
      assert.match(message, says)
    })
  }

  test('an order with a name that the file lacks is refused', async () => {
    const { code, message } = await refusal(office, { order: ['fnd'] })
    assert.deepEqual(
      [code, message],
      ['OPTION_UNKNOWN', 'order has fnd, which is not in config/tasks.yaml; did you mean find?'],
    )
  })
})

describe('all mistakes are reported at once:', () => {
  const wrong: Files = {
    agents: 'a:\n  role: R\n  max_iter: many\n  verbose: loud\nb:\n  role: R\n  goal: G\na:\n  role: S\n',
    tasks: 't:\n  agent: c\nu:\n  description: D\n  agent: a\n  context: [t, v]\n',
  }

  test('those of both files, with their places', async () => {
    const { code, message } = await refusal(wrong)
    assert.equal(code, 'CREW_INVALID')
    assert.deepEqual(message.split('\n'), [
      'there are 7 mistakes:',
      '  config/agents.yaml:8:1: duplicate a, first at config/agents.yaml:1:1; remove one',
      '  config/agents.yaml:3:3: agent a: max_iter is "many"; give a whole number of at least 1',
      '  config/agents.yaml:4:3: agent a: verbose is "loud"; give true or false',
      '  config/agents.yaml:1:1: agent a: goal is missing; every agent needs role and goal',
      '  config/tasks.yaml:2:3: task t: agent "c" is not in config/agents.yaml; there are a, b; write one of these, or give another in the code: taskOptions: { t: { agent: \'a\' } }',
      '  config/tasks.yaml:1:1: task t: description is missing; every task needs description',
      '  config/tasks.yaml:6:16: task u: context "v" is not a task of this file; before it there are t',
    ])
  })

  test('as errors too, in the cause', async () => {
    const errors = await withFiles(wrong, (folder) => {
      try {
        crewFromYaml(folder)
      } catch (error) {
        return (error as { cause: AggregateError }).cause.errors as unknown[]
      }
      return []
    })
    assert.equal(errors.length, 7)
    assert.ok(errors.every((error) => RepriseError.isInstance(error) && error.code === 'CREW_INVALID'))
  })

  test('both of two unreadable files', async () => {
    const { message } = await refusal({ agents: 'a: [', tasks: '' })
    assert.match(
      message,
      /^there are 2 mistakes:\n {2}config\/agents\.yaml:1:5: .+\n {2}config\/tasks\.yaml: the file is/,
    )
  })

  test('the first thirty of many', async () => {
    const tasks = Array.from({ length: 40 }, (_, index) => `t${index}:\n  description:\n`).join('')
    const { message } = await refusal({ ...small, tasks })
    assert.equal(message.split('\n').length, 32)
    assert.match(message, /^there are 40 mistakes:\n[^]*\n {2}and 10 more$/)
  })

  test('tasks without an agent in one message', async () => {
    const { message } = await refusal(office)
    assert.equal(
      message,
      'config/tasks.yaml:1:1: agent is missing in tasks write, check, find, and config/agents.yaml has 3; write in each agent: ' +
        "with one of finder, writer, boss, or give it in the code: taskOptions: { write: { agent: 'finder' }, … }",
    )
  })
})

describe('a field that a crew can do without is logged:', () => {
  for (const [kind, fields, says] of [
    ['agents', '  memory: true\n', /^config\/agents\.yaml:4:3: memory is true: Reprise has no memory; a run knows/],
    ['agents', '  planning: yes\n', /: planning is "yes": Reprise has no planning step/],
    ['agents', '  reasoning: true\n', /: reasoning is true: .+ give settings: \{ reasoning: medium \}$/],
    ['agents', '  cache: true\n', /: cache is true: results are only cached for tools with cache: true$/],
    ['agents', '  allow_code_execution: true\n', /: Reprise executes no code; give the agent a tool that does$/],
    ['agents', '  use_system_prompt: false\n', /: use_system_prompt is false: it is always on; remove it$/],
    ['agents', '  function_calling_llm: gpt-4o\n', /: the model of the agent calls the tools$/],
    ['agents', '  colour: red\n', /: an agent has no field "colour": it has no effect; remove it$/],
    ['tasks', '  priority: 1\n', /^config\/tasks\.yaml:3:3: a task has no field "priority": it has no effect/],
    [
      'tasks',
      '  name: Other\n',
      /: the name of task t is "Other": in Reprise, its key is its name; remove the field name$/,
    ],
  ] as const) {
    test(fields.trim(), async () => {
      const { crew, warnings } = await told({ ...small, [kind]: `${small[kind]}${fields}` })
      assert.equal(crew.tasks[0]?.name, 't')
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', says)
    })
  }

  test('once for all agents that have it', async () => {
    const agents = staff.replaceAll('  goal', '  memory: true\n  goal')
    const { warnings } = await told({ agents, tasks: 't:\n  description: D\n  agent: boss\n' })
    assert.deepEqual(
      warnings.map((words) => words.split(': memory')[0]),
      ['config/agents.yaml:3:3 (and in 2 other places)'],
    )
  })

  test('by loadAgents and loadTasks too, but not if the file has a mistake', async () => {
    await withFiles({ agents: `${small.agents}  memory: true\n`, tasks: `${small.tasks}  priority: 1\n` }, (folder) => {
      const warnings: string[] = []
      const logger = { info() {}, warn: (words: string) => warnings.push(words) }
      loadAgents(join(folder, 'agents.yaml'), { logger })
      loadTasks(join(folder, 'tasks.yaml'), { logger })
      assert.equal(warnings.length, 2)
      assert.throws(() => crewFromYaml(folder, { logger, taskOptions: { t: { agent: 'b' } } }))
      assert.equal(warnings.length, 2)
    })
  })
})

describe('a CrewAI spelling loads as it is meant:', () => {
  test('agents and tasks below agents: and tasks:', async () => {
    const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ')
    const crew = await crewOf({
      agents: `agents:\n${indented(small.agents)}`,
      tasks: `tasks:\n${indented(small.tasks)}`,
    })
    assert.deepEqual([crew.agents[0]?.role, crew.tasks[0]?.name], ['R', 't'])
    // an agent may be called so
    const [agents] = (await crewOf({ ...small, agents: 'agents:\n  role: R\n  goal: G\n' })).agents
    assert.equal(agents?.role, 'R')
  })

  test('one name instead of a list', async () => {
    const tasks = 't:\n  description: D\nu:\n  description: D2\n  context: t\n  tools: search\n'
    const [, task] = (await crewOf({ ...small, tasks }, { tools: [search] })).tasks
    assert.deepEqual([task?.context?.map(({ name }) => name), task?.tools], [['t'], [search]])
  })

  test('a degree of verbosity', async () => {
    for (const [written, verbose] of [
      ['2', true],
      ['0', false],
    ] as const)
      assert.equal(
        (await crewOf({ ...small, agents: `${small.agents}  verbose: ${written}\n` })).agents[0]?.verbose,
        verbose,
      )
  })

  test('max_tokens, as a setting of the model', async () => {
    const settingsOf = async (fields: string) =>
      (await crewOf({ ...small, agents: `${small.agents}${fields}` })).agents[0]?.settings
    assert.deepEqual(await settingsOf('  max_tokens: 900\n'), { maxOutputTokens: 900 })
    assert.deepEqual(await settingsOf('  max_tokens: 900\n  settings: { maxOutputTokens: 8, seed: 1 }\n'), {
      maxOutputTokens: 8,
      seed: 1,
    })
  })

  test('a model with its settings', async () => {
    const llm =
      '  llm:\n    model: llama3.3\n    provider: ollama\n    temperature: 0.2\n    max_tokens: 9\n    stop: END\n    base_url:\n'
    const [agent] = (await crewOf({ ...small, agents: `${small.agents}${llm}` })).agents
    assert.equal(agent?.model, 'ollama/llama3.3')
    assert.deepEqual(agent?.settings, { temperature: 0.2, maxOutputTokens: 9, stopSequences: ['END'] })
  })

  test('a model with an address and a key, which the code gives by its name', async () => {
    const llm =
      '  llm:\n    model: fast\n    provider: own\n    base_url: http://127.0.0.1:1\n    api_key: secret\n    seed: 3\n'
    const model = scriptedModel([])
    const [agent] = (await crewOf({ ...small, agents: `${small.agents}${llm}` }, { models: { 'own/fast': model } }))
      .agents
    assert.deepEqual([agent?.model, agent?.settings], [model, { seed: 3 }])
    const { message } = await refusal({ ...small, agents: `${small.agents}${llm}` })
    assert.match(message, /llm has base_url, which needs code; .+ models: \{ "own\/fast": … \}$/)
  })

  test('Ollama at its default address', async () => {
    for (const address of ['http://localhost:11434', 'http://127.0.0.1:11434/v1']) {
      const llm = `  llm: { model: ollama/llama3.3, base_url: "${address}" }\n`
      assert.equal((await crewOf({ ...small, agents: `${small.agents}${llm}` })).agents[0]?.model, 'ollama/llama3.3')
    }
  })

  test('fields of the agent below settings', async () => {
    const settings =
      '  settings:\n    verbose: true\n    max_iter: 3\n    max_tokens: 7\n    temperature: 1\n    cache: false\n'
    const [agent] = (await crewOf({ ...small, agents: `${small.agents}${settings}` })).agents
    assert.deepEqual(
      [agent?.verbose, agent?.maxIterations, agent?.settings],
      [true, 3, { maxOutputTokens: 7, temperature: 1 }],
    )
    const { message } = await refusal({ ...small, agents: `${small.agents}  max_iter: 4\n${settings}` })
    assert.match(message, /^config\/agents\.yaml:7:5: agent a: max_iter and max_iter set the same option; keep one$/)
  })

  test('a date for the agent', async () => {
    const [agent] = (
      await crewOf({ ...small, agents: `${small.agents}  inject_date: true\n  date_format: "%d.%m.%Y"\n` })
    ).agents
    assert.deepEqual([agent?.injectDate, agent?.dateFormat], [true, '%d.%m.%Y'])
  })

  test('tools by the last part of their CrewAI name', async () => {
    const agents = `${small.agents}  tools: ["custom:search", "crewai_tools:SerperDevTool"]\n`
    const other = { ...search, name: 'serper' }
    const [agent] = (await crewOf({ ...small, agents }, { tools: { search, SerperDevTool: other } })).agents
    assert.deepEqual(
      agent?.tools.map(({ name }) => name),
      ['search', 'serper'],
    )
  })
})

test('missing tools of a list are named together', async () => {
  const files = { ...small, agents: `${small.agents}  tools: ["custom:look", search, ask]\n` }
  const without = await refusal(files)
  assert.match(
    without.message,
    /:4:11: agent a: tools "custom:look", "search", "ask" are unknown, .+: tools: \{ "look": …, "search": …, "ask": … \}$/,
  )
  const some = await refusal(files, { tools: [search] })
  assert.match(
    some.message,
    /: tools "custom:look", "ask" are not among the tools given \(search\); give tools: \{ "look": …, "ask": … \}$/,
  )
})

test('crew files make the same crew as equal TypeScript', async () => {
  const fromFiles = await crewOf(office, { order: ['find'], taskOptions: { find: { agent: 'finder' } } })
  const finder = new Agent({ role: 'finder', goal: 'G' })
  assert.deepEqual(fromFiles.tasks, [new Task({ name: 'find', description: 'Find', agent: finder })])
})
