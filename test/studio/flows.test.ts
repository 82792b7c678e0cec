// Flows in the API of the studio.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { z } from 'zod'
import { quiet } from '../flows/support.ts'
import { posted, problemOf, claims, served } from './support.ts'

const read = { effect: 'read' } as const

/** Lists so many items, makes each, and asks whether that was all. */
function makes(count: number, store = memoryStore()) {
  const flow = new Flow({
    name: 'makes',
    store,
    logger: quiet,
    async run(steps) {
      const ids = await steps.step('list', read, () => Array.from({ length: count }, (_, n) => n))
      await Promise.all(ids.map((id) => steps.step('make', { ...read, key: id, input: id }, () => 'x'.repeat(1_000))))
      await steps.ask('all', 'Was that all?', z.boolean())
      await steps.event('go', z.object({ n: z.number() }))
      return 'done'
    },
  })
  return flow
}

describe('a flow in the studio', () => {
  test('of thousands of steps has a detail, a page of steps, a timeline and a question of less than 10 KB each', async () => {
    const flow = makes(2_000)
    await flow.kickoff({ id: 'r' })
    await using studio = await served({ crews: [flow] })
    for (const path of [
      '/runs/r',
      '/runs/r/tasks?name=make',
      '/runs/r/timeline',
      '/questions',
      '/runs',
      '/runs/r/spending',
    ]) {
      const { length } = await (await studio.send(path)).text()
      assert.ok(length < 10_000, `${path} has ${length} characters`)
    }
    const { steps, tasks, done, flow: isFlow } = await studio.get('GET /runs/{run}', '/runs/r')
    assert.deepEqual([tasks, done, isFlow], [[], 2_001, true])
    assert.deepEqual(
      steps?.groups.items.map(({ name, done: finished, total, after }) => [name, finished, total, after]),
      [
        ['list', 1, 1, []],
        ['make', 2_000, 2_000, ['list']],
        ['all', 0, 1, ['make']],
      ],
    )
  })

  test('has its steps in pages, with long values left out, and each step as a whole', async () => {
    const flow = makes(30)
    await flow.kickoff({ id: 'r' })
    await using studio = await served({ crews: [flow] })
    const page = await studio.get('GET /runs/{run}/tasks', '/runs/r/tasks?name=make&from=25&limit=3')
    assert.deepEqual([page.from, page.total], [25, 30])
    assert.deepEqual(
      page.items.map(({ name, context, step, raw }) => [name, context, step?.input, raw.length]),
      [25, 26, 27].map((n) => [`make[${n}]`, ['list'], n, 121]),
    )
    const whole = await studio.get('GET /runs/{run}/tasks/{task}', `/runs/r/tasks/${encodeURIComponent('make[7]')}`)
    assert.equal(whole.raw.length, 1_000)
    const all = await studio.get('GET /runs/{run}/tasks', '/runs/r/tasks?limit=200')
    assert.equal(all.items.length, 32)
  })

  test('receives an answer of its schema and an event, and continues here', async () => {
    const flow = makes(1)
    await using studio = await served({ crews: [flow] })
    await studio.post('POST /crews/{crew}/runs', '/crews/makes/runs', { how: 'here', id: 'r' })
    await waitUntil(async () => (await studio.get('GET /runs/{run}', '/runs/r')).status === 'waiting')
    const { questions } = await studio.get('GET /questions', '/questions')
    const [question] = questions
    assert.equal((question?.schema as { type?: string } | undefined)?.type, 'boolean')
    assert.deepEqual(question?.asking[0]?.outputs, [])
    const answer = { decision: 'answer', value: true }
    await studio.post('POST /runs/{run}/questions/{question}', '/runs/r/questions/q1', answer)
    await waitUntil(async () => (await studio.get('GET /runs/{run}', '/runs/r')).status === 'sleeping')
    const detail = await studio.get('GET /runs/{run}', '/runs/r')
    assert.deepEqual(detail.can, ['send', 'cancel', 'replay', 'fork', 'refresh'])
    assert.deepEqual(detail.steps?.waits.items, [{ step: 'go', wait: 'event', event: 'go' }])
    await studio.post('POST /runs/{run}/events', '/runs/r/events', { name: 'go', value: { n: 1 }, id: 'e', by: 'Ada' })
    await waitUntil(async () => (await studio.get('GET /runs/{run}', '/runs/r')).status === 'completed')
    const late = await problemOf(await studio.send('/runs/r/events', posted({ name: 'go' })))
    assert.deepEqual([late.status, late.code], [409, 'RUN_ENDED'])
  })

  test('looks the same in a studio that has followed it and in a new one', async () => {
    const flow = makes(3)
    await flow.kickoff({ id: 'r' })
    await using studio = await served({ crews: [flow] })
    const paths = ['/runs/r', '/runs/r/tasks', '/runs/r/tasks/all', '/runs/r/spending', '/questions']
    const shown = async ({ send }: Pick<typeof studio, 'send'>): Promise<unknown[]> =>
      Promise.all(paths.map(async (path) => (await send(path)).json()))
    const sameAsNew = async (): Promise<void> => {
      await using other = await served({ crews: [flow] })
      const seen = await shown(studio)
      assert.deepEqual(seen, await shown(other))
      assert.deepEqual(seen, await shown(studio))
    }
    await sameAsNew()
    const run = flow.run('r')
    await run.answer('q1', { decision: 'answer', value: true })
    await sameAsNew()
    await flow.resume('r')
    await sameAsNew()
    await run.send('go', { n: 1 })
    await flow.resume('r')
    await sameAsNew()
    await run.delete()
    await flow.kickoff({ id: 'r' })
    await sameAsNew()
  })

  test('is the only kind of run that receives events', async () => {
    const crew = claims()
    await crew.kickoff({ id: 'r', inputs: { notes: 'P-1' } })
    await using studio = await served({ crews: [crew] })
    const refused = await problemOf(await studio.send('/runs/r/events', posted({ name: 'go' })))
    assert.deepEqual([refused.status, refused.code], [400, 'OPTION_INVALID'])
    assert.ok(!(await studio.get('GET /runs/{run}', '/runs/r')).can.includes('send'))
  })
})

async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}
