// Mistakes in agents.yaml and tasks.yaml are reported with file, line and field, before anything is spent.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { Crew, RepriseError } from 'reprise'
import { crewFromYaml, loadAgents, loadTasks, type YamlCrewOptions } from 'reprise/yaml'
import { stringify } from 'yaml'
import { crewOf, refusal, search, small, templateAgents, templateTasks, withFiles, type Files } from './yaml-files.ts'
import { processorSeconds } from '../../support/processor-time.ts'

const agent = (fields: string): Files => ({ ...small, agents: `${small.agents}${fields}` })
const task = (fields: string): Files => ({ ...small, tasks: `${small.tasks}${fields}` })
const two = { agents: templateAgents }
const errors: {
  readonly [what: string]: { readonly files: Files; readonly options?: YamlCrewOptions; readonly says: RegExp }
} = {
  'a missing file': {
    files: { agents: small.agents },
    says: /^config\/tasks\.yaml does not exist; the working folder is .+; for a path relative to the module use new URL\('…', import\.meta\.url\)$/,
  },
  'an empty file': {
    files: { ...small, agents: '' },
    says: /^config\/agents\.yaml: the file is empty; write researcher: and/,
  },
  'a file of comments': {
    files: { ...small, tasks: '# later\n' },
    says: /^config\/tasks\.yaml: the file is empty; write research_task:/,
  },
  'a file with nothing but places to merge': {
    files: { ...small, agents: 'x-a: 1' },
    says: /^config\/agents\.yaml: the file has no agents/,
  },
  'a file that is a list': {
    files: { ...small, agents: '# l\n- role: R\n' },
    says: /^config\/agents\.yaml:2:1: this is a list, not a mapping of names to agents/,
  },
  'a file that is a text': {
    files: { ...small, tasks: 'hello' },
    says: /^config\/tasks\.yaml:1:1: this is a string, not a mapping/,
  },
  'bytes that are not UTF-8': {
    files: { ...small, agents: new Uint8Array([0xff, 0xfe, 0x61, 0]) },
    says: /^config\/agents\.yaml is not UTF-8 text/,
  },
  'a second document': {
    files: { ...small, agents: `${small.agents}---\nb: 1\n` },
    says: /^config\/agents\.yaml:4:1: a second document begins here/,
  },
  'a tab': {
    files: { ...small, agents: 'a:\n\trole: R\n' },
    says: /^config\/agents\.yaml:2:1: .*Tabs are not allowed as indentation; indent with spaces$/,
  },
  'fields out of line': {
    files: agent(' llm: x\n'),
    says: /^config\/agents\.yaml:4:1: invalid YAML: .+; give all fields/,
  },
  'a quote that does not end': {
    files: agent('  llm: "x\n'),
    says: /^config\/agents\.yaml:5:1: invalid YAML: Missing closing/,
  },
  'a text with a colon': {
    files: agent('  backstory: Note: this\n'),
    says: /^config\/agents\.yaml:4:14: invalid YAML: .+; a string that contains ": "/,
  },
  'a string that begins with a placeholder': {
    files: agent('  backstory: {topic} expert\n'),
    says: /^config\/agents\.yaml:4:22: invalid YAML: .+ begins with a character such as \{/,
  },
  'a text that is a placeholder': {
    files: agent('  backstory: {topic}\n'),
    says: /^config\/agents\.yaml:4:3: agent a: backstory is a mapping, but must be a string; a string that begins with \{ needs quotes/,
  },
  'a text that is not indented': {
    files: agent('  backstory: >\n  an expert\n  llm: gpt-4o\n'),
    says: /^config\/agents\.yaml:5:3: .+ is not indented deeper/,
  },
  'a tag': {
    files: agent('  backstory: !env HOME\n'),
    says: /^config\/agents\.yaml:4:14: invalid YAML: Unresolved tag: !env; remove the tag$/,
  },
  'a name that is there twice': {
    files: agent('a:\n  role: S\n'),
    says: /^config\/agents\.yaml:4:1: duplicate a, first at config\/agents\.yaml:1:1; remove one$/,
  },
  'a field that is there twice': {
    files: agent('  role: S\n'),
    says: /^config\/agents\.yaml:4:3: duplicate role, first at config\/agents\.yaml:2:3/,
  },
  'a field under two names': {
    files: agent('  llm: gpt-4o\n  model: gpt-4o\n'),
    says: /^config\/agents\.yaml:5:3: agent a: llm and model set the same option; keep one$/,
  },
  "a key that isn't text": {
    files: { ...small, agents: '? [a]\n: b\n' },
    says: /^config\/agents\.yaml:1:3: a key must be a string$/,
  },
  'an alias of nothing': {
    files: agent('  llm: *fast\n'),
    says: /^config\/agents\.yaml:4:8: \*fast has no anchor; set &fast/,
  },
  'a merge of a text': {
    files: agent('  <<: text\n'),
    says: /^config\/agents\.yaml:4:3: << needs a mapping/,
  },
  'a merge into itself': {
    files: { ...small, agents: 'a: &a\n  <<: *a\n  role: R\n' },
    says: /^config\/agents\.yaml:\d:\d: this mapping is merged into itself/,
  },
  'an agent without fields': {
    files: { ...small, agents: 'a:\n' },
    says: /^config\/agents\.yaml:1:1: agent a: it is nothing, but must have fields: write role: and goal:/,
  },
  'an agent that is a text': {
    files: { ...small, agents: 'a: clerk' },
    says: /^config\/agents\.yaml:1:1: agent a: it is "clerk", but must have fields/,
  },
  'an agent without a role': {
    files: { ...small, agents: 'a:\n  goal: G\n' },
    says: /^config\/agents\.yaml:1:1: agent a: role is missing; every agent needs role and goal$/,
  },
  'agents in groups': {
    files: { ...small, agents: 'desk:\n  clerk: { role: R, goal: G }\n  boss: { role: R, goal: G }\n' },
    says: /^config\/agents\.yaml:1:1: agent desk: role and goal are missing; every agent needs role and goal; if clerk, boss are agents, move them to the top of the file$/,
  },
  'an agent without a goal': {
    files: { ...small, agents: 'b:\n  role: R\n  goal:\n' },
    says: /^config\/agents\.yaml:1:1: agent b: goal is missing/,
  },
  'an agent with an empty role': {
    files: { ...small, agents: 'a:\n  goal: G\n  role: " "\n' },
    says: /^config\/agents\.yaml:3:3: agent a: role is empty; give it a value$/,
  },
  'a task without a description': {
    files: { ...small, tasks: 't:\n  agent: a\n' },
    says: /^config\/tasks\.yaml:1:1: task t: description is missing; every task needs description$/,
  },
  'a list where a text is expected': {
    files: agent('  backstory: [x]\n'),
    says: /^config\/agents\.yaml:4:3: agent a: backstory is a list, but must be a string$/,
  },
  'a text where a number is expected': {
    files: agent('  max_iter: many\n'),
    says: /^config\/agents\.yaml:4:3: agent a: max_iter is "many"; give a whole number of at least 1$/,
  },
  'a number out of range': {
    files: agent('  maxIterations: 0\n'),
    says: /^config\/agents\.yaml:4:3: agent a: maxIterations is 0; give a whole number of at least 1$/,
  },
  'a number without end': { files: agent('  max_iter: .inf\n'), says: /max_iter is Infinity; give a whole number/ },
  'a text where a boolean is expected': {
    files: agent('  verbose: loud\n'),
    says: /^config\/agents\.yaml:4:3: agent a: verbose is "loud"; give true or false$/,
  },
  'a mapping where a list is expected': {
    files: task('  context: { other: 1 }\n'),
    says: /^config\/tasks\.yaml:3:3: task t: context is a mapping; write a list of names$/,
  },
  'a list with a list in it': {
    files: task('  tools:\n    - [a]\n'),
    says: /^config\/tasks\.yaml:4:7: task t: tools has a list in its list; write only names$/,
  },
  'an unknown field': {
    files: task('  expected_ouput: E\n'),
    says: /^config\/tasks\.yaml:3:3: task t: there is no field "expected_ouput"; did you mean expected_output\?$/,
  },
  'an unknown setting': {
    files: agent('  settings:\n    temprature: 1\n'),
    says: /^config\/agents\.yaml:5:5: agent a: settings has no "temprature"; did you mean temperature\?/,
  },
  'an unknown agent': {
    files: { ...two, tasks: templateTasks.replace('agent: reporting_analyst', 'agent: reporting_analist') },
    says: /^config\/tasks\.yaml:16:3: task reporting_task: agent "reporting_analist" is not in config\/agents\.yaml; did you mean reporting_analyst\?$/,
  },
  'no agent where there are two': {
    files: { ...small, ...two },
    says: /^config\/tasks\.yaml:1:1: task t: agent is missing, and config\/agents\.yaml has 2; write agent: with one of researcher, reporting_analyst, or give it in the code: taskOptions: \{ t: \{ agent: 'researcher' \} \}$/,
  },
  'an unknown task': {
    files: task('  context: [later]\n'),
    says: /^config\/tasks\.yaml:3:13: task t: context "later" is not a task of this file; before it there are none$/,
  },
  'a later task': {
    files: task('  context: [u]\nu:\n  description: D\n'),
    says: /^config\/tasks\.yaml:3:13: task t: context has u, which comes later; a task sees only earlier tasks, so move u up, or set the order in the code: order: \['u', 't', …\]$/,
  },
  'the task itself': {
    files: task('  context: [t]\n'),
    says: /^config\/tasks\.yaml:3:13: task t: context has the task itself/,
  },
  'an unknown tool': {
    files: agent('  tools:\n  - serch\n'),
    options: { tools: [search] },
    says: /^config\/agents\.yaml:5:5: agent a: tools "serch" is not among the tools given \(search\); did you mean search\?$/,
  },
  'a tool where none are given': {
    files: task('  tools: [SerperDevTool]\n'),
    says: /tools "SerperDevTool" is unknown, since no tools are given; give it in the code: tools: \{ "SerperDevTool": … \}$/,
  },
  'a tool twice': {
    files: agent('  tools: [search, search]\n'),
    options: { tools: [search] },
    says: /^config\/agents\.yaml:4:3: agent a: tools has two tools named search; rename one$/,
  },
  'an unknown provider': {
    files: agent('  llm: acme/gpt-4o\n'),
    says: /^config\/agents\.yaml:4:3: agent a: llm "acme\/gpt-4o" has no known provider; write provider\/model, where provider is openai, .+ \(did you mean "openai\/gpt-4o"\?\), .+models: \{ "acme\/gpt-4o": … \}$/,
  },
  'a model without a provider': { files: agent('  llm: mixtral\n'), says: /llm "mixtral" has no known provider/ },
  'a provider without a model': { files: agent('  llm: openai/\n'), says: /llm "openai\/" has no known provider/ },
  'a model that is a list': {
    files: agent('  llm: [gpt-4o]\n'),
    says: /^config\/agents\.yaml:4:3: agent a: llm is a list; write provider\/model, and put temperature/,
  },
  'a model with an address': {
    files: agent('  llm:\n    model: ollama/llama3.3\n    base_url: http://127.0.0.1:1\n'),
    says: /^config\/agents\.yaml:6:5: agent a: llm has base_url, which needs code; give the model there: models: \{ "ollama\/llama3\.3": … \}$/,
  },
  'a model without its name': {
    files: agent('  llm:\n    provider: ollama\n'),
    says: /^config\/agents\.yaml:4:3: agent a: llm has no model; write provider\/model, or give it in the code: agentOptions/,
  },
  'a setting of a model that it does not take': {
    files: agent('  llm:\n    model: gpt-4o\n    temperature: warm\n'),
    says: /^config\/agents\.yaml:4:3: agent a: llm is invalid: settings\.temperature is "warm"; give a number of at least 0$/,
  },
  'a guardrail that is a reference to Python': {
    files: task('  guardrail: { python: my.rules.check }\n'),
    says: /^config\/tasks\.yaml:3:3: task t: guardrail is a mapping, but must be a sentence; give a function in the code: taskOptions: \{ t: \{ guardrails: … \} \}$/,
  },
  'a field of the agent above that is not indented': {
    files: agent('tools:\n  - search\n'),
    says: /^config\/agents\.yaml:4:1: agent tools: it is a list, but must have fields: write role: and goal: indented below, or, if it is a field of the agent above, indent it$/,
  },
  'a schema': {
    files: task('  output_pydantic: Report\n'),
    says: /^config\/tasks\.yaml:3:3: task t: output_pydantic is "Report", but a file cannot contain what it needs; give it in the code: taskOptions: \{ t: \{ output: z\.object\(\{ … \}\) \} \}$/,
  },
  'a list of items': {
    files: task('  forEach: outline.chapters\n'),
    says: /^config\/tasks\.yaml:3:3: task t: forEach is "outline\.chapters", but a file cannot contain what it needs; give it in the code: taskOptions: \{ t: \{ forEach: \(\{ outputs \}\) => … \} \}$/,
  },
  'a callback': {
    files: task('  callback: notify\n'),
    says: /^config\/tasks\.yaml:3:3: task t: callback is "notify", .+ taskOptions: \{ t: \{ callback: /,
  },
  'a name that no task can have': {
    files: { ...small, tasks: 'a/b:\n  description: D\n' },
    says: /^config\/tasks\.yaml:1:1: task a\/b: name is "a\/b", which contains "\/"; give up to 100 characters/,
  },
}
for (const [what, { files, options, says }] of Object.entries(errors)) {
  test(`a mistake in YAML is reported with its place: ${what}`, async () => {
    const { code, message } = await refusal(files, options)
    assert.match(message, says)
    assert.equal(code, 'CREW_INVALID')
  })
}

for (const [kind, line, value] of [
  ['agents', '  apps: [gmail]', 'a list'],
  ['agents', '  knowledge_sources: [a]', 'a list'],
  ['tasks', '  input_files: [a]', 'a list'],
] as const) {
  test(`${line.trim()} is refused: this version lacks it`, async () => {
    const files = { ...small, [kind]: `${small[kind]}${line}\n` }
    const { code, message } = await refusal(files)
    const [field] = line.trim().split(':')
    const at = kind === 'agents' ? 'config/agents.yaml:4:3: agent a' : 'config/tasks.yaml:3:3: task t'
    assert.equal(code, 'CREW_INVALID')
    assert.ok(
      message.startsWith(`${at}: ${field} is ${value}: this version of Reprise does not have it; leave it out`),
      message,
    )
  })
}

test('lines are counted correctly after a byte order mark and with Windows line ends', async () => {
  const { message } = await refusal({ ...small, agents: '\ufeffa:\r\n  role: R\r\n  goal: G\r\n  rol: red\r\n' })
  assert.match(message, /^config\/agents\.yaml:4:3: agent a: there is no field "rol"/)
})

test('unknown options, and names that the files lack, are refused', async () => {
  const said = async (options: object, expected = 'OPTION_UNKNOWN'): Promise<string> => {
    const { code, message } = await refusal(small, options)
    assert.equal(code, expected)
    return message
  }
  assert.match(await said({ tols: [] }), /^crewFromYaml has no option "tols"; did you mean tools\?/)
  assert.match(await said({ agents: [] }), /^crewFromYaml has no option "agents"/)
  assert.match(
    await said({ agentOptions: { clerk: {} } }),
    /^agentOptions has clerk, which is not in config\/agents\.yaml; it has a$/,
  )
  assert.match(await said({ taskOptions: { t: [] } }, 'OPTION_INVALID'), /^taskOptions\.t is a list; give an object/)
  assert.match(await said({ taskOptions: 7 }, 'OPTION_INVALID'), /^taskOptions is 7; give an object/)
  assert.match(await said({ models: 'gpt-4o' }, 'OPTION_INVALID'), /^models is "gpt-4o"; give an object/)
  for (const file of [7, '', {}, undefined, new URL('https://example.com/agents.yaml')])
    assert.throws(() => loadAgents(file as string), { code: 'CREW_INVALID' })
})

test('a file is named as it was given, and a URL relative to the working folder', () => {
  const message = (file: string | URL): string => {
    try {
      loadAgents(file)
    } catch (error) {
      return (error as Error).message
    }
    return 'nothing'
  }
  assert.match(message('config/none.yaml'), /^config\/none\.yaml does not exist;/)
  assert.match(message(new URL('none.yaml', import.meta.url)), /^test\/crew\/yaml\/none\.yaml does not exist;/)
  assert.match(message(new URL('file:///none.yaml')), /^\/none\.yaml does not exist;/)
  assert.match(message(import.meta.dirname), /cannot be read: EISDIR/)
})

test('few lines that expand to billions of values cost nothing', async () => {
  const letters = 'abcdefghij'.split('')
  const ten = (name: string): string => Array(10).fill(`*${name}`).join(', ')
  const lists = letters.map(
    (name, index) => `x-${name}: &${name} [${index === 0 ? 'lol' : ten(letters[index - 1]!)}]\n`,
  )
  const maps = letters.map(
    (name, index) => `x-${name}: &${name} { ${index === 0 ? 'seed: 1' : `<<: [${ten(letters[index - 1]!)}]`} }\n`,
  )
  const started = processorSeconds()
  const { message } = await refusal({
    ...small,
    agents: `${lists.join('')}a:\n  role: R\n  goal: G\n  settings:\n    stopSequences: *j\n`,
  })
  assert.match(message, /^config\/agents\.yaml:14:3: agent a: settings is too large or nested too deeply$/)
  const { agents } = await crewOf({ agents: `${maps.join('')}a:\n  role: R\n  goal: G\n  settings: *j\n` })
  assert.deepEqual(agents[0]?.settings, { seed: 1 })
  const cycle = await refusal(agent('  settings:\n    providerOptions: &o\n      openai: *o\n'))
  assert.match(cycle.message, /settings is too large or nested too deeply$/)
  assert.ok(processorSeconds() - started < 5)
})

test('large files are read in time proportional to their size', async () => {
  const many = Array.from({ length: 5000 }, (_, index) => `t${index}:\n  description: D\n`).join('')
  assert.equal((await withFiles({ tasks: many }, (folder) => loadTasks(join(folder, 'tasks.yaml')))).length, 5000)
  const long = `a:\n  role: R\n  goal: >\n${'    some words\n'.repeat(100_000)}`
  assert.equal((await crewOf({ agents: long })).agents[0]?.goal.length, 11 * 100_000 - 1)
  const { message } = await refusal({ ...small, agents: `a: ${'['.repeat(20_000)}` })
  assert.match(message, /^config\/agents\.yaml:1:\d+: invalid YAML/)
})

const fields = [
  'role',
  'goal',
  'llm',
  'tools',
  'context',
  'description',
  'agent',
  'settings',
  'max_iter',
  'verbose',
  'output_json',
  'cache',
  '<<',
]
const anything = fc.oneof(
  fc.constantFrom(
    'a',
    't',
    'R',
    '{topic}',
    'gpt-4o',
    'yes',
    '',
    null,
    true,
    0,
    3,
    [],
    ['t'],
    ['a', null],
    {},
    { temperature: 1 },
  ),
  fc.jsonValue(),
)
const entry = fc.dictionary(fc.oneof(fc.constantFrom(...fields), fc.string()), anything)
const file = fc.oneof(
  fc.dictionary(fc.constantFrom('a', 't', 'u', '__proto__', 'x-y'), fc.oneof(entry, anything)),
  fc.jsonValue(),
)

test('any file contents make a crew or a RepriseError', async () => {
  await withFiles(small, (folder) => {
    const attempt = (agents: string, tasks: string): void => {
      writeFileSync(join(folder, 'agents.yaml'), agents)
      writeFileSync(join(folder, 'tasks.yaml'), tasks)
      try {
        assert.ok(Crew.isInstance(crewFromYaml(folder, { tools: [search], logger: { info() {}, warn() {} } })))
      } catch (error) {
        assert.ok(RepriseError.isInstance(error), String((error as Error).stack))
      }
    }
    fc.assert(fc.property(file, file, (agents, tasks) => attempt(stringify(agents), stringify(tasks))))
    // the same, with one of the files in order, so that the other is read to its end
    fc.assert(fc.property(file, (tasks) => attempt(small.agents, stringify(tasks))))
    const signs = fc.string({ unit: fc.constantFrom(...'abt:-&*!|>%@`"\'[]{},#?<~ \n\n\t  '.split('')), maxLength: 40 })
    fc.assert(fc.property(signs, (text) => attempt(text, small.tasks)))
    fc.assert(fc.property(signs, signs, (one, other) => attempt(`a:\n  role: ${one}\n  goal: ${other}\n`, small.tasks)))
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => attempt(small.agents, text)))
  })
})
