// Conversations that outgrow the model's window: when they are summarised, what the model receives then, and that every
// later process sends the same and pays for nothing twice.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Agent, Crew, Task, tool, type AgentOptions, type Effect, type TaskOptions, type Tool } from 'reprise'
import { z } from 'zod'
import { conversation } from '../../../src/read/conversation.ts'
import { readEntries } from '../../../src/read/read-run.ts'
import { fold } from '../../../src/journal/state/fold.ts'
import type { AttemptState } from '../../../src/journal/state/state.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { dyingStore, entriesOf, newStore, stateOf } from '../../engine/support.ts'
import { chatReply, environmentOf, openServer, sendJson } from '../../models/support.ts'
import { isFull } from '../../support/full.ts'

interface Book {
  /** How many characters each page has. */
  readonly pages: readonly number[]
  readonly agent?: Partial<AgentOptions>
  readonly task?: Partial<TaskOptions>
  readonly effect?: Effect
  readonly script?: readonly ScriptEntry[]
  /** The model refuses conversations with more characters than this. */
  readonly window?: number
  readonly store?: Store
}

const summarises = 'The conversation to summarise'
const lastPage = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/page (\d+) ends/g)].map(([, number]) => Number(number)))

/** An agent reads a book page by page. Its model knows only its conversation. */
function reading({ pages, agent, task, effect = 'read', script = [], window = Infinity, store = newStore() }: Book) {
  const read: number[] = []
  const tooLong = { status: 400, message: "This model's maximum context length is 8192 tokens." }
  const model = scriptedModel([
    { when: (text) => text.length > window, error: tooLong },
    ...script,
    { when: summarises, reply: (text) => `Read so far: page ${lastPage(text)} ends` },
    {
      when: (text) => lastPage(text) === pages.length,
      reply: (text) => `done ${/accepted/.test(text) ? 'better' : ''}`.trim(),
    },
    ...pages.map((_, index) => ({
      when: (text: string) => lastPage(text) === index,
      repeat: true,
      calls: [{ tool: 'page', input: { number: index + 1 } }],
    })),
  ])
  const page = tool({
    name: 'page',
    description: 'Read a page',
    effect,
    input: z.object({ number: z.number() }),
    run: ({ number }) => {
      read.push(number)
      return `${'x'.repeat(pages[number - 1] ?? 0)} page ${number} ends`
    },
  })
  const reader = new Agent({ role: 'Reader', goal: 'Read', model, tools: [page] as Tool[], ...agent })
  const book = new Task({ name: 'book', description: 'Read the book', agent: reader, ...task })
  const crew = new Crew({ name: 'books', tasks: [book], store, logger: { info() {}, warn() {} } })
  return { crew, model, store, read }
}

const eight = Array.from({ length: 8 }, () => 1000)

