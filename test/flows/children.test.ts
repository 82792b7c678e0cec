// Child runs of flows, and flows as tasks of crews: paths of their tasks, and how a person changes them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { quiet } from './support.ts'

/** A crew of two tasks: a plan, and a text, which a person reviews if `review` is set. */
function chapterCrew(review = false) {
  const model = scriptedModel([
    { when: /Plan/, reply: 'the plan' },
    { when: /Write/, reply: 'the text' },
  ])
  const agent = new Agent({ role: 'Writer', goal: 'g', model })
  const tasks = [
    new Task({ name: 'plan', description: 'Plan {title}', agent }),
    new Task({ name: 'write', description: 'Write {title}', agent, humanInput: review }),
  ] as const
  return { crew: new Crew({ name: 'chapter', tasks, logger: quiet }), model }
}

function book(crew: ReturnType<typeof chapterCrew>['crew'], store = newStore()) {
  return new Flow({
    name: 'book',
    store,
    logger: quiet,
    run: async (flow) => {
      const texts = await Promise.all(['one', 'two'].map((title) => flow.run(crew, { title }, { key: title })))
      return flow.step('bind', { input: texts.map(String), effect: 'read' }, (all) => all.join(' + '))
    },
  })
}

describe('a replay of a task within a step', () => {
  test('a replay of a task within a step executes it and later tasks in a fork of the child run', async () => {
    const { crew, model } = chapterCrew()
    const store = newStore()
    const work = book(crew, store)
    await work.kickoff({ id: 'r' })
    assert.equal(model.calls.length, 4)
    const result = await work.run('r').replay('chapter[two]/write', { id: 's', only: 'descendants' })
    assert.equal(result.output, 'the text + the text')
    // inherited: the plan of chapter two, and all of chapter one
    assert.equal(model.calls.length, 5)
    assert.equal((await store.row('s/chapter[two]#1'))?.forkedFrom, 'r/chapter[two]#1')
    assert.equal(await store.row('s/chapter[one]#1'), undefined)
  })

  test('a replay of a task within a step is planned with what the tasks take that are executed within the step', async () => {
    const { crew } = chapterCrew()
    const work = book(crew)
    await work.kickoff({ id: 'r' })
    const usageOf = async (from: string) => {
      const { tasks } = await work.run('r').plan({ from, only: 'descendants' })
      return tasks.find(({ task }) => task === 'chapter[two]')?.estimate?.usage.calls
    }
    assert.equal(await usageOf('chapter[two]/write'), 1)
    assert.equal(await usageOf('chapter[two]/plan'), 2)
    assert.equal(await usageOf('chapter[two]'), 2)
  })

  test('a replay within a step is what a fork with an output of such a task advises', async () => {
    const { crew } = chapterCrew()
    const work = book(crew)
    await work.kickoff({ id: 'r' })
    await assert.rejects(work.run('r').fork({ outputs: { 'chapter[one]/write': 'mine' } }), {
      code: 'OPTION_INVALID',
      message:
        /chapter\[one\]\/write is a task within step chapter\[one\].*give the output of chapter\[one\], or start a replay from chapter\[one\]\/write/,
    })
  })

  test('a replay of an unknown task within a step names the existing tasks and steps', async () => {
    const { crew } = chapterCrew()
    const work = book(crew)
    await work.kickoff({ id: 'r' })
    await assert.rejects(work.run('r').replay('chapter[two]/edit'), {
      code: 'TASK_NOT_FOUND',
      message: /r\/chapter\[two\]#1 has no step edit; it has plan, write/,
    })
    await assert.rejects(work.run('r').replay('chapter[six]/write'), { code: 'TASK_NOT_FOUND' })
    await assert.rejects(work.run('r').replay('bind/write'), /step bind of run r has no child run/)
  })
})

describe('an edit of a task within a step', () => {
  test('an edit of a task within a step reaches the child run in progress', async () => {
    const { crew, model } = chapterCrew(true)
    const work = book(crew)
    const asked = await work.kickoff({ id: 'r' })
    assert.deepEqual(
      asked.questions.map(({ id }) => id),
      ['chapter[one]/q1', 'chapter[two]/q1'],
    )
    await work.run('r').edit('chapter[one]/write', 'by hand')
    await work.run('r').answer('chapter[two]/q1', { decision: 'approve' })
    const result = await work.resume('r')
    assert.equal(result.output, 'by hand + the text')
    assert.equal(model.calls.length, 4)
    await assert.rejects(
      work.run('r').edit('chapter[one]/write', 'late'),
      /has no child run in progress|RUN_ENDED|is completed/,
    )
  })
})

