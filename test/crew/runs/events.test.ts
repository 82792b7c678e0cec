// The events of a run in its own process: its entries, and the text of its models as it streams.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Run, RunEvent } from 'reprise'
import { createListeners } from '../../../src/read/listeners.ts'
import type { EntryOf } from '../../../src/journal/entries.ts'
import { replyText } from '../../../src/journal/state/state.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore } from '../../engine/support.ts'
import { busy, gate, speakingCrew, speakingModel } from './speaking-model.ts'

describe('a listener', () => {
  test("receives the model's text as it streams, after the entries before the call", async () => {
    const more = gate()
    const run = await speakingCrew(speakingModel(() => ['Once ', more.wait, 'upon a time.'])).kickoff().started
    const events: RunEvent[] = []
    for await (const event of run.events()) {
      events.push(event)
      // the model continues only after the listener has its first words
      if (event.type === 'text.delta') more.open()
    }
    assert.deepEqual(events.map(shown), [
      'run.created',
      'task.started',
      'Once ',
      'upon a time.',
      'model.replied',
      'task.completed',
      'run.completed',
    ])
    assert.deepEqual(events[2], { type: 'text.delta', path: 'note#1/1', text: 'Once ' })
  })

  test('receives reasoning apart from text', async () => {
    const run = await speakingCrew(speakingModel(() => [{ thought: 'Hm.' }, 'Yes.', { thought: 'Or?' }])).kickoff()
      .started
    assert.deepEqual(deltasOf(await eventsOf(run)), ['<Hm.>', 'Yes.', '<Or?>'])
  })

  test('changes nothing in the journal', async () => {
    const model = speakingModel((call) => (call === 1 ? ['Once', busy()] : [{ thought: 'Hm.' }, 'Once ', 'more.']))
    const again = speakingModel((call) => (call === 1 ? ['Once', busy()] : [{ thought: 'Hm.' }, 'Once ', 'more.']))
    const [heard, unheard] = [newStore(), newStore()]
    await eventsOf(await speakingCrew(model, { store: heard }).kickoff({ id: 'r' }).started)
    await speakingCrew(again, { store: unheard }).kickoff({ id: 'r' })
    assert.deepEqual(
      [model.asked, again.asked],
      [
        ['streamed', 'streamed'],
        ['whole', 'whole'],
      ],
    )
    assert.deepEqual(await bodiesOf(heard), await bodiesOf(unheard))
  })

  test('who is slow receives many pieces in one', async () => {
    const [said, go] = [gate(), gate()]
    const words = Array.from({ length: 1000 }, (_, index) => `${index} `)
    const model = speakingModel(function* () {
      yield* words
      said.open()
      yield go.wait
      yield 'end'
    })
    const run = await speakingCrew(model).kickoff().started
    const events = run.events()[Symbol.asyncIterator]()
    await said.wait
    const pieces: RunEvent[] = []
    while (pieces.length < 3) pieces.push((await events.next()).value as RunEvent)
    assert.deepEqual(pieces.slice(2), [{ type: 'text.delta', path: 'note#1/1', text: words.join('') }])
    go.open()
    await run.result()
  })

  test('who never reads does not block the run', async () => {
    const run = await speakingCrew(speakingModel(() => ['Done.'])).kickoff().started
    const events = run.events()
    assert.equal(String(await run.result()), 'Done.')
    // the late listener still receives everything
    const late: RunEvent[] = []
    for await (const event of events) late.push(event)
    assert.deepEqual(deltasOf(late), ['Done.'])
  })

  test('who joins in the middle receives the text from its beginning', async () => {
    const [first, go] = [gate(), gate()]
    const run = await speakingCrew(speakingModel(() => ['Once ', 'upon ', go.wait, 'a time.'])).kickoff().started
    const early = eventsOf(run, (event) => event.type === 'text.delta' && first.open())
    await first.wait
    const late = await eventsOf(run, (event) => event.type === 'text.delta' && go.open())
    assert.equal(deltasOf(late).join(''), 'Once upon a time.')
    assert.equal(deltasOf(await early).join(''), 'Once upon a time.')
  })

  test('who joins after the end receives only entries', async () => {
    const run = await speakingCrew(speakingModel(() => ['Done.'])).kickoff().started
    await run.result()
    assert.deepEqual(deltasOf(await eventsOf(run)), [])
  })

  test('who leaves in the middle changes nothing for the run and for other listeners', async () => {
    const run = await speakingCrew(speakingModel(() => ['Once ', 'more.'])).kickoff().started
    const other = eventsOf(run)
    for await (const event of run.events()) if (event.type === 'text.delta') break
    assert.equal(deltasOf(await other).join(''), 'Once more.')
    assert.equal(String(await run.result()), 'Once more.')
  })

  test('can leave at once while no event comes', async () => {
    const go = gate()
    const run = await speakingCrew(speakingModel(() => [go.wait, 'Done.'])).kickoff().started
    const events = run.events()[Symbol.asyncIterator]()
    await events.next()
    await events.next()
    const pending = events.next()
    await events.return?.()
    assert.deepEqual(await pending, { done: true, value: undefined })
    go.open()
    await run.result()
  })

  test('who names an entry receives only later ones', async () => {
    const run = await speakingCrew(speakingModel(() => ['Done.'])).kickoff().started
    await run.result()
    const events: RunEvent[] = []
    for await (const event of run.events({ after: 3 })) events.push(event)
    assert.deepEqual(events.map(shown), ['task.completed', 'run.completed'])
  })
})