describe('a conversation longer than contextTokens', () => {
  test('is summarised before the next model call: first message, summary, recent turns in full', async () => {
    const { crew, model, store, read } = reading({ pages: eight, agent: { contextTokens: 1500 } })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done')
    assert.deepEqual(read, [1, 2, 3, 4, 5, 6, 7, 8])
    const summarised = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'context.summarised')
    assert.ok(summarised.length >= 2)
    assert.deepEqual([summarised[0]?.path, summarised[0]?.through], ['book#1', 'book#1/3'])
    assert.equal(summarised[0]?.summary, 'Read so far: page 3 ends')
    const after = model.calls.find(({ conversation: text }) => text.includes('Its summary:'))
    assert.match(after?.conversation ?? '', /Task: Read the book[\s\S]*Its summary:\nRead so far: page 3 ends/)
    assert.doesNotMatch(after?.conversation ?? '', /x page 3 ends/)
    assert.match(after?.conversation ?? '', /page\(\{"number":4\}\)[\s\S]*x page 4 ends[\s\S]*x page 5 ends/)
    // no request exceeds the limit, except those that summarise
    for (const { conversation: text } of model.calls) if (!text.includes(summarises)) assert.ok(text.length / 4 < 1600)
  })

  test('is unchanged without contextTokens, or while it fits', async () => {
    for (const agent of [{}, { contextTokens: 100_000 }]) {
      const { crew, store, model } = reading({ pages: eight, agent })
      await crew.kickoff({ id: 'r' })
      assert.equal(model.calls.length, 9)
      assert.ok(!(await entriesOf(store, 'r')).some(({ type }) => type === 'context.summarised'))
    }
  })

  test('counts as the provider counts, if that is more', async () => {
    const counted: ScriptEntry = {
      when: (text) => lastPage(text) === 1 && !text.includes(summarises) && !text.includes('Its summary'),
      calls: [{ tool: 'page', input: { number: 2 } }],
      usage: { input: 90_000 },
    }
    const book = { pages: [10, 10, 10], agent: { contextTokens: 50_000 } }
    assert.equal(await summariesOf(reading(book)), 0)
    assert.equal(await summariesOf(reading({ ...book, script: [counted] })), 1)
  })

  test('is summarised by an attempt within the step, whose cost is counted, and all turns stay recorded', async () => {
    const { crew, store, model } = reading({ pages: eight, agent: { contextTokens: 1500 } })
    const result = await crew.kickoff({ id: 'r' })
    const state = await stateOf(store, 'r')
    assert.equal(state.tasks.get('book')?.nested[0], 'book#1/3/summary#1')
    assert.equal(state.attempts.get('book#1')?.turns.length, 9)
    assert.equal(result.usage.spent.calls, model.calls.length)
    const text = JSON.stringify(result.tasks[0]?.messages)
    for (const number of read8) assert.match(text, new RegExp(`x page ${number} ends`))
    assert.equal((await crew.run('r').diff('r')).tasks[0]?.steps?.a?.modelCalls, 9)
  })

  test('is summarised again after it has grown, from the previous summary and what followed', async () => {
    const { crew, model } = reading({ pages: eight, agent: { contextTokens: 1500 } })
    await crew.kickoff()
    const asked = model.calls.filter(({ conversation: text }) => text.includes(summarises))
    assert.match(asked[1]?.conversation ?? '', /The summary of what came before:\nRead so far: page 3 ends/)
    assert.doesNotMatch(asked[1]?.conversation ?? '', /x page 3 ends/)
    assert.match(asked[1]?.conversation ?? '', /x page 4 ends/)
  })

  test('continues after a refused answer: the next attempt begins with the summary', async () => {
    const guardrails = ({ raw }: { raw: string }) => (raw === 'done' ? 'be better' : true)
    const { crew, model, read, store } = reading({ pages: eight, agent: { contextTokens: 1500 }, task: { guardrails } })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done better')
    assert.equal(
      (await stateOf(store, 'r')).attempts.get('book#2')?.summary,
      undefined,
      'it is that of the first attempt',
    )
    assert.deepEqual(read, read8)
    assert.match(model.calls.at(-1)?.conversation ?? '', /Its summary:[\s\S]*not accepted: be better/)
    assert.doesNotMatch(model.calls.at(-1)?.conversation ?? '', /x page 4 ends/)
  })

  test('that has just been refused can be summarised before the first turn of the next attempt', async () => {
    const guardrails = ({ raw }: { raw: string }) => (raw === 'done' ? `be better ${'y'.repeat(2000)}` : true)
    const { crew, store } = reading({ pages: [1000, 1000, 1000], agent: { contextTokens: 1200 }, task: { guardrails } })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done better')
    const entries = (await Array.fromAsync(readEntries(store, 'r'))).map(({ entry }) => entry)
    const last = entries.findLastIndex(({ type }) => type === 'context.summarised')
    const summarised = entries[last]
    assert.ok(summarised?.type === 'context.summarised')
    assert.deepEqual([summarised.path, summarised.through], ['book#2', 'book#1/4'])
    // the feedback is in the same message: some servers refuse two user messages in a row
    const state = fold(entries.slice(0, last + 1))
    const sent = conversation(state, state.attempts.get('book#2') as AttemptState)
    assert.equal(sent.length, 1)
    assert.match(JSON.stringify(sent), /Its summary:.*not accepted: be better/)
  })

  test('with a result that alone exceeds the limit is summarised up to that result, which is shortened in the middle', async () => {
    const { crew, model } = reading({ pages: [100, 40_000, 100], agent: { contextTokens: 1500 } })
    assert.equal(String(await crew.kickoff()), 'done')
    const asked = model.calls.find(({ conversation: text }) => text.includes(summarises))
    assert.match(asked?.conversation ?? '', /x … \(\d+ characters left out\) … x+ page 2 ends/)
    assert.ok((asked?.conversation.length ?? 0) < 1500 * 4)
  })

  test('is not summarised turn after turn if the texts of the task alone are longer', async () => {
    const task = { description: `Read the book ${'long '.repeat(1000)}` }
    const { crew, model } = reading({
      pages: Array.from({ length: 8 }, () => 100),
      agent: { contextTokens: 1000 },
      task,
    })
    await crew.kickoff()
    const summaries = model.calls.filter(({ conversation: text }) => text.includes(summarises)).length
    assert.ok(summaries > 0 && summaries <= 4, String(summaries))
  })

  test('is summarised again if the model returns nothing, and fails the task if it never returns anything', async () => {
    let silent = 2
    const quiet: ScriptEntry = { when: (text) => text.includes(summarises) && silent-- > 0, reply: '' }
    const { crew } = reading({ pages: eight, agent: { contextTokens: 1500 }, script: [quiet] })
    assert.equal(String(await crew.kickoff()), 'done')
    const mute = reading({ pages: eight, agent: { contextTokens: 1500 }, script: [{ when: summarises, reply: '' }] })
    await assert.rejects(mute.crew.kickoff(), { code: 'TASK_FAILED', message: /task book .* returned no summary/ })
  })

  test('keeps a budget: a summary is a model call like any other', async () => {
    const { crew, model } = reading({ pages: eight, agent: { contextTokens: 1500 } })
    const limited = new Crew({ name: 'limited', tasks: crew.tasks, store: newStore(), budget: { tokens: 3000 } })
    assert.equal((await limited.kickoff({ id: 'r' })).questions[0]?.kind, 'limit')
    assert.equal((await limited.resume('r', { budget: { tokens: 100_000 } })).status, 'completed')
    assert.equal(model.calls.length, new Set(model.calls.map(({ conversation: text }) => text)).size)
  })

  test('refuses an invalid contextTokens', () => {
    for (const contextTokens of [0, 99, 1000.5, '1000' as never]) {
      assert.throws(() => new Agent({ role: 'A', goal: 'g', contextTokens }), {
        code: 'OPTION_INVALID',
        message: /contextTokens of agent "A"/,
      })
    }
  })
})

