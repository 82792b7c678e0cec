// Inputs that nothing seems to use.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { newStore } from '../../engine/support.ts'

const agent = (): Agent => new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: '', reply: 'done' }]) })

describe('an input that no text uses', () => {
  const warned = async (tasks: readonly Task[], inputs: object): Promise<string[]> => {
    const warnings: string[] = []
    const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
    const crew = new Crew({ name: 'c', tasks, store: newStore(), logger })
    await crew.kickoff({ inputs: inputs as never })
    return warnings
  }
  const text = (): Task => new Task({ name: 'say', description: 'Say {topic}', agent: agent() })
  const code = new Task({ name: 'code', effect: 'read', run: () => 'x' })

  test('is warned about in a crew of texts, with what was meant', async () => {
    assert.deepEqual(await warned([text()], { topic: 'x', topci: 'y', other: 1 }), [
      'input topci is used by no text of crew c; did you mean topic?',
      'input other is used by no text of crew c',
    ])
  })

  test('is warned about beside functions where it is nearly one that a text uses, since functions may use any', async () => {
    assert.deepEqual(await warned([text(), code], { topic: 'x', topci: 'y', other: 1 }), [
      'input topci is used by no text of crew c; did you mean topic?',
    ])
    const within = new Task({ name: 'within', crew: new Crew({ name: 'inner', tasks: [text()] }) })
    assert.deepEqual(await warned([within], { topic: 'x', topics: 'y', other: 1 }), [
      'input topics is used by no text of crew c; did you mean topic?',
    ])
  })

  test('is warned about in a replay whose new input is misspelt', async () => {
    const warnings: string[] = []
    const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
    const crew = new Crew({ name: 'c', tasks: [text(), code], store: newStore(), logger })
    await crew.kickoff({ id: 'r', inputs: { topic: 'x' } })
    await crew.replay('say', { runId: 'r', inputs: { topik: 'y' } })
    assert.match(warnings.join(), /input topik is used by no text of crew c; did you mean topic\?/)
  })
})
