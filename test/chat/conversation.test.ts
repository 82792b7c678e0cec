// Conversations with an agent: what the model is sent, and what happens to messages.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, chat, Crew, Task, tool, type Conversation } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { startWorker } from 'reprise/workers'
import { openRuns } from '../../src/crew/open-runs.ts'
import { z } from 'zod'
import { gate, speakingModel } from '../crew/runs/speaking-model.ts'
import { atEveryAppend, entriesOf, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import { quiet } from '../flows/support.ts'
import { talker } from './support.ts'

const texts = async (conversation: Conversation): Promise<string[]> =>
  (await conversation.messages()).map(({ text }) => text)

/** The messages that the model was sent, without the instructions. */
const sent = (conversation: string | undefined): string[] => (conversation ?? '').split('\n\n').slice(3)

const echo = { when: /./, reply: (all: string) => `re ${all.split('\n\n').at(-1)}` }

describe('the model of a conversation', () => {
  test('the model of a conversation is sent the messages so far, and earlier calls of its tools', async () => {
    const lookup = tool({
      name: 'lookup',
      description: 'Look up',
      effect: 'read',
      input: z.object({ n: z.number() }),
      run: () => 'found it',
    })
    const model = scriptedModel([{ when: 'look', calls: [{ tool: 'lookup', input: { n: 7 } }] }, echo])
    const agent = new Agent({ role: 'Helper', goal: 'Help', model, tools: [lookup] })
    const store = newStore()
    const conversation = chat(agent, { store, logger: quiet }).conversation('c')
    assert.equal(String(await conversation.send('look')), 're found it')
    await conversation.send('again')
    assert.match(model.calls.at(-1)?.conversation ?? '', /look\n\n.*found it.*\n\nagain$/s)
    const started = (await entriesOf(store, 'c')).find(({ path }) => path === 'answer[2]#1')
    assert.deepEqual(started?.type === 'task.started' && started.carries, { path: 'answer[1]#1', message: 'again' })
  })

  test('the model of a conversation is sent the texts of earlier runs when a new run continues it', async () => {
    const { chat: served, model, store } = talker({ turnsPerRun: 2 }, [echo])
    const conversation = served.conversation('c')
    for (const text of ['one', 'two', 'three', 'four', 'five']) await conversation.send(text)
    const all = ['one', 're one', 'two', 're two', 'three', 're three', 'four', 're four', 'five']
    assert.deepEqual(sent(model.calls.at(-1)?.conversation), all)
    assert.deepEqual(await texts(conversation), [...all, 're five'])
    assert.equal((await store.row('c~3'))?.status, 'suspended')
    assert.equal((await conversation.run()).id, 'c~3')
  })

  test('the model of a conversation is sent an answer as a person has edited it', async () => {
    const { chat: served, model } = talker({}, [echo])
    const conversation = served.conversation('c')
    await conversation.send('one')
    await conversation.send('two')
    await served.run('c').edit('answer[1]', 'edited')
    await conversation.send('three')
    assert.deepEqual(sent(model.calls.at(-1)?.conversation), ['one', 'edited', 'two', 're two', 'three'])
    assert.equal(model.calls.length, 3)
  })

  test('the model is sent a summary of the older messages if the conversation exceeds contextTokens', async () => {
    const script = [
      { when: 'You write the summary', reply: 'Ada likes tea.' },
      { when: /./, reply: 'So. '.repeat(100) },
    ]
    const { chat: served, model, store } = talker({}, script, { contextTokens: 600 })
    const conversation = served.conversation('c')
    for (let n = 1; n <= 8; n++) await conversation.send(`message ${n}`)
    assert.ok((await entriesOf(store, 'c')).some(({ type }) => type === 'context.summarised'))
    assert.match(model.calls.at(-1)?.conversation ?? '', /Its summary:\nAda likes tea\./)
    assert.ok(model.calls.every((call) => call.conversation.length < 600 * 6))
    assert.equal((await conversation.messages()).length, 16)
  })

  test('the model is sent a summary in the next run if the messages of earlier runs are long', async () => {
    const script = [
      { when: 'You write the summary', reply: 'Ada likes tea.' },
      { when: /./, reply: 'So. '.repeat(100) },
    ]
    const { chat: served, model } = talker({ turnsPerRun: 4 }, script, { contextTokens: 2_000 })
    const conversation = served.conversation('c')
    for (let n = 1; n <= 13; n++) await conversation.send(`message ${n}`)
    const summaries = model.calls.filter(({ conversation: all }) => all.includes('You write the summary'))
    assert.equal(summaries.length, 2)
    assert.match(summaries.at(-1)?.conversation ?? '', /The summary of what came before:\nAda likes tea\./)
    assert.match(model.calls.at(-1)?.conversation ?? '', /Its summary:\nAda likes tea\.\n\nmessage 1[0-2]/)
    const inputs = (await served.run('c~4').view()).inputs as { readonly history: readonly unknown[] }
    assert.ok(inputs.history.length < 24)
  })
})

describe('a conversation whose code has changed', () => {
  const describing = (goal: string, store = newStore(), options = {}) => {
    const model = scriptedModel([echo])
    const agent = new Agent({ role: 'Helper', goal, model })
    return { served: chat(agent, { name: 'c', store, logger: quiet, ...options }), model }
  }

  test('a conversation with more turns than a lowered `turnsPerRun` keeps and sends all of them', async () => {
    const store = newStore()
    const before = describing('Help', store).served.conversation('c')
    for (const text of ['one', 'two', 'three']) await before.send(text)
    const { served, model } = describing('Help', store, { turnsPerRun: 2 })
    const conversation = served.conversation('c')
    assert.equal((await conversation.send('four')).turn, 4)
    assert.equal((await conversation.run()).id, 'c~2')
    assert.deepEqual(sent(model.calls.at(-1)?.conversation), [
      'one',
      're one',
      'two',
      're two',
      'three',
      're three',
      'four',
    ])
    assert.deepEqual(
      (await conversation.messages()).map(({ turn }) => turn),
      [1, 1, 2, 2, 3, 3, 4, 4],
    )
  })

  test('a conversation repeats no answer if a crew replaces the agent, or an agent the crew', async () => {
    const store = newStore()
    const first = describing('Help', store)
    await first.served.conversation('c').send('one')
    const reply = new Task({
      name: 'reply',
      description: '{history} {message}',
      agent: new Agent({ role: 'A', goal: 'g' }),
    })
    const model = scriptedModel([{ when: /./, reply: 'from a crew' }])
    const crew = new Crew({ name: 'mail', tasks: [reply] })
    const crews = chat(crew, { name: 'c', store, logger: quiet }).with({ model }).conversation('c')
    await crews.send('two')
    const last = describing('Help', store)
    await last.served.conversation('c').send('three')
    assert.deepEqual(await texts(crews), ['one', 're one', 'two', 'from a crew', 'three', 're three'])
    assert.deepEqual(
      [first, { model }, last].map((one) => one.model.calls.length),
      [1, 1, 1],
    )
    assert.deepEqual(sent(last.model.calls.at(-1)?.conversation), ['one', 're one', 'two', 'from a crew', 'three'])
  })
})

describe('a conversation of several runs', () => {
  const ofThree = async () => {
    const { chat: served, store } = talker({ turnsPerRun: 1 }, [echo])
    const conversation = served.conversation('c')
    for (const text of ['one', 'two']) await conversation.send(text)
    assert.deepEqual(await texts(conversation), ['one', 're one', 'two', 're two'])
    return { served, conversation, store }
  }

  test('a conversation is deleted as a whole by its id, and a later run of it cannot be deleted alone', async () => {
    const { served, conversation, store } = await ofThree()
    await assert.rejects(served.run('c~3').delete(), { code: 'RUN_NEEDED', message: /continues run c, / })
    await served.run('c').delete()
    assert.deepEqual((await store.list({}, { limit: 9 })).rows, [])
    assert.equal((await conversation.send('three')).turn, 1)
  })

  test('a conversation is not pruned while it takes messages, and pruned as a whole once it is cancelled', async () => {
    const { served, conversation, store } = await ofThree()
    assert.deepEqual((await served.prune({ keep: 0 })).runs, [])
    assert.equal((await conversation.send('three')).turn, 3)
    await served.run('c').cancel()
    const ids = ['c~4', 'c~3', 'c~2', 'c']
    for (const dryRun of [true, false])
      assert.deepEqual(
        (await served.prune({ keep: 0, dryRun })).runs.map(({ runId }) => runId),
        ids,
      )
    assert.deepEqual((await store.list({}, { limit: 9 })).rows, [])
  })

  test('a conversation receives a message that `openRuns` sends to its first run', async () => {
    const { conversation, store } = await ofThree()
    const runs = await openRuns(store)
    await runs.run('c').send('message', { id: 'm', text: 'three' })
    assert.equal(String(await conversation.send('three', { id: 'm' })), 're three')
  })
})

describe('a message', () => {
  test('a message with an id is sent once, however often `send` is called', async () => {
    const { chat: served, model } = talker({ turnsPerRun: 2 }, [echo])
    const conversation = served.conversation('c')
    const first = await conversation.send('one', { id: 'm1' })
    assert.deepEqual(
      { ...first, toString: undefined },
      { ...(await conversation.send('one', { id: 'm1' })), toString: undefined },
    )
    await Promise.all([1, 2].map(() => conversation.send('two', { id: 'm2' })))
    // sent again to the next run
    assert.equal((await conversation.send('two', { id: 'm2' })).turn, 2)
    assert.equal((await conversation.send('three', { id: 'm3' })).turn, 3)
    assert.equal((await conversation.send('two', { id: 'm2' })).turn, 2)
    assert.equal(model.calls.length, 3)
    await assert.rejects(conversation.send('other', { id: 'm2' }), { code: 'INPUTS_DIFFER' })
    const both = await Promise.allSettled(['x', 'y'].map((text) => conversation.send(text, { id: 'm4' })))
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  })

  test('a message that is sent during a turn waits for the end of the turn', async () => {
    const go = gate()
    const model = speakingModel((call) => (call === 1 ? ['One', go.wait] : [`Answer ${call}`]))
    const conversation = chat(new Agent({ role: 'Helper', goal: 'Help', model }), { store: newStore() }).conversation(
      'c',
    )
    const first = conversation.send('a')
    const others = [conversation.send('b', { id: 'b' }), conversation.send('c', { id: 'c' })]
    go.open()
    assert.equal(String(await first), 'One')
    assert.deepEqual((await Promise.all(others)).map(String).toSorted(), ['Answer 2', 'Answer 3'])
    assert.equal((await conversation.messages()).length, 6)
  })

  test('a message whose turn fails stays without an answer, and the next turn is sent it', async () => {
    const { chat: served, model } = talker({}, [{ when: /bad$/, error: 'no such thing' }, echo])
    const conversation = served.conversation('c')
    await conversation.send('good')
    await assert.rejects(conversation.send('bad', { id: 'm' }), { code: 'MODEL_FAILED', message: /no such thing/ })
    await assert.rejects(conversation.send('bad', { id: 'm' }), { code: 'MODEL_FAILED' })
    assert.equal(String(await conversation.send('better')), 're better')
    assert.deepEqual(sent(model.calls.at(-1)?.conversation), ['good', 're good', 'bad', 'better'])
    assert.deepEqual(
      (await conversation.messages()).map(({ status }) => status),
      ['answered', undefined, 'failed', 'answered', undefined],
    )
  })

  test('a message that is empty, or sent to a cancelled conversation, is refused', async () => {
    const { chat: served } = talker({}, [echo])
    const conversation = served.conversation('c')
    await assert.rejects(conversation.send(''), { code: 'OPTION_INVALID' })
    await assert.rejects(conversation.send('a', { ids: 'x' } as never), { code: 'OPTION_UNKNOWN' })
    assert.deepEqual(await conversation.messages(), [])
    await conversation.send('a')
    await served.run('c').cancel()
    await assert.rejects(conversation.send('b'), { code: 'RUN_ENDED' })
  })

  test('a message is answered by a worker if workers execute the turns', async () => {
    const { chat: served, store } = talker({ workers: true, turnsPerRun: 2 }, [echo])
    await using _ = await startWorker([served], { pollSeconds: 0.02 })
    const conversation = talker({ workers: true, store }).chat.conversation('c')
    for (const text of ['a', 'b', 'c']) assert.equal(String(await conversation.send(text)), `re ${text}`)
  })

  test('a message is answered by a worker even if the clock stands still', async (context) => {
    context.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const { chat: served, store } = talker({ workers: true, turnsPerRun: 2 }, [echo])
    await using _ = await startWorker([served], { pollSeconds: 0.02 })
    const conversation = talker({ workers: true, store }).chat.conversation('c')
    for (const text of ['a', 'b', 'c']) assert.equal(String(await conversation.send(text)), `re ${text}`)
  })
})

describe('a conversation that is killed at any append', () => {
  test('a conversation killed at any append has the answers of an undisturbed one, and no message twice', async () => {
    const said = ['one', 'two', 'three']
    const talk = async (store: ReturnType<typeof newStore>): Promise<string[]> => {
      const conversation = talker({ store, turnsPerRun: 2 }).chat.conversation('c')
      for (const text of said) await conversation.send(text, { id: text })
      return texts(conversation)
    }
    const undisturbed = await talk(newStore())
    let lives = 0
    await atEveryAppend(async (dying) => {
      const inner = newStore()
      lives += 1
      await orDeath(talk(dying(ofGoneProcess(inner))))
      assert.deepEqual(await talk(inner), undisturbed)
    })
    assert.ok(lives > 10)
  })
})

describe('stopping a turn', () => {
  const hanging = (store = newStore()) => {
    const never = Promise.withResolvers<void>()
    const model = speakingModel((call) => (call === 2 ? ['Two', never.promise] : [`Answer ${call}`]))
    return chat(new Agent({ role: 'Helper', goal: 'Help', model }), { store, logger: quiet })
  }

  test('stopping a turn leaves its message without an answer, and the conversation continues', async () => {
    const store = newStore()
    const conversation = hanging(store).conversation('c')
    assert.equal(await conversation.stop(), false)
    await conversation.send('a')
    assert.equal(await conversation.stop(), false)
    const second = conversation.send('b')
    while (!(await entriesOf(store, 'c')).some(({ path }) => path === 'answer[2]#1')) await new Promise(setImmediate)
    // from another process
    assert.equal(await hanging(store).conversation('c').stop(), true)
    assert.equal((await second).status, 'stopped')
    assert.equal(String(await conversation.send('c')), 'Answer 3')
    assert.deepEqual(
      (await conversation.messages()).map(({ role, status }) => status ?? role),
      ['answered', 'assistant', 'stopped', 'answered', 'assistant'],
    )
  })

  test('stopping a turn that waits for an approval withdraws the question', async () => {
    const pay = tool({ name: 'pay', description: 'Pay', approval: true, input: z.object({}), run: () => 'paid' })
    const model = scriptedModel([{ when: /pay$/, calls: [{ tool: 'pay', input: {} }] }, echo])
    const agent = new Agent({ role: 'Clerk', goal: 'Pay', model, tools: [pay] })
    const conversation = chat(agent, { store: newStore(), logger: quiet }).conversation('c')
    assert.equal((await conversation.send('pay')).status, 'waiting')
    assert.equal(await conversation.stop(), true)
    await assert.rejects(conversation.answer('q1', { decision: 'approve' }), { code: 'QUESTION_NOT_FOUND' })
    assert.equal(String(await conversation.send('hello')), 're hello')
  })
})

describe('a turn that asks a person', () => {
  test('a turn that asks a person returns as waiting, and `answer` returns it as answered', async () => {
    const paid: number[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      approval: true,
      input: z.object({ sum: z.number() }),
      run: ({ sum }) => paid.push(sum),
    })
    const model = scriptedModel([{ when: 'pay', calls: [{ tool: 'pay', input: { sum: 5 } }] }, echo])
    const agent = new Agent({ role: 'Clerk', goal: 'Pay', model, tools: [pay] })
    const conversation = chat(agent, { store: newStore(), logger: quiet }).conversation('c')
    const asked = await conversation.send('pay', { id: 'm' })
    assert.deepEqual([asked.status, asked.questions.map(({ kind }) => kind)], ['waiting', ['call']])
    const later = await conversation.send('are you there?')
    assert.deepEqual([later.status, later.turn], ['waiting', undefined])
    const answered = await conversation.answer('q1', { decision: 'approve' }, { by: 'ada' })
    assert.deepEqual([answered.status, answered.id, paid], ['answered', 'm', [5]])
    assert.deepEqual((await texts(conversation)).length, 4)
  })
})

