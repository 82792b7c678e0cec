// How views and lists show flows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { readRunTree } from '../../src/runs/run-view.ts'
import { runViewStatus } from '../../src/runs/status.ts'
import { stepGroups } from '../../src/runs/flow-view.ts'
import { currentTasks } from '../../src/runs/task-view.ts'
import { newStore } from '../engine/support.ts'
import { quiet } from './support.ts'

const read = { effect: 'read' } as const

describe('the view of a flow', () => {
  test('the view of a flow has a page of its steps, if only that is wanted', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        for (let n = 0; n < 40; n++) await flow.step('make', { ...read, key: n }, () => n)
        await flow.step('save', read, () => 'saved')
        return 'done'
      },
    })
    await work.kickoff({ id: 'r' })
    const run = work.run('r')
    const names = async (tasks: { name?: string; from?: number; limit?: number }): Promise<string[]> =>
      (await run.view({ tasks })).tasks.map(({ name }) => name)
    assert.deepEqual(await names({ name: 'make', from: 38 }), ['make[38]', 'make[39]'])
    assert.deepEqual(await names({ from: 39, limit: 1 }), ['make[39]'])
    assert.deepEqual(await names({ name: 'save' }), ['save'])
    assert.equal((await names({})).length, 20)
    const { tasks, total, output } = await run.view({ tasks: { limit: 0 } })
    assert.deepEqual([tasks, total, output], [[], 41, 'done'])
    await assert.rejects(run.view({ tasks: { limit: -1 } }), { code: 'OPTION_INVALID', message: /tasks\.limit/ })
    await assert.rejects(run.view({ tasks: { size: 3 } as never }), { code: 'OPTION_UNKNOWN' })
  })

  test('the view of a flow has its steps in the order of their results, and equals its row in a list', async () => {
    const store = newStore()
    const gate = Promise.withResolvers<void>()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        const ids = await flow.step('list', read, () => ['a', 'b'])
        await Promise.all(
          ids.map((id) =>
            flow.step('make', { ...read, key: id, input: id }, async () => {
              if (id === 'a') await gate.promise
              else gate.resolve()
              return id
            }),
          ),
        )
        await flow.step('lost', read, () => Promise.reject(new Error('gone'))).catch(() => 0)
        await flow.sleep('night', { hours: 8 })
      },
    })
    await work.kickoff({ id: 'r' })
    const view = await work.run('r').view()
    assert.deepEqual(
      view.tasks.map(({ name, status, step }) => [name, status, step?.after, step?.input]),
      [
        ['list', 'executed', undefined, undefined],
        ['make[b]', 'executed', 'list', 'b'],
        ['make[a]', 'executed', 'list', 'a'],
        ['lost', 'failed', 'make[a]', undefined],
        ['night', 'sleeping', 'lost', undefined],
      ],
    )
    assert.deepEqual([view.flow, view.done, view.failed, view.total], [true, 3, 1, 5])
    const [listed] = await work.runs().page(1)
    const { flow, done, failed, total, status, why, dueAt } = view
    assert.deepEqual({ ...listed, flow, done, failed, total, status, why, dueAt }, listed)
  })

  test('the view of a flow groups steps by name, with the groups that each was requested after', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        const ids = await flow.step('list', read, () => ['a', 'b', 'c'])
        const made = await Promise.allSettled(
          ids.map((id) =>
            flow.step('make', { ...read, key: id }, () => (id === 'b' ? Promise.reject(new Error('no')) : id)),
          ),
        )
        await flow.event('go', z.null())
        return made.length
      },
    })
    await work.kickoff({ id: 'r' })
    const tree = await readRunTree(store, 'r')
    assert.deepEqual(
      stepGroups(tree, currentTasks(tree.state)).map(({ startedAt: _1, settledAt: _2, ...group }) => group),
      [
        {
          name: 'list',
          single: true,
          status: 'executed',
          total: 1,
          done: 1,
          failed: 0,
          running: 0,
          waiting: 0,
          after: [],
        },
        {
          name: 'make',
          single: false,
          status: undefined,
          total: 3,
          done: 2,
          failed: 1,
          running: 0,
          waiting: 0,
          after: ['list'],
        },
        {
          name: 'go',
          single: true,
          status: 'sleeping',
          total: 1,
          done: 0,
          failed: 0,
          running: 0,
          waiting: 1,
          after: ['make'],
        },
      ],
    )
  })

  test('the view of a sleeping flow has the time at which it continues', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) => flow.sleep('night', { hours: 8 }),
    })
    await work.kickoff({ id: 'r' })
    const view = await work.run('r').view()
    assert.equal(view.status, 'sleeping')
    const until = view.waits?.[0]?.until
    assert.deepEqual(view.waits, [{ step: 'night', wait: 'sleep', event: undefined, until }])
    assert.deepEqual([view.dueAt, view.why], [until, `it sleeps until ${until}`])
    assert.deepEqual(
      (await work.runs({ status: 'sleeping' }).page(9)).map(({ runId }) => runId),
      ['r'],
    )
  })

  test('a flow whose sleep is over is shown as queued, unless it was imported', () => {
    const suspended = { reason: 'sleeping', until: new Date(Date.now() - 1).toISOString() } as const
    const facts = { questions: 1, held: false }
    assert.equal(runViewStatus('suspended', { suspended }, facts), 'queued')
    assert.equal(runViewStatus('suspended', { suspended, imported: true }, { ...facts, questions: 0 }), 'stopped')
  })

  test('the view of a flow names the event that it waits for, and events that no step has received', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) => flow.event('go', z.string(), { key: 1, timeout: { hours: 1 } }),
    })
    await work.kickoff({ id: 'r' })
    const view = await work.run('r').view()
    const until = view.waits?.[0]?.until
    assert.deepEqual(view.waits, [{ step: 'go[1]', wait: 'event', event: 'go', until }])
    assert.deepEqual([view.status, view.why], ['sleeping', `it waits for an event, until ${until} at the latest`])
    await work.run('r').send('other', { n: 1 }, { id: 'e1', by: 'Ada' })
    const { events = [], status } = await work.run('r').view()
    assert.equal(status, 'queued')
    assert.deepEqual(
      events.map(({ seq: _1, at: _2, ...event }) => event),
      [{ name: 'other', value: { n: 1 }, id: 'e1', by: 'Ada' }],
    )
  })

  test('the view of a flow has the steps that its function no longer requests', async () => {
    const store = newStore()
    const made = (name: string) =>
      new Flow({
        name: 'f',
        store,
        logger: quiet,
        async run(flow) {
          await flow.step(name, read, () => 1)
          if (name === 'old') await flow.ask('go', 'Go on?')
        },
      })
    await made('old').kickoff({ id: 'r' })
    await made('new').resume('r')
    assert.deepEqual((await made('new').run('r').view()).left, ['old', 'go'])
  })

  test('a flow is shown as sleeping while a child run is', async () => {
    const inner = new Flow({ name: 'inner', logger: quiet, run: (flow) => flow.event('go', z.null()) })
    const outer = new Flow({ name: 'outer', store: newStore(), logger: quiet, run: (flow) => flow.run(inner) })
    await outer.kickoff({ id: 'r' })
    const { status, why } = await outer.run('r').view()
    assert.deepEqual([status, why], ['sleeping', 'it waits for r/inner#1'])
  })
})

test('a question of a flow has `about` and the path of its task, but no results of earlier steps', async () => {
  const model = scriptedModel([{ when: 'Write', reply: 'text' }])
  const agent = new Agent({ role: 'Writer', goal: 'g', model })
  const write = new Task({ name: 'write', description: 'Write', agent, humanInput: true })
  const crew = new Crew({ name: 'letters', tasks: [write], logger: quiet })
  const work = new Flow({
    name: 'f',
    store: newStore(),
    logger: quiet,
    inputs: z.object({ secret: z.string() }),
    async run(flow) {
      await flow.step('found', read, () => 'x'.repeat(50_000))
      await Promise.all([flow.ask('ok', { text: 'Fine?', about: { page: 1 } }, z.boolean()), flow.run(crew)])
    },
  })
  const { questions } = await work.kickoff({ inputs: { secret: 'y'.repeat(50_000) } })
  assert.deepEqual(
    questions.map(({ kind, asking }) => [kind, ...asking.map(({ task }) => task)]),
    [
      ['value', 'ok'],
      ['result', 'letters', 'write'],
    ],
  )
  assert.ok(JSON.stringify(questions).length < 2_000)
})
