// Inputs that nothing seems to use.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, file, Task } from 'reprise'
import { z } from 'zod'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { newStore } from '../../engine/support.ts'

const model = scriptedModel([{ when: '', reply: 'done' }])
const agent = (): Agent => new Agent({ role: 'A', goal: 'g', model })
const text = (): Task => new Task({ name: 'say', description: 'Say {topic}', agent: agent() })
const code = new Task({ name: 'code', effect: 'read', run: () => 'x' })

type Inputs = { readonly [name: string]: string }

function crewOf(...tasks: Task[]): { readonly crew: Crew } {
  const logger = { info() {}, warn() {} }
  return { crew: new Crew({ name: 'c', tasks, store: newStore(), logger }) }
}

describe('an unused input', () => {
  const verbs = {
    kickoff: (crew: Crew, inputs: Inputs) => crew.kickoff({ id: 'new', inputs }),
    kickoffForEach: (crew: Crew, inputs: Inputs) => crew.kickoffForEach([{ topic: 'x' }, inputs], { id: 'new' }),
    enqueue: (crew: Crew, inputs: Inputs) => crew.enqueue({ id: 'new', inputs }),
    plan: (crew: Crew, inputs: Inputs) => crew.plan({ of: 'kickoff', inputs }),
  }

  for (const [verb, make] of Object.entries(verbs)) {
    test(`is refused by ${verb} of a crew of texts, before a model is called or a run made`, async () => {
      const { crew } = crewOf(text())
      const asked = model.calls.length
      await assert.rejects(async () => make(crew, { topci: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /crew c has no input topci; did you mean topic\?$/,
      })
      await assert.rejects(async () => make(crew, { topic: 'x', audience: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /crew c has no input audience; it has topic; remove audience, or give the crew an input schema/,
      })
      assert.equal(model.calls.length, asked)
      assert.deepEqual(await crew.runs().page(), [])
    })
  }

  test('is refused by a schedule in code, and is named with it', async () => {
    const { crew } = crewOf(text())
    const schedule = { name: 'nightly', cron: '@daily', inputs: { topic: 'x', audience: 'y' } }
    await assert.rejects(async () => crew.schedule(schedule), {
      code: 'INPUT_UNKNOWN',
      message: /schedule "nightly" of crew c: .*audience/,
    })
  })

  test('is accepted if a function, a condition, a guardrail, a nested crew or a callback may use it', async () => {
    const within = new Task({ name: 'within', crew: new Crew({ name: 'inner', tasks: [text()] }) })
    const when = new Task({ name: 'when', description: 'Say it', agent: agent(), when: () => true })
    const judged = new Task({ name: 'judged', description: 'Say it', agent: agent(), guardrails: () => true })
    const inputs = { topic: 'x', topics: 'y', other: 1 }
    for (const task of [code, within, when, judged]) await crewOf(text(), task).crew.kickoff({ inputs })
    const beforeKickoff = ({ topics }: { readonly [name: string]: unknown }) => ({ topic: String(topics) })
    await new Crew({ name: 'c', tasks: [text()], store: newStore(), beforeKickoff }).kickoff({
      inputs: { topics: 'y' },
    })
  })

  test('is accepted if it holds a file, which a tool may read', async () => {
    const { crew } = crewOf(text())
    const scan = file(new Uint8Array([1]), { name: 'scan.pdf' })
    const inputs = { topic: 'x', scan }
    await crew.kickoff({ id: 'r', inputs })
    await crew.fork({ runId: 'r', inputs: { second: [scan] } })
  })

  test('is accepted by a call whose run exists, even if the crew used it then', async () => {
    const { crew } = crewOf(text())
    const inputs = { topic: 'x', reader: 'y' }
    const store = newStore()
    const reading = new Task({ name: 'say', description: 'Say {topic} to {reader}', agent: agent() })
    await new Crew({ name: 'c', tasks: [reading], store }).kickoff({ id: 'r', inputs })
    await crew.with({ store }).kickoff({ id: 'r', inputs })
  })

  test('is left to the input schema', async () => {
    const of = (inputs: z.ZodObject) => new Crew({ name: 'c', tasks: [text()], inputs, store: newStore() })
    const topic = z.string()
    await of(z.object({ topic })).kickoff({ inputs: { topic: 'x', other: 1 } })
    await of(z.looseObject({ topic })).kickoff({ inputs: { topic: 'x', other: 1 } })
    await assert.rejects(of(z.strictObject({ topic })).kickoff({ inputs: { topic: 'x', other: 1 } }), {
      code: 'INPUT_INVALID',
      message: /other/,
    })
  })

  test('is named if the input that it seems to misspell is missing', async () => {
    const { crew } = crewOf(text(), code)
    await assert.rejects(crew.kickoff({ inputs: { topci: 'y' } }), {
      code: 'INPUT_MISSING',
      message: /uses \{topic\}, but there is no input topic, only topci/,
    })
  })
})

describe('an unused input of a derived run', () => {
  const verbs = {
    replay: (crew: Crew, inputs: object) => crew.replay('say', { runId: 'r', id: 'new', inputs: inputs }),
    fork: (crew: Crew, inputs: object) => crew.fork({ runId: 'r', id: 'new', inputs: inputs }),
    refresh: (crew: Crew, inputs: object) => crew.refresh({ runId: 'r', id: 'new', inputs: inputs }),
    plan: (crew: Crew, inputs: object) => crew.plan({ of: 'fork', runId: 'r', inputs: inputs }),
  }

  for (const [verb, make] of Object.entries(verbs)) {
    test(`is refused by ${verb} if nothing can use it, before a model is called or a run made`, async () => {
      const { crew } = crewOf(text())
      await crew.kickoff({ id: 'r', inputs: { topic: 'x' } })
      const asked = model.calls.length
      await assert.rejects(async () => make(crew, { topci: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /crew c has no input topci; did you mean topic\?/,
      })
      await assert.rejects(async () => make(crew, { audience: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /crew c has no input audience; it has topic/,
      })
      assert.equal(model.calls.length, asked)
      await assert.rejects(crew.run('new').view(), { code: 'RUN_NOT_FOUND' })
      await make(crew, { topic: 'y' })
    })

    test(`is refused by ${verb} of a crew of functions if it seems to misspell an input of the old run`, async () => {
      const say = new Task({ name: 'say', effect: 'read', run: ({ inputs }) => inputs['claim'] })
      const { crew } = crewOf(say)
      await crew.kickoff({ id: 'r', inputs: { claim: 'x' } })
      await assert.rejects(async () => make(crew, { claims: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /did you mean claim\?.*give the crew an input schema/,
      })
      await make(crew, { claim: 'y', claims: 'y', reader: 'z' })
    })

    test(`is refused by ${verb} beside functions if it seems misspelt`, async () => {
      const { crew } = crewOf(text(), code)
      await crew.kickoff({ id: 'r', inputs: { topic: 'x', topics: 'z' } })
      await assert.rejects(async () => make(crew, { topik: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /did you mean topic\?.*give the crew an input schema/,
      })
      // not a typo if both are given, if the old run had it, or if it resembles no other
      await make(crew, { topic: 'y', topik: 'y', topics: 'a', audience: 'b' })
    })
  }
})
