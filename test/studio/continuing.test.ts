// The effect of an answer: the studio continues a run that it executes, and leaves any other to a worker.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import type { Api } from 'reprise/studio'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { entriesOf } from '../engine/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { claimed, workOnce } from '../workers/worker-crews.ts'
import { claims, clientOf, eventsOf, posted, served, type Client } from './support.ts'

const inputs = { notes: 'P-77' }
const yes = { decision: 'approve' }

describe('a run that the studio started', () => {
  test('is continued by it when its last question is answered, by any role', async () => {
    const tokens = { act: 'a'.repeat(16), answer: 'b'.repeat(16) }
    await using studio = await served({ crews: [claims()], tokens })
    const [acting, answering] = [tokens.act, tokens.answer].map((token) =>
      clientOf(studio.url, { authorization: `Bearer ${token}` }),
    ) as [Client, Client]
    await begun(acting, 'claims', { id: 'r', inputs })
    assert.deepEqual(await answered(answering, 'r', 'q1'), {
      runId: 'r',
      question: 'q1',
      questions: [],
      continues: 'here',
    })
    assert.equal((await completed(answering, 'r')).raw, 'Paid for P-77')
  })

  for (const [act, body] of [
    ['replay', { task: 'settle', id: 'n' }],
    ['fork', { inputs: { notes: 'P-88' }, id: 'n' }],
    ['refresh', { id: 'n' }],
    ['resume', {}],
  ] as const)
    test(`is continued by it after a ${act}, too`, async () => {
      const crew = claims()
      await crew.kickoff({ id: 'r', inputs })
      await using studio = await served({ crews: [crew] })
      const { runId } = await studio.post(`POST /runs/{run}/${act}`, `/runs/r/${act}`, body)
      await rested(studio, runId)
      assert.equal((await answered(studio, runId, 'q1')).continues, 'here')
      assert.match((await completed(studio, runId)).raw ?? '', /^Paid for P-/)
    })

  test('is continued by it when the answer comes from another process or another studio', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using crew = claims(store)
    await using studio = await served({ crews: [crew] })
    await using other = await served({ store })
    await using elsewhere = claims(store)
    for (const id of ['one', 'two']) await begun(studio, 'claims', { id, inputs })
    await elsewhere.run('one').answer('q1', { decision: 'approve' })
    assert.equal((await answered(other, 'two', 'q1')).continues, 'worker')
    for (const id of ['one', 'two']) assert.equal((await completed(studio, id)).lives, 2)
  })

  test('waits for the last of several answers, even from several people at once', async () => {
    const store = memoryStore()
    await using studio = await served({ crews: [pair(store)] })
    for (const id of ['r', 'both']) await begun(studio, 'pair', { id })
    const first = await answered(studio, 'r', 'q1')
    assert.deepEqual([first.questions.map(({ id }) => id), first.continues], [['q2'], 'worker'])
    assert.equal((await view(studio, 'r')).lives, 1)
    assert.equal((await answered(studio, 'r', 'q2')).continues, 'here')
    assert.equal((await completed(studio, 'r')).lives, 2)

    const answers = await Promise.all([answered(studio, 'both', 'q1'), answered(studio, 'both', 'q2')])
    assert.ok(answers.some(({ continues }) => continues === 'here'))
    assert.equal((await completed(studio, 'both')).lives, 2)
  })

  test('is continued when a nested crew has its answer, by its own id or by that of the outer run', async () => {
    await using studio = await served({ crews: [outer(memoryStore())] })
    for (const id of ['one', 'two']) await begun(studio, 'outer', { id })
    assert.equal((await answered(studio, 'one', 'inner/q1')).continues, 'here')
    assert.equal((await answered(studio, 'two/inner#1', 'q1')).continues, 'here')
    for (const id of ['one', 'two']) assert.equal((await completed(studio, id)).raw, 'Told')
  })

  test('goes only as far as its starter wanted', async () => {
    await using studio = await served({ crews: [pair(memoryStore(), 'sequential')] })
    await begun(studio, 'pair', { id: 'r', through: 'first' })
    assert.equal((await answered(studio, 'r', 'q1')).continues, 'here')
    await rested(studio, 'r')
    const { status, why, can } = await view(studio, 'r')
    assert.deepEqual([status, why], ['stopped', 'it stopped after task first, as requested'])
    assert.ok(can.includes('resume'))
  })

  test('is left to workers once a worker has taken it', async () => {
    const store = memoryStore()
    await using studio = await served({ crews: [pair(store, 'sequential')] })
    await begun(studio, 'pair', { id: 'r' })
    // a worker is first
    const crew = pair(store, 'sequential')
    const taken = await crew.resume('r', {
      onQuestion: ({ id }) => (id === 'q1' ? { decision: 'approve' } : undefined),
    })
    assert.equal(taken.questions.length, 1)
    assert.equal((await answered(studio, 'r', 'q2')).continues, 'worker')
    assert.deepEqual(claimed(await workOnce([crew])), ['r'])
    assert.equal((await view(studio, 'r')).lives, 3)
  })

  test('that was cancelled, or deleted, while it waited is not continued', async () => {
    const store = memoryStore()
    const crew = pair(store)
    await using studio = await served({ crews: [crew] })
    for (const id of ['cancelled', 'deleted']) await begun(studio, 'pair', { id })
    await studio.post('POST /runs/{run}/cancel', '/runs/cancelled/cancel', {})
    await crew.run('deleted').delete()
    for (const [id, code] of [
      ['cancelled', 409],
      ['deleted', 404],
    ] as const) {
      const response = await studio.send(`/runs/${id}/questions/q1`, posted(yes))
      assert.equal(response.status, code)
      assert.equal((await entriesOf(store, id)).filter(({ type }) => type === 'run.resumed').length, 0)
    }
  })

  test('is ready for a worker when the studio was closed before the answer, or is opened again', async () => {
    const store = memoryStore()
    const crew = claims(store)
    await using first = await served({ crews: [crew] })
    await begun(first, 'claims', { id: 'r', inputs })
    await first[Symbol.asyncDispose]()
    await using second = await served({ crews: [crew] })
    assert.equal((await answered(second, 'r', 'q1')).continues, 'worker')
    assert.equal((await view(second, 'r')).lives, 1)
    assert.deepEqual(claimed(await workOnce([crew])), ['r'])
  })
})

