// Flows that wait: for people, for events, and for time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow, type RepriseError } from 'reprise'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { entriesOf, listening, quiet } from './support.ts'

describe('flow.ask', () => {
  test('flow.ask suspends the run until a person answers, and returns the answer as its schema parses it', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: async (flow) => {
        const day = await flow.ask('day', { text: 'Which day?', about: { n: 1 } }, z.object({ day: z.coerce.date() }))
        return day.day.getFullYear()
      },
    })
    const asked = await work.kickoff({ id: 'r' })
    assert.equal(asked.status, 'suspended')
    const [question] = asked.questions
    assert.equal(question?.kind, 'value')
    assert.deepEqual(question.about, { n: 1 })
    await assert.rejects(work.run('r').answer('q1', { decision: 'approve' } as never), { code: 'ANSWER_INVALID' })
    await work.run('r').answer('q1', { decision: 'answer', value: { day: '2031-05-06' } })
    assert.equal((await work.resume('r')).output, 2031)
  })

  test('flow.ask asks again, with the reason, if the answer does not fit', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) => flow.ask('count', 'How many?', z.number().min(1)),
    })
    await work.kickoff({ id: 'r' })
    await work.run('r').answer('q1', { decision: 'answer', value: 0 })
    const again = await work.resume('r')
    assert.match(again.questions[0]?.text ?? '', /^The answer does not fit: .*>=1.* How many\?$/)
    await work.run('r').answer('q2', { decision: 'answer', value: 3 })
    assert.equal((await work.resume('r')).output, 3)
  })

  test('flow.ask throws if a person answers with fail', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) => flow.ask('sure', 'Sure?').catch((error: Error) => error.message),
    })
    await work.kickoff({ id: 'r' })
    await work.run('r').answer('q1', { decision: 'fail', reason: 'not us' })
    assert.match(String((await work.resume('r')).output), /not us/)
  })

  test('flow.ask returns the answer of onQuestion at once', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: async (flow) => {
        const answers = await Promise.all([1, 2, 3].map((key) => flow.ask('n', `${key}?`, z.number(), { key })))
        return answers.reduce((sum, answer) => sum + answer, 0)
      },
    })
    const result = await work.kickoff({
      onQuestion: ({ text }) => ({ decision: 'answer', value: Number.parseInt(text, 10) }),
    })
    assert.equal(result.output, 6)
  })

  test('flow.ask returns undefined after its timeout, and withdraws the question', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      run: async (flow) => {
        const answer = await flow.ask('sure', 'Sure?', z.boolean(), { timeout: { seconds: 0.05 } })
        return answer === undefined ? 'no answer' : 'an answer'
      },
    })
    const result = await work.kickoff({ id: 'r' })
    assert.equal(result.output, 'no answer')
    assert.deepEqual(result.questions, [])
    assert.equal((await work.resume('r')).output, 'no answer')
    await assert.rejects(
      work.run('r').answer('q1', { decision: 'answer', value: true }),
      /QUESTION_NOT_FOUND|withdrawn/,
    )
  })
})

describe('flow.event', () => {
  const collecting = (store = newStore(), logger = quiet) =>
    new Flow({
      name: 'f',
      store,
      logger,
      run: async (flow) => {
        const texts: string[] = []
        for (let n = 0; n < 3; n++) {
          const { text } = await flow.event('message', z.object({ text: z.string() }), { key: n })
          texts.push(text)
        }
        return texts
      },
    })

  test('flow.event returns each event once, in the order of sending, even if it was sent early', async () => {
    const work = collecting()
    const first = await work.kickoff({ id: 'r' })
    assert.match(String(first), /waits for an event/)
    for (const text of ['a', 'b']) await work.run('r').send('message', { text })
    await work.resume('r')
    await work.run('r').send('message', { text: 'c' })
    assert.deepEqual((await work.resume('r')).output, ['a', 'b', 'c'])
  })

  test('flow.event returns an event with an id once', async () => {
    const work = collecting()
    await work.kickoff({ id: 'r' })
    for (const id of ['1', '1', '2', '1', '3']) await work.run('r').send('message', { text: id }, { id })
    assert.deepEqual((await work.resume('r')).output, ['1', '2', '3'])
  })

  test('flow.event returns an event with an id once, even if it arrives twice before the run continues', async () => {
    const store = newStore()
    const work = collecting(store)
    await work.kickoff({ id: 'r' })
    const body = (id: string): string =>
      JSON.stringify({ type: 'event', name: 'message', value: { text: id }, id: `event ${id}` })
    for (const [index, id] of ['1', '2', '1', '3'].entries())
      await store.post('r', { id: `event:${index}`, at: new Date().toISOString(), body: body(id) })
    assert.deepEqual((await work.resume('r')).output, ['1', '2', '3'])
    assert.equal((await entriesOf(store, 'r')).filter(({ type }) => type === 'event.received').length, 3)
  })

  test('flow.event skips an event that does not fit, with a warning', async () => {
    const { logger, warnings } = listening()
    const work = collecting(newStore(), logger)
    await work.kickoff({ id: 'r' })
    for (const value of [{ text: 'a' }, { words: 'b' }, { text: 'c' }, { text: 'd' }])
      await work.run('r').send('message', value)
    assert.deepEqual((await work.resume('r')).output, ['a', 'c', 'd'])
    assert.match(warnings.join(), /event message at entry \d+ does not fit step message\[1\]: text/)
  })

  test('a flow that has ended refuses events, and a value that is not JSON is refused', async () => {
    const work = new Flow({ name: 'f', store: newStore(), logger: quiet, run: async () => 1 })
    await work.kickoff({ id: 'r' })
    await assert.rejects(work.run('r').send('late', 1), { code: 'RUN_ENDED' })
    await assert.rejects(work.run('r').send('bad', 1n as never), { code: 'INPUT_INVALID', message: /is a bigint/ })
  })

  test('flow.event receives an event that is sent while the flow is executed', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: async (flow) => {
        const [value] = await Promise.all([flow.event('go', z.number()), flow.sleep('wait', { seconds: 0.2 })])
        return value
      },
    })
    const running = work.kickoff({ id: 'r' })
    await (await running.started).send('go', 7)
    assert.equal((await running).output, 7)
  })
})

