// Inputs that nothing seems to use.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { newStore } from '../../engine/support.ts'

const model = scriptedModel([{ when: '', reply: 'done' }])
const agent = (): Agent => new Agent({ role: 'A', goal: 'g', model })
const text = (): Task => new Task({ name: 'say', description: 'Say {topic}', agent: agent() })
const code = new Task({ name: 'code', effect: 'read', run: () => 'x' })

function crewOf(...tasks: Task[]) {
  const warnings: string[] = []
  const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
  return { crew: new Crew({ name: 'c', tasks, store: newStore(), logger }), warnings }
}

describe('an input that no text uses', () => {
  const warned = async (tasks: Task[], inputs: object): Promise<string[]> => {
    const { crew, warnings } = crewOf(...tasks)
    await crew.kickoff({ inputs: inputs as never })
    return warnings
  }

  test('is warned about in a crew of texts, with what was meant', async () => {
    assert.deepEqual(await warned([text()], { topic: 'x', topci: 'y', other: 1 }), [
      'input topci is used by no text of crew c; did you mean topic?',
      'input other is used by no text of crew c',
    ])
  })

  test('gives no warning where a function, a condition, a guardrail or a nested crew may use it', async () => {
    const within = new Task({ name: 'within', crew: new Crew({ name: 'inner', tasks: [text()] }) })
    const when = new Task({ name: 'when', description: 'Say it', agent: agent(), when: () => true })
    const judged = new Task({ name: 'judged', description: 'Say it', agent: agent(), guardrails: () => true })
    for (const task of [code, within, when, judged])
      assert.deepEqual(await warned([text(), task], { topic: 'x', topics: 'y', other: 1 }), [])
  })

  test('is named when the input that it seems to be misspelt for is missing', async () => {
    const { crew } = crewOf(text(), code)
    await assert.rejects(crew.kickoff({ inputs: { topci: 'y' } }), {
      code: 'INPUT_MISSING',
      message: /uses \{topic\}, but there is no input topic, only topci/,
    })
  })
})

describe('an input that is given to a run made from another', () => {
  const verbs = {
    replay: (crew: Crew, inputs: object) => crew.replay('say', { runId: 'r', id: 'new', inputs: inputs }),
    fork: (crew: Crew, inputs: object) => crew.fork({ runId: 'r', id: 'new', inputs: inputs }),
    refresh: (crew: Crew, inputs: object) => crew.refresh({ runId: 'r', id: 'new', inputs: inputs }),
    plan: (crew: Crew, inputs: object) => crew.plan({ of: 'fork', runId: 'r', inputs: inputs }),
  }

  for (const [verb, make] of Object.entries(verbs)) {
    test(`is refused by ${verb} when nothing can use it, before a model is asked or a run is made`, async () => {
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

    test(`is refused by ${verb} beside functions when it seems to be misspelt`, async () => {
      const { crew } = crewOf(text(), code)
      await crew.kickoff({ id: 'r', inputs: { topic: 'x', topics: 'z' } })
      await assert.rejects(async () => make(crew, { topik: 'y' }), {
        code: 'INPUT_UNKNOWN',
        message: /did you mean topic\?.*give the crew a schema of its inputs/,
      })
      // given with the other, it is no slip; nor is one that the old run had, or one that is like no other
      await make(crew, { topic: 'y', topik: 'y', topics: 'a', audience: 'b' })
    })
  }
})