describe('for listeners of any speed', () => {
  for (const [pace, turns] of Object.entries({ 'as quick as it gets': 0, 'one step late': 1, 'far behind': 200 })) {
    test(`(${pace}), the pieces of each path add up to the text of its entry`, async () => {
      const words = (call: number) => Array.from({ length: 50 }, (_, index) => `${call}.${index} `)
      const model = speakingModel((call) => (call === 2 ? [...words(9), busy()] : words(call)))
      const run = await speakingCrew(model, { tasks: ['one', 'two', 'three'] }).kickoff().started
      const said = new Map<string, string>()
      let replies = 0
      for await (const event of run.events()) {
        for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
        if (event.type === 'text.delta') said.set(event.path, (said.get(event.path) ?? '') + event.text)
        if (event.type === 'text.reset') said.delete(event.path)
        if (event.type !== 'model.replied') continue
        replies++
        assert.equal(said.get(event.path as string), replyText(event))
      }
      assert.equal(replies, 3)
    })
  }
})

describe('a failed try', () => {
  test('is retracted before the next one streams', async () => {
    const heard = gate()
    const model = speakingModel((call) => (call === 1 ? ['Onc', heard.wait, busy()] : ['Once more.']))
    const run = await speakingCrew(model).kickoff().started
    const events = await eventsOf(run, (event) => event.type === 'text.delta' && heard.open())
    assert.deepEqual(deltasOf(events), ['Onc', '(reset)', 'Once more.'])
    assert.equal((events.find(isReply)?.tries ?? []).length, 1)
  })

  test('stays hidden from a listener who received nothing of it', async () => {
    const model = speakingModel((call) => (call === 1 ? ['Onc', busy()] : ['Once more.']))
    const run = await speakingCrew(model).kickoff().started
    const events = run.events()
    await run.result()
    const late: RunEvent[] = []
    for await (const event of events) late.push(event)
    assert.deepEqual(deltasOf(late), ['Once more.'])
  })

  test('is retracted before the entry that records the failed call', async () => {
    const heard = gate()
    const run = await speakingCrew(speakingModel(() => ['Onc', heard.wait, new Error('no')])).kickoff().started
    const events = await eventsOf(run, (event) => event.type === 'text.delta' && heard.open())
    assert.deepEqual(events.slice(2).map(shown), ['Onc', '(reset)', 'model.failed', 'run.failed'])
  })

  test('is retracted if its reply could not be recorded, and the events end with that error', async () => {
    const heard = gate()
    const inner = newStore()
    const append: Store['append'] = (lease, after, batch) =>
      after === 2 ? Promise.reject(new Error('the disk is full')) : inner.append(lease, after, batch)
    const model = speakingModel(() => ['Done.', heard.wait])
    const run = await speakingCrew(model, { store: { ...inner, append } }).kickoff().started
    const events: RunEvent[] = []
    const following = async (): Promise<void> => {
      for await (const event of run.events()) {
        events.push(event)
        if (event.type === 'text.delta') heard.open()
      }
    }
    await assert.rejects(following(), { code: 'STORE_FAILED' })
    assert.deepEqual(deltasOf(events), ['Done.', '(reset)'])
  })

  test('is retracted if the run is stopped in the middle', async () => {
    const stop = new AbortController()
    const run = await speakingCrew(speakingModel(() => ['Onc', new Promise(() => {})])).kickoff({ signal: stop.signal })
      .started
    const events = await eventsOf(run, (event) => event.type === 'text.delta' && stop.abort())
    assert.deepEqual(events.slice(2).map(shown), ['Onc', '(reset)', 'run.suspended'])
  })
})