describe('a run that another process started', () => {
  test('is left to a worker even if its code is loaded', async () => {
    const crew = claims()
    await crew.kickoff({ id: 'r', inputs })
    await using studio = await served({ crews: [crew] })
    assert.equal((await answered(studio, 'r', 'q1')).continues, 'worker')
    const { lives, can } = await view(studio, 'r')
    assert.equal(lives, 1)
    assert.ok(can.includes('resume'))
    assert.deepEqual(claimed(await workOnce([crew])), ['r'])
  })

  test('that was stopped is not continued by the studio, and the response says so', async () => {
    const crew = pair(memoryStore())
    const stop = new AbortController()
    await crew.kickoff({ id: 'r', signal: stop.signal, onQuestion: () => (stop.abort(), new Promise(() => {})) })
    await using studio = await served({ crews: [crew] })
    const [question] = (await view(studio, 'r')).questions
    assert.equal((await answered(studio, 'r', question?.id ?? '')).continues, undefined)
  })
})

/** Two tasks that each ask whether a call may be made, at the same time or one after the other. */
function pair(store: Store, process: 'parallel' | 'sequential' = 'parallel'): Crew {
  const model = scriptedModel([
    { when: /first|second/, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    { when: /first|second/, reply: 'Paid' },
  ])
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    approval: true,
    input: z.object({ amount: z.number() }),
    run: () => 'paid',
  })
  const agent = new Agent({ role: 'Clerk', goal: 'Pay', model, tools: [pay] })
  const tasks = ['first', 'second'].map(
    (name) => new Task({ name, description: `Pay the ${name}`, agent, context: [] }),
  )
  const crew: Crew = new Crew({ name: 'pair', store, process, tasks })
  return crew
}

function outer(store: Store): Crew {
  const model = scriptedModel([
    { when: 'Find', reply: 'Found' },
    { when: 'Tell', reply: 'Told' },
  ])
  const agent = new Agent({ role: 'A', goal: 'Help', model })
  const find = new Task({ name: 'find', description: 'Find it', agent, humanInput: true })
  const inner = new Task({ name: 'inner', crew: new Crew({ name: 'within', tasks: [find] }) })
  const tell = new Task({ name: 'tell', description: 'Tell it', agent })
  const crew: Crew = new Crew({ name: 'outer', store, tasks: [inner, tell] })
  return crew
}

/** Resolves when it waits. */
async function begun(studio: Client, crew: string, body: { readonly id: string; readonly [name: string]: unknown }) {
  await studio.post('POST /crews/{crew}/runs', `/crews/${crew}/runs`, { how: 'here', ...body })
  await rested(studio, body.id)
}

function answered(studio: Client, run: string, question: string): Promise<Api.AnswerResult> {
  const path = `/runs/${encodeURIComponent(run)}/questions/${encodeURIComponent(question)}`
  return studio.post('POST /runs/{run}/questions/{question}', path, yes)
}

function view(studio: Client, run: string): Promise<Api.RunDetail> {
  return studio.get('GET /runs/{run}', `/runs/${encodeURIComponent(run)}`)
}

async function completed(studio: Client, run: string): Promise<Api.RunDetail> {
  for (;;) {
    await rested(studio, run)
    const seen = await view(studio, run)
    if (seen.status === 'completed') return seen
    assert.ok(['stopped', 'queued', 'running'].includes(seen.status), seen.status)
  }
}

async function rested(studio: Client, run: string): Promise<void> {
  const events = await eventsOf(await studio.send(`/runs/${run}/events`), ({ type }) => type === 'end')
  assert.equal(events.at(-1)?.type, 'end')
}

test('the plan of a resume names the answers that its tasks wait for', async () => {
  const crew = claims()
  await crew.kickoff({ id: 'r', inputs: { notes: 'P-77' } })
  await using studio = await served({ crews: [crew] })
  const { tasks } = await studio.post('POST /runs/{run}/plan', '/runs/r/plan', { of: 'resume' })
  assert.equal(tasks[1]?.reasons[0], 'it waits for the answer to q1')
})
