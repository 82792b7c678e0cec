// What a page needs to show runs, over real HTTP on loopback.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { claims, problemOf, served } from './support.ts'

const notes = { notes: 'P-77, a pipe burst "at night"' }
const path = encodeURIComponent

for (const kind of ['memory', 'sqlite'] as const)
  describe(`over ${kind}, a studio`, () => {
    const withStudio = async (use: (crew: Crew, studio: Awaited<ReturnType<typeof served>>) => Promise<void>) => {
      await using folder = await temporaryFolder()
      const store = kind === 'memory' ? memoryStore() : `sqlite:${join(folder.path, 'runs.db')}`
      await using crew = claims(store, { prices: { script: { input: 1, output: 10 } } })
      await using studio = await served({ crews: [crew] })
      await use(crew, studio)
    }

    test('shows a run as the read model has it, without conversations and with the possible actions', () =>
      withStudio(async (crew, studio) => {
        await crew.kickoff({ id: 'a/b', inputs: notes })
        const view = JSON.parse(JSON.stringify(await crew.run('a/b').view())) as { tasks: object[] }
        const { tasks, seq, code, here, can, ...shown } = await studio.get('GET /runs/{run}', `/runs/${path('a/b')}`)
        const { tasks: own, ...rest } = view
        assert.deepEqual(shown, rest)
        // conversations are left out, and values from the code are added
        const bare = { messages: undefined, context: undefined, schema: undefined, cost: undefined }
        assert.deepEqual(
          tasks.map((task) => ({ ...task, ...bare })),
          own.map((task) => ({ ...task, ...bare })),
        )
        assert.ok(tasks.every((task) => !('messages' in task)))
        assert.deepEqual(tasks[1]?.context, ['facts'])
        assert.deepEqual(propertiesOf(tasks[0]?.schema), {
          policy: { type: 'string' },
          issue: { type: 'string' },
        })
        assert.deepEqual({ seq, code, here }, { seq: 8, code: true, here: false })
        assert.deepEqual(can, ['answer', 'cancel', 'replay', 'fork', 'refresh'])
      }))

    test('shows every open question, with decisions and the schema of editable fields', () =>
      withStudio(async (crew, studio) => {
        await crew.kickoff({ id: 'r', inputs: notes })
        const { questions, unreadable } = await studio.get('GET /questions', '/questions')
        assert.deepEqual(unreadable, [])
        assert.equal(questions.length, 1)
        const [question] = questions
        assert.equal(question?.kind === 'call' && question.tool, 'pay')
        assert.deepEqual(Object.keys(question?.decisions ?? {}), ['approve', 'deny', 'use', 'fail'])
        assert.deepEqual(propertiesOf(question?.schema), { amount: { type: 'number' } })
        assert.deepEqual(question?.asking[0]?.inputs, notes)
        assert.equal(question?.asking[0]?.outputs[0]?.raw, '{"policy":"P-77","issue":"water"}')
      }))

    test('lists runs in pages, by status, crew and time, and finds them by the beginning of an id or within inputs', () =>
      withStudio(async (crew, studio) => {
        for (const id of ['one', 'two', 'three']) await crew.kickoff({ id, inputs: { notes: `P-1 ${id} "x"` } })
        await crew.run('two').cancel()
        const ids = async (query: string): Promise<string[]> =>
          (await studio.get('GET /runs', `/runs?${query}`)).runs.map(({ runId }) => runId)
        assert.deepEqual(await ids(''), ['three', 'two', 'one'])
        const first = await studio.get('GET /runs', '/runs?limit=2')
        assert.deepEqual(await ids(`cursor=${first.next}`), ['one'])
        assert.equal((await studio.get('GET /runs', '/runs?limit=3')).next, undefined)
        assert.deepEqual(await ids('status=cancelled'), ['two'])
        assert.deepEqual(await ids('status=waiting,running&limit=1'), ['three'])
        assert.deepEqual(await ids('crew=other'), [])
        assert.deepEqual(await ids('search=TH'), ['three'])
        assert.deepEqual(await ids(`search=${path('two "X')}`), ['two'])
        assert.deepEqual(await ids(`since=${path(new Date(Date.now() + 60_000).toISOString())}`), [])
        assert.deepEqual(await problemOf(await studio.send('/runs?status=lost')), {
          status: 400,
          code: 'OPTION_INVALID',
          message:
            'status has "lost"; choose from queued, running, abandoned, waiting, sleeping, stopped, completed, failed, cancelled',
        })
        for (const bad of ['limit=0', 'limit=201', 'limit=x', 'cursor=x', 'colour=red', 'since=soon'])
          assert.equal((await studio.send(`/runs?${bad}`)).status, 400, bad)
      }))

    test('lists what each run has cost as its page does, by the prices of its crew', () =>
      withStudio(async (crew, studio) => {
        await crew.kickoff({ id: 'r', inputs: notes })
        const { cost } = await studio.get('GET /runs/{run}', '/runs/r')
        assert.ok(cost !== undefined && cost > 0)
        const listed = async (from: typeof studio) => (await from.get('GET /runs', '/runs')).runs[0]
        assert.equal((await listed(studio))?.cost, cost)
        assert.equal((await crew.runs().page(1))[0]?.cost, cost)
        // without its code, the price of such a model is unknown
        await using bare = await served({ store: crew.store as Store })
        assert.deepEqual({ ...(await listed(bare)), cost }, await listed(studio))
        assert.equal((await listed(bare))?.cost, undefined)
      }))

    test('shows a step as the model saw it, and a call with what came of it and who allowed it', () =>
      withStudio(async (crew, studio) => {
        await crew.kickoff({ id: 'r', inputs: notes })
        await crew.run('r').answer('q1', { decision: 'approve', input: { amount: 3 } }, { by: 'Ada' })
        await crew.resume('r')
        const turn = await studio.get('GET /runs/{run}/steps/{path}', `/runs/r/steps/${path('settle#1/2')}`)
        assert.ok(turn.type === 'model')
        assert.deepEqual(
          turn.request.messages.map(({ role }) => role),
          ['user', 'assistant', 'tool'],
        )
        assert.match(turn.request.instructions, /You are Clerk/)
        assert.deepEqual(turn.reply?.parts, [{ type: 'text', text: 'Paid for P-77' }])
        const first = await studio.get('GET /runs/{run}/steps/{path}', `/runs/r/steps/${path('settle#1/1')}`)
        assert.equal(first.type === 'model' && first.request.messages.length, 1)
        const call = await studio.get('GET /runs/{run}/steps/{path}', `/runs/r/steps/${path('settle#1/1.0')}`)
        assert.ok(call.type === 'tool')
        assert.deepEqual(
          [call.asked, call.input, call.outcome],
          [{ amount: 5 }, { amount: 3 }, { result: { paid: 3 } }],
        )
        assert.equal(call.questions[0]?.answer?.by, 'Ada')
        const missing = await studio.send(`/runs/r/steps/${path('settle#1/9')}`)
        assert.deepEqual(await problemOf(missing), {
          status: 404,
          code: 'NOT_FOUND',
          message: 'run r has no step settle#1/9',
        })
      }))

    test('gives journal entries in pages, spending by task and call, lineage, and what differs', () =>
      withStudio(async (crew, studio) => {
        await crew.kickoff({ id: 'r', inputs: notes })
        const page = await studio.get('GET /runs/{run}/entries', '/runs/r/entries?after=2&limit=3')
        assert.deepEqual([page.entries.map(({ seq }) => seq), page.more], [[3, 4, 5], true])
        const spending = await studio.get('GET /runs/{run}/spending', '/runs/r/spending')
        const { usage } = await crew.run('r').view()
        assert.deepEqual(
          spending.models.map((one) => one.usage),
          [usage],
        )
        assert.deepEqual(
          spending.calls.map(({ task }) => task),
          ['facts', 'settle'],
        )
        await crew.fork({ runId: 'r', id: 'f', inputs: { notes: 'P-88' } })
        const { run } = await studio.get('GET /runs/{run}/lineage', '/runs/r/lineage')
        assert.deepEqual(
          run.children.map(({ runId }) => runId),
          ['f'],
        )
        const diff = await studio.get('GET /diff', '/diff?a=r&b=f')
        assert.deepEqual([diff.first, diff.inputs.length], ['facts', 1])
        const task = await studio.get('GET /runs/{run}/tasks/{task}', '/runs/r/tasks/facts')
        assert.equal(task.messages.length, 2)
      }))
  })

