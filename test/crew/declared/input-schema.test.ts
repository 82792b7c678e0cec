// A crew that declares its inputs by a schema.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, file, Task, type CodeContext } from 'reprise'
import { crewFromYaml } from 'reprise/yaml'
import { z } from 'zod'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, stateOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

const claim = z.object({
  id: z.string().trim(),
  texts: z.array(z.string()).min(1),
  tone: z.enum(['formal', 'friendly']).default('formal'),
})
type Claim = z.infer<typeof claim>

function claims(
  options: {
    readonly beforeKickoff?: (inputs: object) => { readonly [name: string]: string | number | string[] }
  } = {},
) {
  const seen: Claim[] = []
  const warnings: string[] = []
  const model = scriptedModel([{ when: 'Task:', reply: (text) => `${/Task: (.*)/.exec(text)?.[1]}` }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const count = new Task({
    name: 'count',
    effect: 'read',
    run({ inputs }: CodeContext<object, Claim>) {
      seen.push(inputs)
      return inputs.texts.length
    },
  })
  const reply = new Task({ name: 'reply', description: 'Answer {id} in a {tone} tone', agent })
  const store = newStore()
  const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
  const crew = new Crew({ name: 'claims', inputs: claim, tasks: [count, reply], store, logger, ...options })
  return { crew, store, seen, warnings, model }
}
const given = { id: ' C-1 ', texts: ['a', 'b'] }
const used = { id: 'C-1', texts: ['a', 'b'], tone: 'formal' }

describe('a crew with an input schema', () => {
  test('passes its tasks the parsed inputs, and records both forms', async () => {
    const { crew, store, seen, warnings } = claims()
    const result = await crew.kickoff({ id: 'r', inputs: given })
    assert.equal(result.raw, 'Answer C-1 in a formal tone')
    assert.deepEqual(seen, [used])
    const { inputs, given: before } = await stateOf(store, 'r')
    assert.deepEqual({ inputs, before }, { inputs: used, before: given })
    assert.deepEqual(warnings, [])
    // the same call is the same run; the schema changes no input, so the run does not mention it
    assert.equal((await crew.kickoff({ id: 'r', inputs: given })).raw, result.raw)
    await crew.kickoff({ id: 'plain', inputs: { ...given, id: 'C-2', tone: 'friendly' } })
    assert.equal((await stateOf(store, 'plain')).given, undefined)
  })

  const wrong = { id: 'C-1', texts: 'a' } as never
  const refusal = { code: 'INPUT_INVALID', message: /inputs do not fit the schema of crew claims: .*texts: / }

  test('refuses other inputs before a run is made, queued or planned', async () => {
    const { crew, store, model } = claims()
    await assert.rejects(crew.kickoff({ id: 'no', inputs: wrong }), refusal)
    await assert.rejects(crew.kickoff({ id: 'no' } as never), refusal)
    await assert.rejects(crew.enqueue({ id: 'no', inputs: wrong }), refusal)
    await assert.rejects(crew.plan({ of: 'kickoff', inputs: wrong }), refusal)
    await assert.rejects(crew.schedule({ cron: '@daily', inputs: wrong }), refusal)
    await assert.rejects(crew.schedule({ cron: '@daily', name: 'b', inputs: () => wrong }), refusal)
    await assert.rejects(crew.kickoffForEach([given, wrong]), {
      code: 'INPUT_INVALID',
      message: /^inputs\[1\]: the inputs do not fit/,
    })
    await crew.schedule({ cron: '@daily', name: 'c', inputs: given })
    assert.equal(model.calls.length, 0)
    assert.equal((await store.list({}, { limit: 10 })).rows.length, 0)
  })

  test('checks the inputs that a derived run overrides', async () => {
    const { crew, store, seen, model } = claims()
    await crew.kickoff({ id: 'r', inputs: given })
    const calls = model.calls.length
    await assert.rejects(crew.replay('count', { inputs: { texts: [] } }), refusal)
    await assert.rejects(crew.fork({ inputs: { tone: 'rude' as never } }), { code: 'INPUT_INVALID' })
    assert.equal(model.calls.length, calls)
    const forked = await crew.fork({ runId: 'r', id: 'f', inputs: { tone: 'friendly' } })
    assert.equal(forked.raw, 'Answer C-1 in a friendly tone')
    assert.deepEqual(seen.at(-1), { ...used, tone: 'friendly' })
    assert.deepEqual((await stateOf(store, 'f')).given, { ...given, tone: 'friendly' })
    // without inputs, the replay has the inputs of the old run
    await crew.replay('reply', { runId: 'f', id: 'g' })
    assert.deepEqual((await stateOf(store, 'g')).inputs, { ...used, tone: 'friendly' })
  })

  test('refuses a replay of a run whose inputs do not fit the current schema', async () => {
    const { store } = claims()
    const count = new Task({ name: 'count', effect: 'read', run: () => 1 })
    const before = new Crew({ name: 'claims', tasks: [count], store })
    await before.kickoff({ id: 'old', inputs: { id: 'C-1' } })
    const now = new Crew({ name: 'claims', tasks: [count], store, inputs: claim })
    await assert.rejects(now.replay('count', { runId: 'old' }), refusal)
    await now.replay('count', { runId: 'old', inputs: { texts: ['a'] } })
  })

  test('checks the inputs from beforeKickoff', async () => {
    const { crew, seen } = claims({ beforeKickoff: (inputs) => ({ ...inputs, texts: ['read'] }) })
    await crew.kickoff({ inputs: { id: 'C-1' } as never })
    assert.deepEqual(seen, [{ id: 'C-1', texts: ['read'], tone: 'formal' }])
    const { crew: bad } = claims({ beforeKickoff: (inputs) => ({ ...inputs, texts: 3 }) })
    await assert.rejects(bad.kickoff({ inputs: given }), refusal)
  })

  test('checks its inputs as a nested crew before the outer run is made, if they are known then', async () => {
    const { crew: inner, store, seen } = claims()
    const outer = (inputs?: object) =>
      new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew: inner, inputs: inputs as never })], store })
    await assert.rejects(outer().kickoff({ inputs: wrong }), refusal)
    await assert.rejects(outer({ id: 'x' }).kickoff(), refusal)
    assert.equal((await store.list({}, { limit: 10 })).rows.length, 0)
    await outer().kickoff({ id: 'own', inputs: given })
    await outer(() => given).kickoff({ id: 'made' })
    assert.deepEqual(seen, [used, used])
    assert.deepEqual((await stateOf(store, 'made/inner#1')).inputs, used)
    await assert.rejects(outer(() => wrong).kickoff({ id: 'late' }), { code: 'INPUT_INVALID', task: 'inner' })
  })

  test('sees files as tasks do, and keeps them', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'claim.txt')
    writeFileSync(path, 'it burnt')
    const reads: string[] = []
    const read = new Task({
      name: 'read',
      effect: 'read',
      async run({ inputs, readFile }) {
        const { text } = (await readFile(inputs['claim'])) as { text?: string }
        reads.push(String(text))
        return 'ok'
      },
    })
    const schema = z.object({
      claim: z.object({ $file: z.looseObject({ name: z.string() }) }),
      note: z.string().default(''),
    })
    const store = newStore()
    const crew = new Crew({ name: 'files', inputs: schema, tasks: [read], store })
    const inputs = { claim: file(path) } as never
    await crew.schedule({ cron: '@daily', inputs })
    await crew.kickoffForEach([inputs], { id: 'r' })
    assert.equal((await stateOf(store, 'r-1')).status, 'completed')
    assert.match(JSON.stringify((await stateOf(store, 'r-1')).inputs), /^\{"claim":\{"\$file":\{/)
    await assert.rejects(crew.kickoff({ inputs: { claim: 'claim.txt' } as never }), { code: 'INPUT_INVALID' })
  })

  test('refuses a schema whose results JSON cannot carry, and an invalid schema', async () => {
    const task = new Task({ name: 'x', run: () => 1 })
    const since = z.object({ since: z.string().transform((day) => new Date(day)) })
    const crew = new Crew({ tasks: [task], inputs: since as never, store: newStore() })
    await assert.rejects(crew.kickoff({ inputs: { since: '2020-01-01' } }), {
      code: 'INPUT_INVALID',
      message: /the input schema of crew .* returned what the journal cannot store: result\.since is a Date/,
    })
    assert.throws(() => new Crew({ tasks: [task], inputs: { id: 'string' } as never }), { code: 'SCHEMA_INVALID' })
  })

  test('accepts a schema without JSON Schema, since no model sees it', async () => {
    const plain = {
      '~standard': {
        version: 1 as const,
        vendor: 'mine',
        validate: (value: unknown) =>
          (value as { n?: unknown }).n === 1 ? { value } : { issues: [{ message: 'is not 1', path: ['n'] }] },
      },
    }
    const crew = new Crew({ tasks: [new Task({ name: 'x', run: () => 1 })], inputs: plain, store: newStore() })
    await assert.rejects(crew.kickoff({ inputs: { n: 2 } }), { message: /n: is not 1/ })
    await crew.kickoff({ inputs: { n: 1 } })
    assert.deepEqual(crew.inputs, [])
  })

  test('names all inputs of the schema', () => {
    assert.deepEqual(claims().crew.inputs, ['id', 'texts', 'tone'])
  })

  test('may have its agents and tasks in files', async () => {
    await using folder = await temporaryFolder()
    writeFileSync(join(folder.path, 'agents.yaml'), 'a:\n  role: A\n  goal: g\n')
    writeFileSync(join(folder.path, 'tasks.yaml'), 't:\n  description: Say {topic}\n  expected_output: x\n  agent: a\n')
    const model = scriptedModel([{ when: '', reply: 'said' }])
    const crew = crewFromYaml(folder.path, {
      agentOptions: { a: { model } },
      inputs: z.object({ topic: z.string().min(3) }),
      store: newStore(),
    })
    await assert.rejects(crew.kickoff({ inputs: { topic: 'x' } }), { code: 'INPUT_INVALID' })
    assert.equal(String(await crew.kickoff({ inputs: { topic: 'long' } })), 'said')
  })

  test('does not check again in a resume, which continues with the recorded inputs', async () => {
    const { crew, store, seen } = claims()
    const { crew: later } = claims()
    await crew.kickoff({ id: 'r', inputs: given, through: 'count' })
    await later.with({ store }).resume('r')
    assert.equal(seen.length, 1)
    assert.deepEqual((await stateOf(store, 'r')).inputs, used)
    assert.equal((await entriesOf(store, 'r')).filter(({ type }) => type === 'run.created').length, 1)
  })
})
