// Starting, continuing, ending and making runs from the page, with their plans.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { claimed, workOnce } from '../workers/worker-crews.ts'
import { claims, eventsOf, posted, problemOf, served, type Client } from './support.ts'

const inputs = { notes: 'P-77' }

describe('with the code of a crew, a studio', () => {
  test('plans a kickoff without spending, starts it here, accepts the answer and continues it', async () => {
    const crew = claims()
    await using studio = await served({ crews: [crew], by: 'Grace' })
    const plan = await studio.post('POST /crews/{crew}/plan', '/crews/claims/plan', { inputs })
    assert.deepEqual(plan.execute, ['facts', 'settle'])
    assert.match(plan.text, /^A new run: 2 of 2 tasks are executed/)
    assert.deepEqual((await studio.get('GET /runs', '/runs')).runs, [])
    const body = { how: 'here', id: 'r', inputs }
    const started = await studio.post('POST /crews/{crew}/runs', '/crews/claims/runs', body)
    assert.deepEqual(started, { runId: 'r', how: 'here' })
    await rested(studio, 'r')
    const at = '/runs/r/questions/q1'
    const answered = await studio.post('POST /runs/{run}/questions/{question}', at, { decision: 'approve', note: 'ok' })
    assert.deepEqual(answered, { runId: 'r', question: 'q1', questions: [], continues: 'here' })
    const late = await problemOf(await studio.send(at, posted({ decision: 'approve' })))
    assert.deepEqual([late.status, late.code], [409, 'QUESTION_ANSWERED'])
    await rested(studio, 'r')
    const run = await studio.get('GET /runs/{run}', '/runs/r')
    assert.deepEqual([run.status, run.raw], ['completed', 'Paid for P-77'])
    const { entries } = await studio.get('GET /runs/{run}/entries', '/runs/r/entries')
    const answer = entries.find((entry) => entry.type === 'question.answered')
    assert.deepEqual(answer?.answer, { decision: 'approve', note: 'ok', by: 'Grace' })
  })

  test('refuses an answer that does not fit, and names the allowed ones', async () => {
    const crew = claims()
    await crew.kickoff({ id: 'r', inputs })
    await using studio = await served({ crews: [crew] })
    const send = async (question: string, body: object) => {
      const { status, code } = await problemOf(await studio.send(`/runs/r/questions/${question}`, posted(body)))
      return `${status} ${code}`
    }
    assert.equal(await send('q1', { decision: 'maybe' }), '400 ANSWER_INVALID')
    assert.equal(await send('q1', { decision: 'deny' }), '400 ANSWER_INVALID')
    assert.equal(await send('q9', { decision: 'approve' }), '404 QUESTION_NOT_FOUND')
    assert.equal((await studio.get('GET /questions', '/questions')).questions.length, 1)
  })

  test('replays from a task, forks with edited inputs and outputs, and refreshes, each as planned', async () => {
    const crew = claims()
    await crew.kickoff({ id: 'r', inputs })
    await crew.run('r').answer('q1', { decision: 'approve' })
    await crew.resume('r')
    await using studio = await served({ crews: [crew] })
    const plan = (body: object) => studio.post('POST /runs/{run}/plan', '/runs/r/plan', body)
    assert.deepEqual((await plan({ of: 'replay', task: 'settle' })).execute, ['settle'])
    const outputs = { facts: { policy: 'P-99', issue: 'fire' } }
    const edited = await plan({ of: 'fork', outputs, by: 'Ada', id: 'f' })
    assert.deepEqual(
      edited.tasks.map(({ task, action }) => [task, action]),
      [
        ['facts', 'edit'],
        ['settle', 'execute'],
      ],
    )
    assert.deepEqual((await plan({ of: 'fork', inputs: { notes: 'P-5' } })).execute, ['facts', 'settle'])
    assert.deepEqual((await plan({ of: 'refresh' })).execute, [])
    assert.equal((await studio.get('GET /runs', '/runs')).runs.length, 1)

    await studio.post('POST /runs/{run}/replay', '/runs/r/replay', { task: 'settle', id: 'p' })
    await studio.post('POST /runs/{run}/fork', '/runs/r/fork', { outputs, by: 'Ada', id: 'f' })
    const fresh = await studio.post('POST /runs/{run}/refresh', '/runs/r/refresh', {})
    assert.equal(fresh.runId, 'r')
    for (const id of ['p', 'f']) await rested(studio, id)
    const replayed = await studio.get('GET /runs/{run}', '/runs/p')
    assert.deepEqual([replayed.parent, replayed.raw], [{ runId: 'r', from: 'settle', deleted: false }, 'Paid for P-77'])
    const fork = await studio.get('GET /runs/{run}', '/runs/f')
    assert.deepEqual([fork.tasks[0]?.status, fork.raw], ['edited', 'Paid for P-99'])
    const { given } = await studio.get('GET /runs/{run}/timeline', '/runs/f/timeline')
    assert.deepEqual(
      given.map(({ task, as, by }) => [task, as, by]),
      [['facts', 'edited', 'Ada']],
    )
    const bad = await problemOf(await studio.send('/runs/r/fork', posted({ outputs: { facts: { policy: 7 } } })))
    assert.equal(bad.status, 400)
    assert.equal((await problemOf(await studio.send('/runs/r/replay', posted({ task: 'x' })))).code, 'TASK_NOT_FOUND')
  })

  test('puts a run into the queue, for now or for later, and cancels it', async () => {
    const crew = claims()
    await using studio = await served({ crews: [crew], by: 'Grace' })
    const body = { how: 'queue', id: 'q', inputs, delay: 3_600, priority: 'high' }
    assert.deepEqual(await studio.post('POST /crews/{crew}/runs', '/crews/claims/runs', body), {
      runId: 'q',
      how: 'queue',
    })
    const queued = await studio.get('GET /runs/{run}', '/runs/q')
    assert.ok(queued.status === 'queued' && Date.parse(queued.dueAt ?? '') > Date.now())
    await studio.post('POST /runs/{run}/cancel', '/runs/q/cancel', {})
    assert.equal((await studio.get('GET /runs/{run}', '/runs/q')).status, 'cancelled')
    const { entries } = await studio.get('GET /runs/{run}/entries', '/runs/q/entries')
    assert.equal(entries.at(-1)?.type === 'run.cancelled' && entries.at(-1), entries.at(-1))
    assert.equal((entries.at(-1) as { by?: string }).by, 'Grace')
    const again = await problemOf(await studio.send('/runs/q/cancel', posted({})))
    assert.deepEqual([again.status, again.code], [409, 'RUN_ENDED'])
  })

  test('suspends its active runs when it is closed, so that they can be resumed', async () => {
    const store = memoryStore()
    const begun = Promise.withResolvers<void>()
    const run = ({ signal }: { signal: AbortSignal }): Promise<string> => {
      begun.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    }
    const crew: Crew = new Crew({ name: 'slow', store, tasks: [new Task({ name: 'work', effect: 'read', run })] })
    const studio = await served({ crews: [crew] })
    await studio.post('POST /crews/{crew}/runs', '/crews/slow/runs', { how: 'here', id: 'r' })
    await begun.promise
    await studio[Symbol.asyncDispose]()
    assert.equal((await crew.run('r').view()).status, 'stopped')
  })

  test('refuses two crews of one name, and crews of two stores unless one is chosen', async () => {
    const store = memoryStore()
    await assert.rejects(served({ crews: [claims(store), claims(store)] }), {
      code: 'OPTION_INVALID',
      message: /two crews are named claims/,
    })
    const apart = [claims(memoryStore()), claims(memoryStore(), { name: 'other' })]
    await assert.rejects(served({ crews: apart }), { code: 'OPTION_INVALID', message: /a studio shows one store/ })
    await using studio = await served({ crews: apart, store })
    await studio.post('POST /crews/{crew}/runs', '/crews/other/runs', { how: 'queue', id: 'r', inputs })
    assert.equal((await store.row('r'))?.crew, 'other')
  })
})

