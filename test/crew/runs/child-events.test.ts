// The events of a run tree in its own process: what models of child runs say, between the entries of the followed run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task, type Run, type RunEvent } from 'reprise'
import type { LanguageModelV4 } from '../../../src/models/resolve/resolve-model.ts'
import type { Store } from '../../../src/stores/store.ts'
import { entriesOf, newStore } from '../../engine/support.ts'
import { quiet } from '../../flows/support.ts'
import { busy, gate, speakingCrew, speakingModel, type Piece } from './speaking-model.ts'

function crewOf(name: string, tasks: readonly Task[], store = newStore()): Crew {
  return new Crew({ name, tasks, store, logger: quiet })
}

/** A crew whose only task, `inner`, is a crew that speaks. */
function nesting(model: LanguageModelV4, { tasks = ['note'], store = newStore() } = {}): Crew {
  return crewOf('outer', [new Task({ name: 'inner', crew: speakingCrew(model, { tasks, store }) })], store)
}

function speaker(say: (call: number) => Iterable<Piece>): Agent {
  return new Agent({ role: 'Clerk', goal: 'Speak', model: speakingModel(say) })
}

describe('a listener', () => {
  test('receives what a nested crew says while it does, between the entries of its task', async () => {
    const heard = gate()
    const run = await nesting(speakingModel(() => ['Once ', heard.wait, 'more.'])).kickoff().started
    const events = await eventsOf(run, (event) => event.type === 'text.delta' && heard.open())
    assert.deepEqual(events.map(shown), [
      'run.created',
      'task.started',
      'inner#1/note#1/1: Once ',
      'inner#1/note#1/1: more.',
      'inner#1/note#1/1: (end)',
      'task.completed',
      'run.completed',
    ])
  })

  test('of a flow receives what its agents and crews say, at every depth', async () => {
    const store = newStore()
    const deep = crewOf('deep', [new Task({ name: 'inner', crew: speakingCrew(speakingModel(() => ['Deep.'])) })])
    const flow = new Flow({
      name: 'talks',
      store,
      logger: quiet,
      async run(f) {
        await f.run(
          speaker(() => [{ thought: 'Hm.' }, 'Title.']),
          'Find a title',
          { name: 'title' },
        )
        await f.run(deep, {}, { key: 'rye' })
      },
    })
    assert.deepEqual(deltasOf(await eventsOf(await flow.kickoff().started)), [
      'title#1/answer#1/1: <Hm.>',
      'title#1/answer#1/1: Title.',
      'title#1/answer#1/1: (end)',
      'deep[rye]#1/inner#1/note#1/1: Deep.',
      'deep[rye]#1/inner#1/note#1/1: (end)',
    ])
  })

  test('receives what a crew says that a function kicks off, and so does a listener to that crew', async () => {
    const [go, store] = [gate(), newStore()]
    const inner = speakingCrew(
      speakingModel(() => [go.wait, 'Once.']),
      { store },
    )
    const inside = Promise.withResolvers<Promise<RunEvent[]>>()
    const kick = new Task({
      name: 'kick',
      effect: 'idempotent',
      async run() {
        const started = inner.kickoff({ id: 'intro' })
        inside.resolve(eventsOf(await started.started))
        go.open()
        return String(await started)
      },
    })
    const run = await crewOf('outer', [kick], store).kickoff().started
    assert.deepEqual(deltasOf(await eventsOf(run)), [
      'kick#1/1.0/intro#1/note#1/1: Once.',
      'kick#1/1.0/intro#1/note#1/1: (end)',
    ])
    assert.deepEqual(deltasOf(await inside.promise), ['note#1/1: Once.'])
  })

  test('receives what parallel children say as they say it', async () => {
    const [one, two] = [gate(), gate()]
    const flow = new Flow({
      name: 'both',
      store: newStore(),
      logger: quiet,
      run: (f) =>
        Promise.all([
          f.run(
            speaker(() => ['One ', two.wait, 'done.']),
            'Speak',
            { name: 'one' },
          ),
          f.run(
            speaker(() => [one.wait, 'Two ', 'done.']),
            'Speak',
            { name: 'two' },
          ),
        ]),
    })
    const events = await eventsOf(await flow.kickoff().started, (event) => {
      if (event.type !== 'text.delta') return
      if (event.text === 'One ') one.open()
      if (event.path.startsWith('two')) two.open()
    })
    assert.equal(textAt(events, 'one#1/answer#1/1'), 'One done.')
    assert.equal(textAt(events, 'two#1/answer#1/1'), 'Two done.')
    assert.deepEqual(deltasOf(events).slice(0, 2), ['one#1/answer#1/1: One ', 'two#1/answer#1/1: Two '])
  })

  test('who never reads receives all of it afterwards, in the order of what caused it', async () => {
    const run = await nesting(
      speakingModel((call) => [`Call ${call}.`]),
      { tasks: ['one', 'two'] },
    ).kickoff().started
    const events = run.events()
    await run.result()
    const late: RunEvent[] = []
    for await (const event of events) late.push(event)
    assert.deepEqual(late.map(shown), [
      'run.created',
      'task.started',
      'inner#1/one#1/1: Call 1.',
      'inner#1/one#1/1: (end)',
      'inner#1/two#1/1: Call 2.',
      'inner#1/two#1/1: (end)',
      'task.completed',
      'run.completed',
    ])
  })

  test('who joins in the middle receives the step in progress from its beginning, and no finished one', async () => {
    const [first, go] = [gate(), gate()]
    const model = speakingModel((call) => (call === 3 ? ['Call ', go.wait, '3.'] : [`Call ${call}.`]))
    const store = newStore()
    const crew = crewOf(
      'outer',
      [
        new Task({ name: 'before', crew: speakingCrew(model, { store }) }),
        new Task({ name: 'inner', crew: speakingCrew(model, { store, tasks: ['one', 'two'] }) }),
      ],
      store,
    )
    const run = await crew.kickoff().started
    const early = eventsOf(run, (event) => event.type === 'text.delta' && event.text === 'Call ' && first.open())
    await first.wait
    const late = await eventsOf(run, (event) => event.type === 'text.delta' && event.text === 'Call ' && go.open())
    assert.deepEqual(deltasOf(late), [
      'inner#1/one#1/1: Call 2.',
      'inner#1/one#1/1: (end)',
      'inner#1/two#1/1: Call ',
      'inner#1/two#1/1: 3.',
      'inner#1/two#1/1: (end)',
    ])
    assert.equal(deltasOf(await early).length, 7)
  })

  test('who joins after the end receives only entries', async () => {
    const run = await nesting(speakingModel(() => ['Done.'])).kickoff().started
    await run.result()
    assert.deepEqual(deltasOf(await eventsOf(run)), [])
  })

  test('who comes back after an entry receives the step in progress again, each reply after a reset', async () => {
    const [heard, away, go] = [gate(), gate(), gate()]
    const model = speakingModel((call) => (call === 1 ? ['Once ', away.wait, 'more.'] : ['And ', go.wait, 'again.']))
    const run = await nesting(model, { tasks: ['one', 'two'] }).kickoff().started
    for await (const event of run.events()) if (event.type === 'text.delta') break
    const other = eventsOf(run, (event) => event.type === 'text.delta' && event.text === 'And ' && heard.open())
    away.open()
    await heard.wait
    const events: RunEvent[] = []
    for await (const event of run.events({ after: 2 })) {
      events.push(event)
      if (event.type === 'text.delta' && event.text === 'And ') go.open()
    }
    assert.deepEqual(events.map(shown), [
      'inner#1/one#1/1: (reset)',
      'inner#1/one#1/1: Once more.',
      'inner#1/one#1/1: (end)',
      'inner#1/two#1/1: (reset)',
      'inner#1/two#1/1: And ',
      'inner#1/two#1/1: again.',
      'inner#1/two#1/1: (end)',
      'task.completed',
      'run.completed',
    ])
    await other
  })

  test('of another crew object receives only the entries of the run', async () => {
    const store = newStore()
    const crew = nesting(
      speakingModel(() => ['Done.']),
      { store },
    )
    const run = await crew.kickoff({ id: 'r' }).started
    const [here, there] = await Promise.all([eventsOf(run), eventsOf(crew.with({ store }).run('r'))])
    assert.deepEqual(deltasOf(there), [])
    assert.deepEqual(
      there,
      here.filter((event) => 'seq' in event),
    )
  })

  test('changes nothing in the journals of a run and its child runs', async () => {
    const bodies = async (store: Store): Promise<string[]> => {
      const times = new Set(['at', 'startedAt', 'prev', 'request', 'incarnation'])
      const all = [...(await entriesOf(store, 'r')), ...(await entriesOf(store, 'r/inner#1'))]
      return all.map((entry) => JSON.stringify(entry, (key, value: unknown) => (times.has(key) ? undefined : value)))
    }
    const say = (call: number): Piece[] => (call === 1 ? ['Once', busy()] : [{ thought: 'Hm.' }, 'Once ', 'more.'])
    const [heard, unheard] = [newStore(), newStore()]
    const [streamed, whole] = [speakingModel(say), speakingModel(say)]
    await eventsOf(await nesting(streamed, { store: heard }).kickoff({ id: 'r' }).started)
    await nesting(whole, { store: unheard }).kickoff({ id: 'r' })
    assert.deepEqual(
      [streamed.asked, whole.asked],
      [
        ['streamed', 'streamed'],
        ['whole', 'whole'],
      ],
    )
    assert.deepEqual(await bodies(heard), await bodies(unheard))
  })
})