describe('flow.sleep', () => {
  test('a short flow.sleep continues in the same process', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      run: async (flow) => {
        const before = flow.now().getTime()
        await flow.sleep('nap', { seconds: 0.05 })
        return flow.now().getTime() - before >= 45
      },
    })
    assert.equal((await work.kickoff({ id: 'r' })).output, true)
    assert.ok((await entriesOf(store, 'r')).every(({ type }) => type !== 'run.suspended'))
  })

  test('a long flow.sleep suspends the run until then', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      run: (flow) => flow.sleep('night', { hours: 8 }),
    })
    const asleep = await work.kickoff({ id: 'r' })
    assert.equal(asleep.status, 'suspended')
    assert.match(String(asleep), /sleeps until 20\d\d-/)
    const outcome = await work.advance('r')
    assert.equal(outcome.status, 'waiting')
    const at = 'at' in outcome ? (outcome.at ?? 0) : 0
    assert.ok(Math.abs(at - Date.now() - 8 * 3_600_000) < 60_000)
    // an edit ends the sleep early
    await work.run('r').edit('night', null)
    assert.equal((await work.resume('r')).status, 'completed')
  })

  test('flow.sleep refuses a time that a journal cannot record', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const times = [new Date(Number.NaN), new Date(8.64e15), new Date(-1e15), { days: 36_526 }, { seconds: 1e14 }]
        const sleeps = times.map((time, key) => flow.sleep('night', time, { key }))
        const asked = flow.ask('sure', 'Sure?', z.boolean(), { timeout: { seconds: 1e12 } })
        const ended = await Promise.allSettled([...sleeps, asked])
        return ended.map((one) => (one.status === 'rejected' ? (one.reason as RepriseError).code : one.status))
      },
    })
    assert.deepEqual(
      (await work.kickoff({ id: 'r' })).output,
      Array.from({ length: 6 }, () => 'OPTION_INVALID'),
    )
  })

  test('flow.sleep beside a question suspends the run with both; whichever comes first continues it', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      run: (flow) => Promise.race([flow.sleep('night', { hours: 8 }).then(() => 'slept'), flow.ask('go', 'Go on?')]),
    })
    const waiting = await work.kickoff({ id: 'r' })
    assert.equal(waiting.questions.length, 1)
    assert.equal((await work.advance('r')).status, 'waiting')
    await work.run('r').answer('q1', { decision: 'answer', value: 'now' })
    const done = await work.resume('r')
    assert.equal(done.output, 'now')
  })

  test('flow.sleep within a child flow suspends the outer flow until then', async () => {
    const inner = new Flow({ name: 'inner', logger: quiet, run: (flow) => flow.sleep('night', { hours: 8 }) })
    const outer = new Flow({ name: 'outer', store: newStore(), logger: quiet, run: (flow) => flow.run(inner) })
    await outer.kickoff({ id: 'r' })
    const outcome = await outer.advance('r')
    assert.ok(outcome.status === 'waiting' && outcome.at !== undefined && outcome.at > Date.now() + 7 * 3_600_000)
  })
})