describe('a fork of a conversation', () => {
  test('a fork of a conversation has the turns up to the given one, and leaves the original unchanged', async () => {
    const { chat: served, model } = talker({ turnsPerRun: 3 }, [echo])
    const conversation = served.conversation('c')
    for (let n = 1; n <= 8; n++) await conversation.send(`m${n}`)
    const before = await texts(conversation)
    for (const turn of [1, 3, 5, 8]) {
      const fork = await conversation.fork({ turn, id: `fork-${turn}` })
      const kept = Array.from({ length: turn }, (_, index) => [`m${index + 1}`, `re m${index + 1}`]).flat()
      assert.deepEqual(await texts(fork), kept)
      assert.equal(String(await fork.send('other')), 're other')
      assert.deepEqual(sent(model.calls.at(-1)?.conversation), [...kept, 'other'])
      assert.deepEqual(await texts(fork), [...kept, 'other', 're other'])
    }
    assert.deepEqual(await texts(conversation), before)
    const nested = await served.conversation('fork-5').fork({ turn: 2 })
    assert.deepEqual(await texts(nested), before.slice(0, 4))
    for (const turn of [0, 9, 1.5])
      await assert.rejects(conversation.fork({ turn }), { code: 'OPTION_INVALID' }, `turn ${turn}`)
  })

  test('a replay of a conversation answers the message of the turn again', async () => {
    const { chat: served, model } = talker({ turnsPerRun: 3 })
    const conversation = served.conversation('c')
    for (let n = 1; n <= 4; n++) await conversation.send(`m${n}`)
    const calls = model.calls.length
    const again = await conversation.replay({ turn: 2, id: 'again' })
    assert.equal(model.calls.length, calls + 1)
    assert.deepEqual(await texts(again), (await texts(conversation)).slice(0, 4))
    assert.equal((await again.send('m3')).turn, 3)
  })
})