for (const [pace, turns] of Object.entries({ 'as quick as it gets': 0, 'one step late': 1, 'far behind': 200 })) {
  test(`for a listener (${pace}), the pieces of each path of a child run add up to its reply`, async () => {
    const words = (call: number) => Array.from({ length: 50 }, (_, index) => `${call}.${index} `)
    const model = speakingModel((call) => (call === 2 ? [...words(9), busy()] : words(call)))
    const store = newStore()
    const run = await nesting(model, { tasks: ['one', 'two', 'three'], store }).kickoff({ id: 'r' }).started
    const ended: string[] = []
    const said = new Map<string, string>()
    for await (const event of run.events()) {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
      if (event.type === 'text.delta') said.set(event.path, (said.get(event.path) ?? '') + event.text)
      if (event.type === 'text.reset') said.delete(event.path)
      if (event.type === 'text.end') ended.push(said.get(event.path) ?? '')
    }
    assert.deepEqual(ended, [words(1).join(''), words(3).join(''), words(4).join('')])
  })
}

describe('a failed try in a child run', () => {
  test('is retracted before the next one streams', async () => {
    const heard = gate()
    const model = speakingModel((call) => (call === 1 ? ['Onc', heard.wait, busy()] : ['Once more.']))
    const run = await nesting(model).kickoff().started
    const events = await eventsOf(run, (event) => event.type === 'text.delta' && heard.open())
    assert.deepEqual(deltasOf(events), [
      'inner#1/note#1/1: Onc',
      'inner#1/note#1/1: (reset)',
      'inner#1/note#1/1: Once more.',
      'inner#1/note#1/1: (end)',
    ])
  })

  test('is retracted before the entry with which the run fails', async () => {
    const heard = gate()
    const run = await nesting(speakingModel(() => ['Onc', heard.wait, new Error('no')])).kickoff().started
    const events = await eventsOf(run, (event) => event.type === 'text.delta' && heard.open())
    assert.deepEqual(events.slice(2).map(shown), ['inner#1/note#1/1: Onc', 'inner#1/note#1/1: (reset)', 'run.failed'])
  })
})