describe('a model', () => {
  test('does not stream without a listener', async () => {
    const model = speakingModel(() => ['Done.'])
    await speakingCrew(model).kickoff()
    assert.deepEqual(model.asked, ['whole'])
  })

  test('stops streaming once the last listener has left', async () => {
    const heard = gate()
    const model = speakingModel((call) => (call === 1 ? ['Once', heard.wait] : ['Twice']))
    const run = await speakingCrew(model, { tasks: ['one', 'two'] }).kickoff().started
    for await (const event of run.events()) if (event.type === 'text.delta') break
    heard.open()
    await run.result()
    assert.deepEqual(model.asked, ['streamed', 'whole'])
  })

  test('that cannot stream is received in one piece', async () => {
    const script = scriptedModel([{ when: /./, reply: 'All at once.' }])
    const run = await speakingCrew({ ...script, doStream: undefined } as unknown as typeof script).kickoff().started
    assert.deepEqual(deltasOf(await eventsOf(run)), ['All at once.'])
  })
})

describe('a stream that its model does not end', () => {
  test('is retracted, and its usage is counted beside that of the final reply', async () => {
    const whole = speakingModel(() => ['Done.'])
    async function* cut() {
      yield { type: 'text-start' as const, id: '0' }
      yield { type: 'text-delta' as const, id: '0', delta: 'Do' }
      const usage = { inputTokens: { total: 70 }, outputTokens: { total: 30 } }
      yield { type: 'finish' as const, finishReason: { unified: 'other' as const, raw: undefined }, usage }
    }
    const model = { ...whole, doStream: async () => ({ stream: ReadableStream.from(cut()) }) } as never as typeof whole
    const store = newStore()
    const run = await speakingCrew(model, { store }).kickoff({ id: 'cut' }).started
    assert.deepEqual(deltasOf(await eventsOf(run)), ['Do', '(reset)', 'Done.'])
    const { usage, tasks } = await run.result()
    const expected = { calls: 2, input: 77, output: 33 }
    assert.deepEqual([usage.spent, tasks[0]?.usage], [expected, expected])
    assert.deepEqual((await speakingCrew(whole, { store }).run('cut').view()).usage, expected)
  })
})

describe('a run that', () => {
  test('is resumed streams from its first model call on, after the entries of its earlier lives', async () => {
    const stop = new AbortController()
    const model = speakingModel(() => (stop.signal.aborted ? ['Once ', 'more.'] : [new Promise(() => {})]))
    const crew = speakingCrew(model)
    const first = await crew.kickoff({ id: 'r', signal: stop.signal }).started
    await eventsOf(first, (event) => event.type === 'task.started' && stop.abort())
    const run = await crew.resume('r').started
    const events: RunEvent[] = []
    for await (const event of run.events({ after: 3 })) events.push(event)
    assert.equal(deltasOf(events.filter((event) => event.type !== 'text.reset')).join(''), 'Once more.')
    assert.equal(model.asked.at(-1), 'streamed')
    assert.equal(events.find((event) => 'seq' in event)?.type, 'run.resumed')
    assert.equal(String(await run.result()), 'Once more.')
  })

  test('is derived from another streams as well', async () => {
    const crew = speakingCrew(
      speakingModel((call) => [`call ${call}`]),
      { tasks: ['one', 'two'] },
    )
    const { runId } = await crew.kickoff()
    const run = await crew.fork({ runId, from: 'two' }).started
    assert.notEqual(run.id, runId)
    assert.deepEqual(deltasOf(await eventsOf(run)), ['call 3'])
  })
})

test('model text never arrives before the entries that precede its call', () => {
  const listeners = createListeners()
  const listener = listeners.listen('r', { wake() {}, again: false })
  using live = listeners.streamReply('r', 'note#1/1', 2)
  live.onDelta('text', 'Once')
  assert.deepEqual([...listener.deltas(() => 1)], [])
  assert.deepEqual([...listener.deltas(() => 2)].map(shown), ['Once'])
})

test('a failed second try that was not received is not retracted', () => {
  const listeners = createListeners()
  const listener = listeners.listen('r', { wake() {}, again: false })
  using live = listeners.streamReply('r', 'note#1/1', 2)
  const heard: string[] = []
  const hear = (): void => void heard.push(...[...listener.deltas(() => 2)].map(shown))
  live.onDelta('text', 'Once')
  hear()
  live.reset()
  hear()
  live.onDelta('text', 'Twice')
  live.reset()
  hear()
  assert.deepEqual(heard, ['Once', '(reset)'])
})

test('a model that streams without a pause does not delay other entries', () => {
  const listeners = createListeners()
  const listener = listeners.listen('r', { wake() {}, again: false })
  using live = listeners.streamReply('r', 'note#1/1', 2)
  live.onDelta('text', 'Once')
  let passes = 0
  for (const _ of listener.deltas(() => 2)) {
    passes++
    live.onDelta('text', ' and again')
  }
  assert.equal(passes, 1)
})