test('crews are shown as their code declares them', async () => {
  const crew = claims()
  await using studio = await served({ crews: [crew] })
  const shown = await studio.get('GET /crews/{crew}', '/crews/claims')
  assert.deepEqual(shown.inputs, ['notes'])
  assert.deepEqual(
    shown.tasks.map(({ name, type, agent, context }) => [name, type, agent, context]),
    [
      ['facts', 'agent', 'Reader', []],
      ['settle', 'agent', 'Clerk', ['facts']],
    ],
  )
  assert.deepEqual(
    shown.tasks[1]?.tools.map(({ name, effect, approval }) => [name, effect, approval]),
    [['pay', 'once', 'always']],
  )
  assert.deepEqual(shown.agents[0], {
    role: 'Reader',
    goal: 'Read letters',
    backstory: 'Has read many',
    model: 'scripted/script',
  })
  assert.equal((await problemOf(await studio.send('/crews/other'))).code, 'NO_CODE')
})

test('the queue is counted by crew, and the processes that execute runs are named', async () => {
  const store = memoryStore()
  const crew = claims(store)
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const run = async (): Promise<string> => {
    begun.resolve()
    await go.promise
    return 'done'
  }
  const busy = new Crew({ name: 'busy', store, tasks: [new Task({ name: 'work', effect: 'read', run })] })
  await crew.enqueue({ id: 'now', inputs: notes })
  await crew.enqueue({ id: 'later', inputs: notes, delay: 3_600 })
  await crew.kickoff({ id: 'asks', inputs: notes })
  const working = busy.kickoff({ id: 'works' })
  await begun.promise
  await using studio = await served({ crews: [crew, busy] })
  const { crews, workers, cut } = await studio.get('GET /queue', '/queue')
  assert.deepEqual(crews, [
    { crew: 'busy', queued: 0, due: 0, running: 1, abandoned: 0, suspended: 0, failed: 0 },
    { crew: 'claims', queued: 2, due: 1, running: 0, abandoned: 0, suspended: 1, failed: 0 },
  ])
  assert.deepEqual(
    workers.map(({ pid, runs }) => [pid, runs]),
    [[process.pid, ['works']]],
  )
  assert.equal(cut, false)
  assert.equal((await studio.get('GET /runs/{run}', '/runs/works')).here, true)
  go.resolve()
  await working
})

