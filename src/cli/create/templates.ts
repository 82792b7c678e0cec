// Generated from the files of templates/ by scripts/embed-templates.ts: change those, and run it again.

export interface Template {
  readonly path: string
  readonly text: string
}

export const typescript: readonly Template[] = [
  {
    path: '.gitignore',
    text: `node_modules/
.reprise/
.env
claims.txt
`,
  },
  {
    path: 'README.md',
    text: `# my-crew

A crew of AI agents on Reprise: every step of a run is written down before it is used, so nothing that is finished is lost or
paid for twice. It needs Node 24.16 or newer, which runs TypeScript by itself.

\`\`\`
npm install
npm run offline   # without a key: the answers come from the script in offline.ts
npm start         # with a model: first put your key into .env
npm test          # the crew on its script: no key, no network
npm run check     # the types
\`\`\`

| file | |
| --- | --- |
| \`crew.ts\` | the crew: begin here |
| \`tools.ts\` | what its agents can do |
| \`inputs.json\` | the claim that \`npm start\` and \`npm run offline\` are about |
| \`offline.ts\`, \`crew.test.ts\` | the crew on a script instead of a model, and its test |
| \`.env\` | model and key; not for the repository, \`.env.example\` is |

## Stop it, go on, do it again

Start a run and press Ctrl-C while it works. Then:

| you want | you type |
| --- | --- |
| to go on after the last recorded step | \`npx reprise resume\` |
| the note again, for another reader | \`npx reprise replay -t note --input reader="the customer"\` |
| to know what a change would execute, and why | \`npx reprise plan\` |
| to see the runs, one of them, or all that it did | \`npx reprise runs\`, \`npx reprise show latest\`, \`npx reprise show latest --steps\` |
| what differs between two runs | \`npx reprise diff <run> latest\` |

A replay is a new run: the facts are restored, and the claim is not filed again. Put \`approval: true\` into \`file_claim\` in tools.ts, and a run
waits for a person before it files anything: \`npx reprise answer latest q1 --decision approve\`.

Runs of \`npm run offline\` are resumed and replayed without a model by adding \`--file offline.ts\`. \`npx reprise --help\` lists all commands.
`,
  },
  {
    path: 'crew.test.ts',
    text: `// The crew on its script: no key, no network, and no claim is filed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from 'reprise'
import { z } from 'zod'
import { crew, model } from './offline.ts'

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: () => ({ covers: ['water'] }),
})

test('extracts the facts, files the claim once and writes the note', async () => {
  let filed = 0
  const fileClaim = tool({
    name: 'file_claim',
    description: 'File a claim; gives its number',
    input: z.object({ policy: z.string(), issue: z.string() }),
    run: () => ({ claim: \`CL-\${++filed}\` }),
  })
  await using tested = crew.with({ store: 'memory:', tools: [lookupPolicy, fileClaim] })
  const inputs = { notes: 'Policy P-77, water in the cellar.', reader: 'the claims team' }

  const result = await tested.kickoff({ inputs })
  assert.deepEqual(result.task('facts').output, { policy: 'P-77', issue: 'water in the cellar', covered: true })
  assert.match(String(result), /^For the claims team: CL-1,/)
  assert.equal(model.calls.length, 4)

  const replayed = await tested.replay('note', { inputs: { reader: 'the customer' } })
  assert.match(String(replayed), /^For the customer: CL-1,/)
  assert.equal(filed, 1)
})
`,
  },
  {
    path: 'crew.ts',
    text: `// Two tasks: the facts of a claim, and a note on it. Every step is written down in .reprise/ before it is used, so a run that is
// stopped at any instant goes on where it was, and any task of any run can be executed again.
import { Agent, Crew, Task } from 'reprise'
import { z } from 'zod'
import { fileClaim, lookupPolicy } from './tools.ts'

// An agent without a model of its own uses REPRISE_MODEL, which .env sets.
const analyst = new Agent({
  role: 'Claims analyst',
  goal: 'Establish what happened, and whether the policy covers it',
  tools: [lookupPolicy],
})
const clerk = new Agent({
  role: 'Claims clerk',
  goal: 'File claims, and tell people what happens next',
  tools: [fileClaim],
})

// {notes} and {reader} are the inputs of the crew. A run that is not given one of them is refused before anything is spent.
export const facts = new Task({
  name: 'facts',
  description: 'Look the policy up and extract the facts of this claim: {notes}',
  agent: analyst,
  output: z.object({ policy: z.string(), issue: z.string(), covered: z.boolean() }),
})
export const note = new Task({
  name: 'note',
  description: 'File the claim, then write a note on it for {reader}',
  expectedOutput: 'At most three sentences, with the number of the claim',
  agent: clerk,
})

export const crew = new Crew({ name: 'my-crew', tasks: [facts, note] })
`,
  },
  {
    path: 'inputs.json',
    text: `{
  "notes": "Policy P-77: on 3 May a pipe burst, and the cellar stood under water.",
  "reader": "the claims team"
}
`,
  },
  {
    path: 'offline.ts',
    text: `// The same crew without a model, for the tests and to try it without a key: its answers come from this script, whatever the claim
// is. The script answers by what the conversation says, so a run that was stopped can be resumed with it too.
import { scriptedModel } from 'reprise/testing'
import { crew as real } from './crew.ts'

export const model = scriptedModel([
  { when: 'extract the facts', calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
  { when: 'extract the facts', reply: { policy: 'P-77', issue: 'water in the cellar', covered: true } },
  { when: 'File the claim', calls: [{ tool: 'file_claim', input: { policy: 'P-77', issue: 'water in the cellar' } }] },
  { when: 'File the claim', reply: noteFor },
])

export const crew = real.with({ model })

function noteFor(conversation: string): string {
  const [, reader] = /write a note on it for (.+)/.exec(conversation) ?? []
  const [claim] = /CL-\\d+/.exec(conversation) ?? []
  return \`For \${reader}: \${claim}, water in the cellar, is covered by P-77. (From the script in offline.ts: no model was asked.)\`
}
`,
  },
  {
    path: 'tools.ts',
    text: `// What the agents can do. \`effect\` says what becomes of a call that was cut off: a \`read\` is made again, a \`once\` never is by
// itself; you are asked whether it happened.
import { randomInt } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { tool } from 'reprise'
import { z } from 'zod'

const policies: { readonly [number: string]: object } = {
  'P-77': { holder: 'Ada Lovelace', covers: ['water', 'fire'], excess: 250 },
}

export const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  async run({ number }, { signal }) {
    await wait(2000, undefined, { signal }) // a slow system, and time enough to try Ctrl-C
    return policies[number] ?? \`there is no policy \${number}\`
  },
})

export const fileClaim = tool({
  name: 'file_claim',
  description: 'File a claim; gives its number',
  effect: 'once',
  // approval: true, // a person is asked before each claim is filed
  input: z.object({ policy: z.string(), issue: z.string() }),
  async run({ policy, issue }) {
    const claim = \`CL-\${randomInt(1000, 10_000)}\`
    await appendFile(new URL('claims.txt', import.meta.url), \`\${claim} \${policy} \${issue}\\n\`)
    return { claim }
  },
})
`,
  },
]

