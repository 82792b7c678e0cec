import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { claims, imports, project, records } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']

describe('show --task and --prompts:', { concurrency: 3 }, () => {
  test('show --task prints texts, attempts, calls with inputs and results, and the whole output', async () => {
    await using folder = await project(claims.replace("'\\nSecond line'", "'\\nline'.repeat(20)"))
    await folder.reprise('run', '--id', 'first', ...inputs)
    const { stdout } = await folder.reprise('show', 'first', '--task', 'facts')
    assert.match(stdout, /^task +facts\nid +[0-9a-f-]{36}\nrun +first\nstatus +executed\nagent +Analyst$/m)
    assert.match(stdout, /^description\n│ Extract the facts from: Water$/m)
    assert.match(stdout, /^attempt facts#1 {2}completed {2}Analyst · \S+ · since \S+\n {2}tools lookup$/m)
    assert.match(
      stdout,
      /^ {2}call facts#1\/1\.0 {2}lookup {2}read · at \S+\n {4}│ \{"number":"P-77"\}\n {4}returned\n {4}│ Ada$/m,
    )
    assert.match(stdout, /^output\n│ \{\n│ {3}"policy": "P-77",\n│ {3}"issue": "water"\n│ \}$/m)
    const note = await folder.reprise('show', 'first', '--task', 'note')
    assert.equal(note.stdout.match(/^│ line$/gm)?.length, 20)
    assert.doesNotMatch(note.stdout, /lookup {2}read/)
    assert.match(note.stderr, /\nmake a new run from it with: npx reprise replay --run first -t note\n$/)
  })

  test('show --task --json prints the same as one object, and --steps only the entries of the task', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', ...inputs)
    const [task] = records(await folder.reprise('show', 'first', '--task', 'facts', '--json'))
    assert.equal(task?.['runId'], 'first')
    const [attempt] = (task?.['history'] ?? []) as {
      path: string
      turns: { calls: { tool: string; outcome: unknown }[] }[]
    }[]
    assert.equal(attempt?.path, 'facts#1')
    assert.deepEqual(attempt?.turns[0]?.calls[0]?.outcome, { result: 'Ada' })
    const entries = records(await folder.reprise('show', 'first', '--task', 'note', '--steps', '--json'))
    assert.deepEqual(
      entries.map((entry) => entry['type']),
      ['task.started', 'model.replied', 'task.completed'],
    )
    const unknown = await folder.reprise('show', 'first', '--task', 'nite')
    assert.equal(unknown.code, 5)
    assert.match(unknown.stderr, /did you mean note\?/)
  })

  test('show --task of a function prints its input and result, and for a refused answer what refused it', async () => {
    await using folder = await project(`${imports}
const model = scriptedModel([{ when: 'too short', reply: 'A long enough answer' }, { when: 'Write', reply: 'Short' }])
const agent = new Agent({ role: 'Writer', goal: 'Write', model })
const add = new Task({ name: 'add', run: () => ({ sum: 3 }) })
const text = new Task({ name: 'text', description: 'Write', agent, guardrails: (output) => output.raw.length > 9 ? true : 'too short' })
export const crew = new Crew({ name: 'mixed', tasks: [add, text] })
`)
    const ran = await folder.reprise('run', '--id', 'first')
    assert.equal(ran.code, 0, ran.stderr)
    const added = await folder.reprise('show', 'first', '--task', 'add')
    assert.match(added.stdout, /^ {2}call add#1\/1\.0 {2}add/m)
    assert.match(added.stdout, /returned\n {4}│ \{"sum":3\}/)
    const written = await folder.reprise('show', 'first', '--task', 'text')
    assert.match(written.stdout, /^attempt text#1 {2}refused .*\n.*\n {2}│ Short\n {2}refused by \S+: too short$/m)
    assert.match(
      written.stdout,
      /^attempt text#2 {2}completed .*\n {2}continues from text#1 with the message: .*too short/m,
    )
  })

  test('show prints what the provider executed, the sources of an answer, and what the model received of a result', async () => {
    await using folder = await project(`${imports}
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const searched = [
  { type: 'tool-call', toolCallId: 's', toolName: 'web', input: '{"query":"floods"}', providerExecuted: true },
  { type: 'tool-result', toolCallId: 's', toolName: 'web', result: 'two pages' },
  { type: 'source', sourceType: 'url', id: 'a', url: 'https://flood.example/', title: 'Maps' },
  { type: 'tool-call', toolCallId: 'l', toolName: 'look', input: '{}' },
]
const drawn = [{ type: 'text', text: 'It floods.' }, { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } }]
const model = {
  specificationVersion: 'v4', provider: 'test', modelId: 'm', supportedUrls: {},
  doGenerate: async ({ prompt }) => ({ content: prompt.length > 2 ? drawn : searched, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] }),
}
const web = { type: 'provider', id: 'test.web', args: { depth: 2 }, isProviderExecuted: true, inputSchema: {} }
const look = {
  inputSchema: z.object({}),
  execute: () => 'raw bytes',
  toModelOutput: () => ({ type: 'content', value: [{ type: 'text', text: 'A door' }, { type: 'image-data', data: 'AQI=', mediaType: 'image/gif' }] }),
}
const agent = new Agent({ role: 'Scout', goal: 'Find', model, tools: { web, look } })
export const crew = new Crew({ name: 'scouts', tasks: [new Task({ name: 'find', description: 'Find', agent })] })
`)
    const ran = await folder.reprise('run', '--id', 'first')
    assert.equal(ran.code, 0, ran.stderr)
    const { stdout } = await folder.reprise('show', 'first')
    assert.match(
      stdout,
      /│ It floods\.\n {2}source Maps \(https:\/\/flood\.example\/\)\n {2}file image\/png, 3 bytes$/m,
    )
    const task = await folder.reprise('show', 'first', '--task', 'find')
    assert.match(
      task.stdout,
      /^ {2}provider called web\n {4}│ \{"query":"floods"\}\n {2}web returned\n {4}│ two pages$/m,
    )
    assert.match(task.stdout, /│ raw bytes\n {4}the model was sent\n {4}│ A door\n {4}│ image\/gif, 2 bytes$/m)
    const prompts = await folder.reprise('show', 'first', '--prompts')
    assert.match(prompts.stdout, /^ {2}tool web \(test\.web, defined by the provider\)\n {2}│ \{"depth":2\}$/m)
  })

  test('show --prompts prints system, tools and messages of each step, and for later steps the additions', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', ...inputs)
    const { stdout } = await folder.reprise('show', 'first', '--task', 'facts', '--prompts')
    assert.match(stdout, /^step facts#1\/1 {2}\S+, 1 message\n/m)
    assert.match(stdout, /^ {2}tool lookup\n {2}│ Look a policy up\n/m)
    assert.match(stdout, /^ {2}system\n {2}│ .*Analyst/m)
    assert.match(stdout, /^ {2}user\n( {2}│ .*\n)* {2}│ .*Extract the facts from: Water$/m)
    assert.match(
      stdout,
      /^step facts#1\/2 {2}\S+, 3 messages\n {2}as before, and 2 more\n {2}assistant calls lookup\n.*\n {2}tool lookup\n {2}returned\n {2}│ Ada$/m,
    )
    assert.equal(stdout.match(/^ {2}system$/gm)?.length, 1)
    const prompts = records(await folder.reprise('show', 'first', '--prompts', '--json'))
    assert.deepEqual(
      prompts.map((prompt) => [prompt['step'], (prompt['messages'] as unknown[]).length]),
      [
        ['facts#1/1', 1],
        ['facts#1/2', 3],
        ['note#1/1', 1],
      ],
    )
    assert.match(String(prompts[0]?.['system']), /Analyst/)
    assert.equal((await folder.reprise('show', 'first', '--prompts', '--steps', '--json')).code, 2)
  })

  test('show --prompts of a shortened conversation prints what each step really sent', async () => {
    await using folder = await project(`${imports}
const text = 'word '.repeat(300)
const model = scriptedModel([
  { when: 'You write the summary', reply: 'SUMMARY' },
  { when: 'Look', calls: [{ tool: 'read', input: { page: 1 } }] },
  { when: 'Look', calls: [{ tool: 'read', input: { page: 2 } }] },
  { when: 'Look', calls: [{ tool: 'read', input: { page: 3 } }] },
  { when: 'Look', reply: 'done' },
])
const read = tool({ name: 'read', description: 'Read', effect: 'read', input: z.object({ page: z.number() }), run: () => text })
const agent = new Agent({ role: 'Reader', goal: 'Read', model, tools: [read], contextTokens: 900 })
export const crew = new Crew({ name: 'long', tasks: [new Task({ name: 'look', description: 'Look', agent })] })
`)
    const ran = await folder.reprise('run', '--id', 'first')
    const prompts = records(await folder.reprise('show', 'first', '--prompts', '--json'))
    const shortened = prompts.filter((prompt) => JSON.stringify(prompt['messages']).includes('SUMMARY'))
    assert.ok(shortened.length > 0, ran.stderr)
    assert.ok(!JSON.stringify(prompts[0]?.['messages']).includes('SUMMARY'))
    assert.match((await folder.reprise('show', 'first', '--prompts')).stdout, /^ {2}the conversation was shortened:$/m)
  })
})