describe('calls with effects in a summarised conversation', () => {
  test('are listed beside the summary, and count for the rules of once although the model no longer sees them', async () => {
    const { crew, model, read, store } = reading({ pages: eight, effect: 'once', agent: { contextTokens: 1500 } })
    await crew.kickoff({ id: 'r' })
    assert.deepEqual(read, read8)
    const shown = model.calls.at(-1)?.conversation ?? ''
    assert.match(
      shown,
      /do not repeat them:\npage\(\{"number":1\}\): \{"result":"x+ … \(\d+ characters left out\) … x+ page 1 ends"\}/,
    )
    // a fork inherits all of them
    const replay = await crew.replay('book', { runId: 'r' })
    assert.equal(replay.status, 'completed')
    assert.deepEqual(read, read8)
    const first = (await entriesOf(store, replay.runId))[0]
    assert.equal(first?.type === 'run.created' && first.calls?.length, 8)
  })
})

describe('a conversation that the provider calls too long', () => {
  test('is summarised and sent again, without any option', async () => {
    const { crew, model, store, read } = reading({ pages: eight, window: 6000 })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done')
    assert.deepEqual(read, read8)
    const types = (await entriesOf(store, 'r')).map(({ type }) => type)
    const failed = types.indexOf('model.failed')
    assert.deepEqual(types.slice(failed, failed + 5), [
      'model.failed',
      'task.started',
      'model.replied',
      'context.summarised',
      'model.replied',
    ])
    assert.ok(model.calls.length > 10)
  })

  test('is summarised from less if it is too long to be summarised', async () => {
    const { crew, store } = reading({ pages: [100, 60_000, 100], window: 9000 })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done')
    const nested = (await stateOf(store, 'r')).tasks.get('book')?.nested
    assert.deepEqual(nested, ['book#1/2/summary#1', 'book#1/2/summary#2', 'book#1/2/summary#3'])
  })

  test('fails the run as before if there is nothing to summarise, or if a summary does not help', async () => {
    const alone = reading({ pages: [], window: 10 })
    await assert.rejects(alone.crew.kickoff(), { code: 'MODEL_FAILED', message: /maximum context length/ })
    assert.equal(alone.model.calls.length, 1)
    const stubborn: ScriptEntry = {
      when: (text) => lastPage(text) >= 3 && !text.includes(summarises),
      error: { status: 400, message: 'prompt is too long: 208310 tokens > 200000 maximum' },
    }
    const never = reading({ pages: eight, script: [stubborn] })
    await assert.rejects(never.crew.kickoff(), { code: 'MODEL_FAILED', message: /prompt is too long/ })
    assert.equal(never.model.calls.length, 3 + 1 + 1 + 1)
  })

  test('is recognised by the messages of the providers, and other refusals are not mistaken for it', async () => {
    const sayings: readonly [boolean, number, string][] = [
      [true, 400, 'Your input exceeds the context window of this model. Please adjust your input and try again.'],
      [true, 400, 'prompt is too long: 208310 tokens > 200000 maximum'],
      [true, 400, 'input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000'],
      [true, 400, 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
      [true, 400, 'the request exceeds the available context size, try increasing it'],
      [true, 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens"],
      [true, 400, 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length'],
      [true, 413, 'Input is too long for requested model.'],
      [false, 400, "Unsupported value: 'temperature' does not support 0 with this model."],
      [false, 401, 'no access to models with this context window'],
      [false, 429, 'Request too large: maximum context length per minute'],
    ]
    for (const [recognised, status, message] of sayings) {
      const says: ScriptEntry = {
        when: (text) => lastPage(text) === 2 && !/to summarise|Its summary/.test(text),
        error: { status, message },
      }
      const { crew } = reading({ pages: [100, 100], script: [says], agent: { maxRetries: 0 } })
      const ended = await crew.kickoff().then(String, ({ code }: { code: string }) => code)
      assert.equal(ended, recognised ? 'done' : 'MODEL_FAILED', message)
    }
  })

  test('is not sent again unchanged, whatever the status says about retries', async () => {
    const says: ScriptEntry = {
      when: (text) => lastPage(text) === 2 && !/to summarise|Its summary/.test(text),
      error: { status: 500, message: "Requested token count exceeds the model's maximum context length" },
    }
    const { crew, model } = reading({ pages: [100, 100], script: [says] })
    assert.equal(String(await crew.kickoff()), 'done')
    assert.equal(model.calls.length, 2 + 1 + 1 + 1)
  })

  test('is recognised over the wire by the code of OpenAI', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'page', arguments: '{"number":1}' } }
    await using server = await openServer((response, count) => {
      if (count === 1) return sendJson(response, 200, chatReply({ tool_calls: [call] }))
      if (count === 2)
        return sendJson(response, 400, {
          error: { message: 'Too much.', type: 'invalid_request_error', code: 'context_length_exceeded' },
        })
      return sendJson(response, 200, chatReply({ content: count === 3 ? 'page 1 was read' : 'done' }))
    })
    using _ = environmentOf({ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: server.url })
    const { crew, store } = reading({ pages: [100], agent: { model: 'openai/gpt-test', maxRetries: 2 } })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'done')
    assert.equal(server.received.length, 4, 'it is not sent again as it was')
    const sent = server.received[3]?.body['messages'] as { role: string; content: string }[]
    assert.deepEqual(
      sent.map(({ role }) => role),
      ['system', 'user'],
    )
    assert.match(sent[1]?.content ?? '', /Its summary:\npage 1 was read/)
    assert.equal((await stateOf(store, 'r')).attempts.get('book#1')?.summary?.through, 'book#1/1')
  })
})

