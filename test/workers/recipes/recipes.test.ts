// Popular queues as dispatchers, each with the real library and a real server.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { queueName, startWorker } from 'reprise/workers'
import { z } from 'zod'
import { isFull } from '../../support/full.ts'
import { sharedServer, without } from '../../support/servers/shared-server.ts'
import { disturbedWorkers } from '../disturbed-workers.ts'
import { hearing, slow } from '../worker-crews.ts'
import { openRecipe, recipes, type Recipe, type RecipePlace, type RecipeQueue } from './recipe-queue.ts'

const crowd = isFull
  ? { runs: 60, processes: 4, concurrency: 4, between: { least: 30, most: 90 } }
  : { runs: 4, processes: 2, concurrency: 2, between: { least: 6, most: 60 } }

async function stage(recipe: Recipe) {
  const { url: server } = await sharedServer(recipes[recipe])
  const place: RecipePlace = { recipe, server, part: `recipe_${randomBytes(6).toString('hex')}` }
  const queue = await openRecipe(place)
  return {
    place,
    queue,
    async [Symbol.asyncDispose]() {
      await queue.clear()
      await queue[Symbol.asyncDispose]()
    },
  }
}

for (const recipe of Object.keys(recipes) as Recipe[]) {
  const store = recipes[recipe]
  const skip = await without(store)

  // a kill takes seconds: outside of the full matrix, one of the two queues in PostgreSQL is enough
  const calm = recipe === 'graphile-worker' && !isFull && 'only with npm run test:full'
  test(
    `${crowd.runs} runs that ${recipe} gives to workers that are killed in once calls end as undisturbed ones`,
    { skip: skip || calm },
    async () => {
      await using there = await stage(recipe)
      const program = { file: join(import.meta.dirname, 'recipe-process.ts'), args: [JSON.stringify(there.place)] }
      const { dispatcher } = there.queue
      const disturbed = await disturbedWorkers({ store, ...crowd, program, dispatcher })
      const { completed, failed, lost, different, steps, repeated, missing } = disturbed
      assert.deepEqual(
        { completed, failed, lost, different, steps, repeated, missing },
        { completed: crowd.runs, failed: 0, lost: 0, different: 0, steps: 0, repeated: 0, missing: 0 },
      )
      assert.ok(disturbed.kills > 0)
    },
  )

  test(
    `a run whose job ${recipe} loses completes all the same, and completed jobs leave nothing behind`,
    { skip },
    async () => {
      await using there = await stage(recipe)
      const { dispatcher } = there.queue
      const { crew, begun, hasBegun, go } = slow(memoryStore())
      const name = queueName({ crew: crew.name, version: '' })
      const ear = hearing()
      const options = { dispatcher, concurrency: 1, pollSeconds: 0.05, resendSeconds: 0.3, onEvent: ear.onEvent }
      await using _ = await startWorker([crew], options)
      await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
      await hasBegun
      await crew.enqueue({ id: 'b', inputs: { notes: 'b' } })
      await ear.until((event) => event.type === 'woken' && event.runId === 'b')
      assert.ok((await there.queue.jobs(name)).waiting > 0)
      await there.queue.lose(name)
      go()
      await ear.until((event) => event.type === 'left' && event.runId === 'b' && event.outcome === 'completed')
      assert.deepEqual(begun, ['a/first', 'a/second', 'b/first', 'b/second'])
      await untilEmpty(there.queue, name)
    },
  )

  test(
    `${recipe} keeps a delay, executes slices, and delivers answers, whichever process gives them`,
    { skip },
    async () => {
      await using there = await stage(recipe)
      const { dispatcher } = there.queue
      const own = memoryStore()
      const crew = asking(own)
      const telling = crew.with({ dispatcher })
      const ear = hearing()
      await using _ = await startWorker([crew], { dispatcher, sliceSeconds: 0.001, onEvent: ear.onEvent })
      const began = Date.now()
      const late = 'claim:4711'
      await telling.enqueue({ id: late, delay: 0.7 })
      for (const [id, by] of [
        ['a', telling],
        ['b', crew],
      ] as const) {
        await by.enqueue({ id })
        await ear.until((event) => event.type === 'left' && event.runId === id && event.outcome === 'waiting')
        const [question] = (await crew.run(id).view()).questions
        await by.run(id).answer(question?.id ?? '', { decision: 'approve' })
        await ear.until((event) => event.type === 'left' && event.runId === id && event.outcome === 'completed')
      }
      await ear.until((event) => event.type === 'left' && event.runId === late && event.outcome === 'waiting')
      assert.ok(Date.now() - began >= 700)
      const { via } = await crew.run('b').view()
      assert.equal(via?.dispatcher, recipe)
      const slices = ear.heard.filter((event) => event.type === 'left' && event.runId === 'a').length
      assert.ok(slices > 2, `${slices} slices`)
      assert.ok(!ear.heard.some(({ type }) => type === 'dispatcher-away' || type === 'refused'))
      await untilEmpty(there.queue, queueName({ crew: crew.name, version: '' }))
    },
  )
}

/** Waits until no jobs are left. A job may be completed some time after its run. */
async function untilEmpty(queue: RecipeQueue, name: string): Promise<void> {
  while (Object.values(await queue.jobs(name)).some((count) => count > 0)) await wait(20)
}

/** A crew whose steps take longer than a slice, and which asks before it pays. */
function asking(store: Store) {
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ to: z.string() }),
    approval: true,
    run: ({ to }) => `paid ${to}`,
  })
  const model = scriptedModel([
    { when: 'Pay', calls: [{ tool: 'pay', input: { to: 'Ada' } }] },
    { when: 'Pay', reply: 'Paid' },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [pay] })
  const looks = ['one', 'two'].map((name) => new Task({ name, effect: 'read', run: () => wait(5, name) }))
  return new Crew({ name: 'asking', store, tasks: [...looks, new Task({ name: 'pay', description: 'Pay', agent })] })
}