test('a studio retries what failed, and takes what became of renamed and removed tasks, as the library does', async () => {
  const store = memoryStore()
  let isDown = true
  const fetching = (name: string): Task =>
    new Task({
      name,
      effect: 'read',
      version: '1',
      run() {
        if (isDown && name === 'fetch') throw new Error('the net is down')
        return name
      },
    })
  const crewOf = (...names: readonly string[]): Crew =>
    new Crew({ name: 'fetching', store, tasks: names.map(fetching) as [Task, ...Task[]] })
  const old = crewOf('read', 'fetch')
  await assert.rejects(old.kickoff({ id: 'r' }), { code: 'TASK_FAILED' })
  isDown = false
  {
    await using studio = await served({ crews: [old] })
    const retry = { retry: 'failed' }
    const plan = await studio.post('POST /runs/{run}/plan', '/runs/r/plan', { of: 'fork', ...retry })
    assert.deepEqual(plan.execute, ['fetch'])
    await studio.post('POST /runs/{run}/fork', '/runs/r/fork', { id: 'f', ...retry })
    await rested(studio, 'f')
    assert.equal((await old.run('f').view()).status, 'completed')
    const again = await problemOf(await studio.send('/runs/f/fork', posted(retry)))
    assert.deepEqual([again.status, again.code], [400, 'OPTION_INVALID'])
  }
  const decided = { renamed: { read: 'look' }, removed: ['fetch'] }
  await using studio = await served({ crews: [crewOf('look')] })
  for (const kind of ['fork', 'refresh'] as const) {
    const plan = await studio.post('POST /runs/{run}/plan', '/runs/f/plan', { of: kind, ...decided })
    assert.deepEqual([plan.execute, plan.tasks.map(({ task }) => task)], [[], ['look']], kind)
  }
  await studio.post('POST /runs/{run}/fork', '/runs/f/fork', { id: 'g', ...decided })
  await rested(studio, 'g')
  assert.equal((await studio.get('GET /runs/{run}', '/runs/g')).raw, 'read')
})