test('a listener who asks the executing crew by id receives model text, and one of another crew only entries', async () => {
  const [heard, go] = [gate(), gate()]
  const store = newStore()
  const crew = speakingCrew(
    speakingModel(() => ['Once ', heard.wait, 'more.', go.wait]),
    { store },
  )
  const run = await crew.kickoff({ id: 'r' }).started
  const live = eventsOf(run, (event) => event.type === 'text.delta' && heard.open())
  const byId = eventsOf(crew.run('r'))
  const types: string[] = []
  for await (const event of crew.with({ store }).run('r').events()) {
    types.push(event.type)
    if (event.type === 'task.started') go.open()
  }
  assert.deepEqual(types, ['run.created', 'task.started', 'model.replied', 'task.completed', 'run.completed'])
  assert.ok(deltasOf(await live).length > 0)
  assert.equal(deltasOf(await byId).join(''), 'Once more.')
})

test('an unknown option of events is refused with the likeliest known one', async () => {
  const run = await speakingCrew(speakingModel(() => ['Done.'])).kickoff().started
  assert.throws(() => run.events({ afer: 3 } as object), { code: 'OPTION_UNKNOWN', message: /did you mean after/ })
  await run.result()
})

test('streamed text is kept only until it is recorded, however slow a listener is', () => {
  const listeners = createListeners()
  const listener = listeners.listen('r', { wake() {}, again: false })
  using live = listeners.streamReply('r', 'note#1/1', 2)
  live.onDelta('text', 'Once ')
  const reply = replyOf('Once more.')
  listeners.appended('r', [reply])
  assert.deepEqual([...listener.deltas(() => 2)], [])
  assert.deepEqual(
    [...listener.before('r', reply, true)],
    [{ type: 'text.delta', path: 'note#1/1', text: 'Once more.' }],
  )
})

// a server commits before its client has the reply
describe('a reply read from the store before its append returns', () => {
  test('is received once by a listener who has its beginning', () => {
    const listeners = createListeners()
    const listener = listeners.listen('r', { wake() {}, again: false })
    using live = listeners.streamReply('r', 'note#1/1', 2)
    live.onDelta('text', 'Once ')
    const heard = [...listener.deltas(() => 2)].map(shown)
    live.onDelta('text', 'more.')
    heard.push(...[...listener.before('r', replyOf('Once more.'), false)].map(shown))
    heard.push(...[...listener.deltas(() => 3)].map(shown))
    assert.deepEqual(heard, ['Once ', 'more.'])
  })

  test('is received once, before its entry, by a listener who has nothing of it', () => {
    const listeners = createListeners()
    const listener = listeners.listen('r', { wake() {}, again: false })
    using live = listeners.streamReply('r', 'note#1/1', 2)
    live.onDelta('text', 'Once more.')
    assert.deepEqual([...listener.before('r', replyOf('Once more.'), false)].map(shown), ['Once more.'])
    assert.deepEqual([...listener.deltas(() => 3)].map(shown), [])
  })

  test('does not hide the text of the same call when it is made again', () => {
    const listeners = createListeners()
    const listener = listeners.listen('r', { wake() {}, again: false })
    using live = listeners.streamReply('r', 'note#1/1', 4)
    live.onDelta('text', 'Again.')
    // an earlier entry, whose task a person undid by hand
    assert.deepEqual([...listener.before('r', replyOf('Once more.'), false)].map(shown), [])
    assert.deepEqual([...listener.deltas(() => 4)].map(shown), ['Again.'])
  })
})

function replyOf(text: string): EntryOf<'model.replied'> {
  const reply = { type: 'model.replied', seq: 3, path: 'note#1/1', parts: [{ type: 'text', text }] }
  return reply as unknown as EntryOf<'model.replied'>
}

async function eventsOf(run: Run, hear?: (event: RunEvent) => unknown): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run.events()) {
    events.push(event)
    hear?.(event)
  }
  return events
}

/** What was heard, in words: a thought in angle brackets; entries by their type. */
function shown(event: RunEvent): string {
  if (event.type === 'text.delta') return event.text
  if (event.type === 'reasoning.delta') return `<${event.text}>`
  return event.type === 'text.reset' ? '(reset)' : event.type
}

function deltasOf(events: readonly RunEvent[]): string[] {
  return events.filter((event) => !('seq' in event)).map(shown)
}

function isReply(event: RunEvent): event is EntryOf<'model.replied'> {
  return event.type === 'model.replied'
}

/** The entries without what differs from run to run: times and hashes. */
async function bodiesOf(store: Parameters<typeof entriesOf>[0]): Promise<string[]> {
  const times = new Set(['at', 'startedAt', 'prev', 'request', 'incarnation'])
  return (await entriesOf(store, 'r')).map((entry) =>
    JSON.stringify(entry, (key, value: unknown) => (times.has(key) ? undefined : value)),
  )
}
