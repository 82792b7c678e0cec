// A topic is researched: a provider that searches, pauses and sends more than text, a file among the inputs, a
// summarised conversation, a last turn without tools, a budget that is raised, and a model that fails for good.
import assert from 'node:assert/strict'
import { Agent, Crew, file, Task, tool, type Answer } from 'reprise'
import type { ScriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { before, fail, finishRun, untilDeath, type Life, type Scene } from '../lab.ts'

export const research: Scene = {
  async record({ life, save, saveFinished }) {
    const harvest = file(Buffer.from('Rye grew well.'), { name: 'harvest.txt' })
    const inputs = { topic: 'rye', harvest }
    await researching(life()).kickoff({ id: 'research', inputs, through: 'search' })
    await untilDeath(researching(life(before('context.summarised'))).resume('research', { through: 'read' }))
    await save('killed', 'research', 'done')
    const crew = researching(life())
    await crew.resume('research')
    await save('at-limit', 'research', 'done')
    await crew.run('research').answer('q1', answer())
    await assert.rejects(crew.resume('research'), /no such model/)
    await crew.resume('research', { budget: { tokens: 10_000 } })
    await saveFinished('done', 'research')
  },
  finish,
}

function finish(life: Life, run: string) {
  return finishRun(life, researching(life), run, answer)
}

function answer(): Answer {
  return { decision: 'raise', to: { tokens: 9_000 }, by: 'Bob' }
}

function researching(life: Life) {
  const { did, options } = life
  const page = tool({
    name: 'page',
    description: 'Reads a page',
    effect: 'read',
    input: z.object({ number: z.number() }),
    run: ({ number }) => (did(`page ${number}`), `${'word '.repeat(80)}end of page ${number}`),
  })
  const model = life.model([
    { when: 'Task: Search', reply: 'Rye grows in Poland.' },
    { when: 'The conversation to summarise', reply: 'Page 1 is about rye.' },
    { when: 'Task: Read', after: 'used all your turns', reply: 'All pages are about rye.' },
    { when: 'Task: Read', after: 'end of page 1', calls: [{ tool: 'page', input: { number: 2 } }] },
    { when: 'Task: Read', after: 'end of page 2', calls: [{ tool: 'page', input: { number: 3 } }] },
    { when: 'Task: Read', after: 0, calls: [{ tool: 'page', input: { number: 1 } }] },
    {
      when: 'Task: Write',
      reply: () => (did('write') === 0 ? fail(new Error('no such model'), { isRetryable: false }) : 'Rye.'),
    },
  ])
  const searcher = new Agent({ role: 'Searcher', goal: 'Search', model: asProvider(model) })
  const reader = new Agent({ role: 'Reader', goal: 'Read', model, tools: [page], contextTokens: 250, maxIterations: 4 })
  return new Crew({
    ...options,
    name: 'researching',
    budget: { tokens: 850 },
    tasks: [
      new Task({ name: 'search', description: 'Search for {topic} in {harvest}', agent: searcher }),
      new Task({ name: 'read', description: 'Read about {topic}', agent: reader }),
      new Task({ name: 'write', description: 'Write about {topic}', agent: searcher }),
    ],
  })
}

/** A model that searches and thinks; its provider pauses after the search, and sends a source and a picture. */
function asProvider(model: ScriptedModel): ScriptedModel {
  const providerMetadata = { golden: { signature: 'xyz' } }
  const call = { toolCallId: 'search-1', toolName: 'web_search' }
  const source = { type: 'source', sourceType: 'url', id: 's1', url: 'https://rye.example/', title: 'Rye' } as const
  return {
    ...model,
    async doGenerate(request) {
      const reply = await model.doGenerate(request)
      const inputTokens = { total: 60, noCache: 20, cacheRead: 30, cacheWrite: 10 }
      const usage = { inputTokens, outputTokens: { total: 9, text: 5, reasoning: 4 } }
      const more = { response: { modelId: 'golden-2026-01' }, usage }
      if (request.prompt.some(({ role }) => role === 'assistant'))
        return {
          ...reply,
          ...more,
          content: [
            { type: 'tool-result', ...call, result: { pages: 3 } },
            ...reply.content,
            source,
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } },
          ],
        }
      return {
        ...reply,
        ...more,
        content: [
          { type: 'reasoning', text: 'I have to search.', providerMetadata },
          { type: 'tool-call', ...call, input: '{"query":"rye"}', providerExecuted: true },
        ],
        finishReason: { unified: 'other', raw: 'pause_turn' },
      }
    },
  }
}