describe('with a store alone, a studio', () => {
  test('shows runs, answers and cancels, and refuses the rest because the code is missing', async () => {
    const store = memoryStore()
    const crew = claims(store)
    await crew.kickoff({ id: 'r', inputs })
    await crew.kickoff({ id: 'c', inputs })
    await using studio = await served({ store })
    assert.deepEqual((await studio.get('GET /studio', '/studio')).crews, [])
    const run = await studio.get('GET /runs/{run}', '/runs/r')
    assert.deepEqual([run.code, run.can], [false, ['answer', 'cancel']])
    assert.deepEqual((await studio.get('GET /questions', '/questions')).questions.length, 2)
    await studio.post('POST /runs/{run}/questions/{question}', '/runs/r/questions/q1', { decision: 'approve' })
    await studio.post('POST /runs/{run}/cancel', '/runs/c/cancel', { by: 'Ada' })
    assert.equal((await crew.run('c').view()).status, 'cancelled')
    for (const [path, body] of [
      ['/runs/r/plan', { of: 'resume' }],
      ['/runs/r/replay', { task: 'facts' }],
      ['/runs/r/fork', {}],
      ['/runs/r/refresh', {}],
      ['/runs/r/resume', { how: 'here' }],
      ['/crews/claims/runs', { how: 'queue' }],
    ] as const) {
      const { status, code } = await problemOf(await studio.send(path, posted(body)))
      assert.deepEqual([status, code], [409, 'NO_CODE'], path)
    }
    // the answer is what a worker waits for
    assert.deepEqual(claimed(await workOnce([crew])), ['r'])
    assert.equal((await studio.get('GET /runs/{run}', '/runs/r')).raw, 'Paid for P-77')
  })

  test('has a worker continue a run that was stopped, and one that failed', async () => {
    const store = memoryStore()
    const crew = claims(store)
    await crew.kickoff({ id: 'stopped', inputs, through: 'facts' })
    let down = true
    const model = scriptedModel([
      { when: () => down, error: 'the provider is down' },
      { when: 'Say', reply: 'Said' },
    ])
    const agent = new Agent({ role: 'A', goal: 'Help', model, maxRetries: 0 })
    const fails: Crew = new Crew({
      name: 'fails',
      store,
      tasks: [new Task({ name: 'say', description: 'Say it', agent })],
    })
    await fails.kickoff({ id: 'failed' }).catch(() => {})
    down = false
    assert.deepEqual(claimed(await workOnce([crew, fails])), [])
    await using studio = await served({ store, by: 'Grace' })
    for (const id of ['stopped', 'failed']) {
      assert.ok((await studio.get('GET /runs/{run}', `/runs/${id}`)).can.includes('requeue'))
      assert.deepEqual(await studio.post('POST /runs/{run}/resume', `/runs/${id}/resume`, {}), {
        runId: id,
        how: 'queue',
      })
      const { status, error, why } = await studio.get('GET /runs/{run}', `/runs/${id}`)
      assert.deepEqual([status, error, why], ['queued', undefined, 'it waits for a worker'])
    }
    assert.deepEqual(claimed(await workOnce([crew, fails])).toSorted(), ['failed', 'stopped'])
    assert.equal((await studio.get('GET /runs/{run}', '/runs/failed')).raw, 'Said')
    assert.equal((await studio.get('GET /runs/{run}', '/runs/stopped')).status, 'waiting')
    for (const id of ['failed', 'stopped']) {
      const { entries } = await studio.get('GET /runs/{run}/entries', `/runs/${id}/entries`)
      assert.equal(entries.find((entry) => entry.type === 'run.requeued')?.by, 'Grace')
    }
    const ended = await problemOf(await studio.send('/runs/failed/resume', posted({})))
    assert.deepEqual([ended.status, ended.code], [409, 'RUN_ENDED'])
    const more = await problemOf(await studio.send('/runs/stopped/resume', posted({ changed: 'continue' })))
    assert.deepEqual([more.status, more.code], [409, 'NO_CODE'])
  })
})

/** Resolves once the run rests until a person acts. */
async function rested(studio: Client, id: string): Promise<void> {
  const events = await eventsOf(await studio.send(`/runs/${id}/events`), ({ type }) => type === 'end')
  assert.equal(events.at(-1)?.type, 'end')
}