describe('a run that is stopped while a child run speaks', () => {
  test('retracts it, and streams from there when it is resumed', async () => {
    const stop = new AbortController()
    const model = speakingModel((call) => {
      if (call === 1) return ['One.']
      return call === 2 ? ['Tw', new Promise(() => {})] : ['Two.']
    })
    const crew = nesting(model, { tasks: ['one', 'two'] })
    const first = await crew.kickoff({ id: 'r', signal: stop.signal }).started
    const before = await eventsOf(first, (event) => event.type === 'text.delta' && event.text === 'Tw' && stop.abort())
    assert.deepEqual(before.slice(-3).map(shown), ['inner#1/two#1/1: Tw', 'inner#1/two#1/1: (reset)', 'run.suspended'])
    const run = await crew.resume('r').started
    const events: RunEvent[] = []
    for await (const event of run.events({ after: 3 })) events.push(event)
    assert.equal(textAt(events, 'inner#1/one#1/1'), 'One.')
    assert.equal(textAt(events, 'inner#1/two#1/1'), 'Two.')
    assert.deepEqual(events.filter((event) => 'seq' in event).map(shown), [
      'run.resumed',
      'task.completed',
      'run.completed',
    ])
    assert.deepEqual(model.asked, ['streamed', 'streamed', 'streamed'])
  })
})