test('child runs are listed below their parent, and not in the list of runs', async () => {
  const agent = new Agent({ role: 'A', goal: 'Help', model: scriptedModel([{ when: 'Do', reply: 'Done' }]) })
  const store = memoryStore()
  const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'do', description: 'Do it', agent })] })
  const outer = new Crew({ name: 'outer', store, tasks: [new Task({ name: 'all', crew: inner })] })
  await outer.kickoff({ id: 'r' })
  await using studio = await served({ crews: [outer] })
  const ids = ({ runs }: { runs: readonly { runId: string }[] }): string[] => runs.map(({ runId }) => runId)
  assert.deepEqual(ids(await studio.get('GET /runs', '/runs')), ['r'])
  assert.deepEqual(ids(await studio.get('GET /runs/{run}/children', '/runs/r/children')), ['r/all#1'])
  const child = await studio.get('GET /runs/{run}', `/runs/${path('r/all#1')}`)
  assert.deepEqual([child.caller, child.can], ['r', []])
  const { attempts } = await studio.get('GET /runs/{run}/timeline', '/runs/r/timeline')
  assert.equal(attempts[0]?.child, 'r/all#1')
})

test('backtests are shown as they are stored, old beside new', async () => {
  const store = memoryStore()
  const then = claims(store)
  await then.kickoff({ id: 'r', inputs: notes })
  const { id } = await then.backtest('facts', { id: 'b:1' })
  await using studio = await served({ crews: [then] })
  const { backtests } = await studio.get('GET /backtests', '/backtests?crew=claims')
  assert.deepEqual(
    backtests.map((one) => [one.id, one.crew, one.task, one.trials]),
    [[id, 'claims', 'facts', 1]],
  )
  const { cases } = await studio.get('GET /backtests/{backtest}', `/backtests/${path(id)}`)
  assert.deepEqual(
    cases.map(({ runId, status, equal, old, new: now }) => [runId, status, equal, old?.raw === now?.raw]),
    [['r', 'completed', true, true]],
  )
  assert.equal((await studio.send('/backtests/none')).status, 404)
})

test('a function task has a step, from the start of its call to its result, like a tool call', async () => {
  const store = memoryStore()
  const crew = new Crew({
    name: 'sums',
    store,
    tasks: [new Task({ name: 'add', effect: 'read', run: () => ({ sum: 2 }) })],
  })
  await crew.kickoff({ id: 'r' })
  await using studio = await served({ crews: [crew] })
  const { tasks } = await studio.get('GET /runs/{run}', '/runs/r')
  const step = await studio.get('GET /runs/{run}/steps/{path}', `/runs/r/steps/${path('add#1/1.0')}`)
  assert.ok(step.type === 'tool')
  assert.deepEqual([step.seq, step.tool, step.effect, step.times], [2, 'add', 'read', 1])
  assert.deepEqual(step.outcome, { result: { sum: 2 } })
  assert.deepEqual([step.startedAt, step.endedAt], [tasks[0]?.startedAt, tasks[0]?.completedAt])
})

function propertiesOf(schema: unknown): unknown {
  return (schema as { properties?: unknown } | undefined)?.properties
}