describe('a flow as a task of a crew', () => {
  test('a flow as a task of a crew asks as part of the crew, and its value is the output of the task', async () => {
    const inner = new Flow({
      name: 'inner',
      logger: quiet,
      inputs: z.object({ n: z.number() }),
      output: z.object({ doubled: z.number(), ok: z.boolean() }),
      run: async (flow) => ({
        doubled: await flow.step('double', { effect: 'read' }, () => flow.inputs.n * 2),
        ok: await flow.ask('ok', 'Fine?', z.boolean()),
      }),
    })
    const crew = new Crew({
      name: 'outer',
      store: newStore(),
      logger: quiet,
      tasks: [
        new Task({ name: 'math', crew: inner, inputs: { n: 21 } }),
        new Task({ name: 'say', effect: 'read', run: ({ outputs }) => JSON.stringify(outputs) }),
      ],
    })
    const asked = await crew.kickoff({ id: 'r' })
    assert.deepEqual(
      asked.questions.map(({ id }) => id),
      ['math/q1'],
    )
    await crew.run('r').answer('math/q1', { decision: 'answer', value: true })
    const result = await crew.resume('r')
    assert.equal(result.raw, '{"math":{"doubled":42,"ok":true}}')
    assert.deepEqual(result.task('math').output, { doubled: 42, ok: true })
    assert.deepEqual(result.stale, [])
  })
})

describe('the budget of a flow', () => {
  test('the budget of a flow counts child runs, asks when it is used up, and can be raised', async () => {
    const { crew, model } = chapterCrew()
    const work = new Flow({
      name: 'book',
      store: newStore(),
      logger: quiet,
      budget: { tokens: 200 },
      async run(flow) {
        for (let n = 0; n < 4; n++) await flow.run(crew, { title: `${n}` }, { key: n })
        return 'done'
      },
    })
    const asked = await work.kickoff({ id: 'r' })
    assert.match(String(asked), /The run has used \d+ of 200 tokens/)
    assert.ok(model.calls.length < 8)
    await work.run('r').answer(asked.questions[0]?.id ?? '', { decision: 'raise', to: { tokens: 100_000 } })
    assert.equal((await work.resume('r')).output, 'done')
    assert.equal(model.calls.length, 8)
  })

  test('a budget of steps stops an endless loop', async () => {
    let calls = 0
    const work = new Flow({
      name: 'endless',
      store: newStore(),
      logger: quiet,
      budget: { steps: 5 },
      async run(flow) {
        for (let n = 0; ; n++) await flow.step('again', { key: n, effect: 'read' }, () => (calls += 1))
      },
    })
    const asked = await work.kickoff({ id: 'r' })
    assert.match(String(asked), /The run has used 5 of 5 steps/)
    assert.equal(calls, 5)
    await work.run('r').answer('q1', { decision: 'raise', to: { steps: 8 } })
    const again = await work.resume('r')
    assert.equal(calls, 8)
    await work.run('r').answer(again.questions[0]?.id ?? '', { decision: 'fail', reason: 'enough' })
    await assert.rejects(work.resume('r'), /enough/)
    assert.throws(() => new Crew({ name: 'c', tasks: crewTasks(), budget: { steps: 1 } }), /which only flows count/)
  })

  test('a budget of steps is not exceeded by steps that start at once', async () => {
    let calls = 0
    const work = new Flow({
      name: 'wide',
      store: newStore(),
      logger: quiet,
      concurrency: 8,
      budget: { steps: 5 },
      run: (flow) =>
        Promise.all(
          Array.from({ length: 20 }, (_, key) => flow.step('do', { key, effect: 'read' }, () => void (calls += 1))),
        ),
    })
    assert.match(String(await work.kickoff({ id: 'r' })), /The run has used 5 of 5 steps/)
    assert.equal(calls, 5)
    assert.equal((await work.resume('r', { budget: { steps: 20 } })).status, 'completed')
    assert.equal(calls, 20)
  })
})

const crewTasks = () => [new Task({ name: 'a', effect: 'read', run: () => 1 })] as const