describe('a model of a child run', () => {
  test('does not stream without a listener', async () => {
    const model = speakingModel(() => ['Done.'])
    await nesting(model).kickoff()
    assert.deepEqual(model.asked, ['whole'])
  })

  test('does not stream for a listener to a sibling', async () => {
    const [one, two] = [speakingModel(() => ['One.']), speakingModel(() => ['Two.'])]
    const store = newStore()
    const [first, second] = [speakingCrew(one, { store }), speakingCrew(two, { store })]
    const kick = new Task({
      name: 'kick',
      effect: 'idempotent',
      async run() {
        const heard = first.kickoff({ id: 'first' })
        const events = eventsOf(await heard.started)
        await second.kickoff({ id: 'second' })
        await events
        return String(await heard)
      },
    })
    await crewOf('outer', [kick], store).kickoff()
    assert.deepEqual([one.asked, two.asked], [['streamed'], ['whole']])
  })

  test('stops streaming once the last listener has left', async () => {
    const heard = gate()
    const model = speakingModel((call) => (call === 1 ? ['Once', heard.wait] : ['Twice']))
    const run = await nesting(model, { tasks: ['one', 'two'] }).kickoff().started
    for await (const event of run.events()) if (event.type === 'text.delta') break
    heard.open()
    await run.result()
    assert.deepEqual(model.asked, ['streamed', 'whole'])
  })
})

async function eventsOf(run: Run, hear?: (event: RunEvent) => unknown): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run.events()) {
    events.push(event)
    hear?.(event)
  }
  return events
}

/** An entry by its type, a delta with its path. Reasoning is in angle brackets. */
function shown(event: RunEvent): string {
  switch (event.type) {
    case 'text.delta':
      return `${event.path}: ${event.text}`
    case 'reasoning.delta':
      return `${event.path}: <${event.text}>`
    case 'text.reset':
      return `${event.path}: (reset)`
    case 'text.end':
      return `${event.path}: (end)`
    default:
      return event.type
  }
}

function deltasOf(events: readonly RunEvent[]): string[] {
  return events.filter((event) => !('seq' in event)).map(shown)
}

/** The text of a path, as a page would show it. */
function textAt(events: readonly RunEvent[], path: string): string {
  let text = ''
  for (const event of events) {
    if (!('path' in event) || event.path !== path) continue
    if (event.type === 'text.reset') text = ''
    if (event.type === 'text.delta') text += event.text
  }
  return text
}
