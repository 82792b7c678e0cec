// Values nested far too deeply, from any source: each is refused with the reason, no paid work is lost, and no run is
// stuck.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import type { LanguageModelV4 } from '../../../src/models/resolve/resolve-model.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, oneTask, refusal } from '../../engine/support.ts'

const quiet = { info() {}, warn() {} }
const nestedText = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const nested = (levels: number): object => JSON.parse(nestedText(levels)) as object
type Reply = Awaited<ReturnType<LanguageModelV4['doGenerate']>>['content'][number]

/** A model that says `first`, and then that it is done. */
function saying(first: Reply): LanguageModelV4 & { readonly asked: string[] } {
  const { doStream: _, ...model } = scriptedModel([{ when: '', reply: 'done' }])
  const asked: string[] = []
  return {
    ...model,
    asked,
    doGenerate: async (request) => {
      const reply = await model.doGenerate(request)
      return asked.push(JSON.stringify(request.prompt.at(-1))) === 1 ? { ...reply, content: [first] } : reply
    },
    doStream: () => assert.fail('streamed without a listener'),
  }
}

const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' } as const

for (const levels of [2_000, 100_000]) {
  describe(`a value of ${levels} levels`, () => {
    const gives = (result: unknown) => {
      let calls = 0
      const look = tool({
        name: 'look',
        description: 'Looks',
        effect: 'once',
        input: z.looseObject({}),
        run: () => (calls++, result as string),
      })
      return { look, calls: () => calls }
    }

    test('as the input of a tool call is an error for the model, which continues', async () => {
      const model = saying({ ...call, input: nestedText(levels) })
      const { look, calls } = gives('seen')
      const store = newStore()
      const agent = new Agent({ role: 'A', goal: 'g', model, tools: [look] })
      const crew = new Crew({ tasks: [new Task({ description: 'Do', agent })], store })
      assert.equal(String(await crew.kickoff({ id: 'r' })), 'done')
      assert.equal(calls(), 0)
      assert.match(model.asked[1] ?? '', /was not made.*nested more than 256 levels deep/)
      const types = (await entriesOf(store, 'r')).map((entry) => entry.type)
      assert.equal(types.filter((type) => type === 'model.replied').length, 2)
    })

    test('in provider metadata beside a reply is left out, and the reply is kept', async () => {
      const model = saying({ type: 'text', text: 'said', providerMetadata: { p: { a: nested(levels) as never } } })
      const crew = new Crew({
        tasks: [new Task({ description: 'Do', agent: new Agent({ role: 'A', goal: 'g', model }) })],
        store: newStore(),
      })
      assert.equal(String(await crew.kickoff()), 'said')
      assert.equal(model.asked.length, 1)
    })

    test('as the result of a tool is unreadable, and the call is not made twice', async () => {
      const { look, calls } = gives(nested(levels))
      const { crew, model } = oneTask({
        tools: [look],
        script: [
          { when: 'Do it', calls: [{ tool: 'look', input: {} }] },
          { when: 'Do it', reply: 'done' },
        ],
      })
      assert.equal(String(await crew.kickoff()), 'done')
      assert.equal(calls(), 1)
      assert.match(model.calls[1]?.lastMessage ?? '', /The call was made.*look\.a\.a.*nested more than 256 levels deep/)
    })

    test('as a structured answer is refused, and the model gets the reason', async () => {
      const model = scriptedModel([
        { when: 'nested more than 256', reply: { a: 1 } },
        { when: '', reply: nestedText(levels) },
      ])
      const job = new Task({ description: 'Do', agent: new Agent({ role: 'A', goal: 'g', model }), output: z.any() })
      assert.deepEqual((await new Crew({ tasks: [job], store: newStore(), logger: quiet }).kickoff()).output, { a: 1 })
    })

    test('as the result of a function fails its task with the place', async () => {
      const job = new Task({ name: 'compute', effect: 'read', run: () => nested(levels) })
      const error = await refusal(() => new Crew({ tasks: [job], store: newStore() }).kickoff())
      assert.equal(error.code, 'TASK_FAILED')
      assert.match(
        error.message,
        /compute failed: its result is not JSON at compute\.a\.a.*: nested more than 256 levels deep/,
      )
    })

    test('among inputs, edits and answers is refused with the place, and the run accepts another', async () => {
      const model = scriptedModel([{ when: '', reply: 'fine' }])
      const agent = new Agent({ role: 'A', goal: 'g', model })
      const draft = new Task({ name: 'draft', description: 'Draft', agent, humanInput: true })
      const crew = new Crew({ tasks: [draft], store: newStore(), logger: quiet })
      const inputs = await refusal(() => crew.kickoff({ inputs: { deep: nested(levels) } }))
      assert.equal(inputs.code, 'INPUT_INVALID')
      assert.match(inputs.message, /inputs\.deep\.a\.a.* is nested more than 256 levels deep/)

      await crew.kickoff({ id: 'r' })
      const edit = await refusal(() => crew.run('r').edit('draft', nested(levels) as never))
      assert.equal(edit.code, 'INPUT_INVALID')
      const answer = await refusal(() =>
        crew.run('r').answer('q1', { decision: 'replace', output: nested(levels) as never }),
      )
      assert.equal(answer.code, 'ANSWER_INVALID')
      await crew.run('r').answer('q1', { decision: 'approve' })
      assert.equal(String(await crew.resume('r')), 'fine')
    })

    test('from a guardrail fails the task, and the paid answer is kept', async () => {
      const model = scriptedModel([{ when: '', reply: { a: 1 } }])
      const job = new Task({
        name: 'job',
        description: 'Do',
        agent: new Agent({ role: 'A', goal: 'g', model }),
        output: z.any(),
        guardrails: [() => ({ output: nested(levels) })],
      })
      const crew = new Crew({ tasks: [job], store: newStore(), logger: quiet })
      const error = await refusal(() => crew.kickoff({ id: 'r' }))
      assert.match(error.message, /output\.a\.a.* is nested more than 256 levels deep/)
      await refusal(() => crew.resume('r'))
      assert.equal(model.calls.length, 1)
    })
  })
}