describe('after a crash at any append', () => {
  const books: { readonly [name: string]: Book } = {
    contextTokens: { pages: eight, agent: { contextTokens: 1500 } },
    'a window': { pages: [...eight, 30_000, 10], window: 6000 },
    'a refusal': {
      pages: eight,
      agent: { contextTokens: 1500 },
      task: { guardrails: ({ raw }) => (raw === 'done' ? 'be better' : true) },
    },
  }
  for (const [name, book] of Object.entries(books)) {
    test(`the same requests are made, none of them twice: ${name}`, async () => {
      const live = reading(book)
      const said = String(await live.crew.kickoff({ id: 'r' }))
      assert.ok((await summariesIn(live.store)) > 0)
      const undisturbed = requests(live.model)
      for (let dies = 1; ; dies++) {
        const died = await dyingAt(book, dies, (second) => {
          assert.equal(second.said, said)
          assert.deepEqual(second.read, live.read)
          assert.deepEqual(second.paid, undisturbed)
        })
        if (!died) break
      }
    })
  }

  test('a started summary is finished by the continuing process, even if contextTokens changed', async () => {
    const { crew, store, model } = reading({ pages: eight, agent: { contextTokens: 1500 } })
    let started = 0
    const dies = (types: readonly string[]): boolean => types.includes('task.started') && ++started === 2
    await crew
      .with({ store: dyingStore(store, dies) })
      .kickoff({ id: 'r' })
      .catch(() => undefined)
    const other = reading({ pages: eight, store, agent: { contextTokens: 100_000, model } })
    assert.equal(String(await other.crew.resume('r')), 'done')
    assert.equal((await stateOf(store, 'r')).attempts.get('book#1')?.summary?.through, 'book#1/3')
    assert.equal(model.calls.filter(({ conversation: text }) => text.includes(summarises)).length, 1)
  })
})