test('chat refuses an agent whose texts use inputs, and unknown options', () => {
  const model = scriptedModel([echo])
  assert.throws(() => chat(new Agent({ role: 'Guide to {city}', goal: 'Help', model })), {
    code: 'OPTION_INVALID',
    message: /use \{city\}/,
  })
  const agent = new Agent({ role: 'Helper', goal: 'Help', model })
  assert.throws(() => chat(agent, { tasks: [] } as never), { code: 'OPTION_UNKNOWN' })
  assert.throws(() => chat(agent, { turnsPerRun: 0 }), { code: 'OPTION_INVALID' })
  assert.throws(() => chat('Helper' as never), { code: 'OPTION_INVALID' })
  assert.equal(chat(agent).name, 'chat Helper')
})

test('a late turn of a conversation records no more than an early one', async () => {
  const { chat: served, store } = talker({}, [{ when: /./, reply: 'Always the same answer.' }])
  const conversation = served.conversation('c')
  for (let n = 11; n <= 50; n++) await conversation.send(`message ${n}`, { id: `m${n}` })
  const sizes = new Map<string, number>()
  for (const { prev: _, at: _1, ...entry } of await entriesOf(store, 'c')) {
    if ('usage' in entry) delete (entry as { usage?: unknown }).usage
    const turn = /\[(\d+)\]/.exec(entry.path ?? '')?.[1] ?? ''
    sizes.set(turn, (sizes.get(turn) ?? 0) + JSON.stringify(entry).length)
  }
  const [early = 0, late = 0] = [sizes.get('10'), sizes.get('40')]
  assert.ok(early > 500 && Math.abs(late - early) < 100, `${early} and ${late} characters`)
})