export const yaml: readonly Template[] = [
  {
    path: 'config/agents.yaml',
    text: `# An agent without \`llm\` uses REPRISE_MODEL, which .env sets.
analyst:
  role: >
    Claims analyst
  goal: >
    Establish what happened, and whether the policy covers it
  backstory: >
    You have read claims for twenty years, and you never guess.
  tools:
    - lookup_policy

clerk:
  role: >
    Claims clerk
  goal: >
    File claims, and tell people what happens next
  backstory: >
    You write short notes that everybody understands.
  tools:
    - file_claim
`,
  },
  {
    path: 'config/tasks.yaml',
    text: `# {notes} and {reader} are the inputs of the crew. A run that is not given one of them is refused before anything is spent.
facts:
  description: >
    Look the policy up and extract the facts of this claim: {notes}
  expected_output: >
    The policy, the issue, and whether it is covered
  agent: analyst

note:
  description: >
    File the claim, then write a note on it for {reader}
  expected_output: >
    At most three sentences, with the number of the claim
  agent: clerk
`,
  },
  {
    path: 'crew.ts',
    text: `// Agents and tasks are in config/: the facts of a claim, and a note on it. Every step is written down in .reprise/ before it is
// used, so a run that is stopped at any instant goes on where it was, and any task of any run can be executed again.
import { crewFromYaml } from 'reprise/yaml'
import { z } from 'zod'
import { fileClaim, lookupPolicy } from './tools.ts'

export const crew = crewFromYaml(new URL('config/', import.meta.url), {
  name: 'my-crew',
  // for the names under \`tools:\` in config/agents.yaml
  tools: [lookupPolicy, fileClaim],
  // what only code can say
  taskOptions: {
    facts: { output: z.object({ policy: z.string(), issue: z.string(), covered: z.boolean() }) },
  },
})
`,
  },
]