test('a resumed process builds what the live one sent, for any book, window and crash (property)', async () => {
  const books = fc.record({
    pages: fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 7 }),
    contextTokens: fc.integer({ min: 400, max: 3000 }),
    dies: fc.integer({ min: 1, max: 40 }),
  })
  await fc.assert(
    fc.asyncProperty(books, async ({ pages, contextTokens, dies }) => {
      const book: Book = { pages, agent: { contextTokens } }
      const live = reading(book)
      await live.crew.kickoff({ id: 'r' })
      await dyingAt(book, dies, async ({ paid, store }) => {
        assert.deepEqual(paid, requests(live.model))
        const [one, two] = [await stateOf(live.store, 'r'), await stateOf(store, 'r')]
        assert.deepEqual(
          conversation(two, two.attempts.get('book#1') as AttemptState),
          conversation(one, one.attempts.get('book#1') as AttemptState),
        )
      })
    }),
    { numRuns: isFull ? 25 : 8 },
  )
})

const read8 = [1, 2, 3, 4, 5, 6, 7, 8]

/**
 * Runs a book in a process that dies after an append, and in a second process. Returns whether there were that many
 * appends.
 */
async function dyingAt(
  book: Book,
  dies: number,
  then: (ended: { said: string; read: number[]; paid: string[]; store: Store }) => void | Promise<void>,
): Promise<boolean> {
  const { crew, model, read, store } = reading(book)
  let appends = 0
  const first = crew.with({ store: dyingStore(store, () => ++appends === dies) }).kickoff({ id: 'r' })
  const died = await first.then(
    () => false,
    () => true,
  )
  const said = String(await crew.kickoff({ id: 'r' }))
  await then({ said, read, paid: requests(model), store })
  return died
}

/** What was answered, and so paid for: a request that was refused as too long may be made again. */
function requests(model: ReturnType<typeof scriptedModel>): string[] {
  return model.calls.filter(({ entry }) => entry !== 0).map(({ conversation: text }) => text)
}

async function summariesIn(store: Store): Promise<number> {
  return (await entriesOf(store, 'r')).filter(({ type }) => type === 'context.summarised').length
}

async function summariesOf({ crew, store }: ReturnType<typeof reading>): Promise<number> {
  await crew.kickoff({ id: 'r' })
  return summariesIn(store)
}
