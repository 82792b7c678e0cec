// Invariants 2 and 6 where orders interleave: parallel tools that end in any order, in lives that end at any append.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { entriesOf, newStore } from './support.ts'

/** Dies before or after its nth append. */
function mortal(inner: Store, appends: number, written: boolean): Store {
  let left = appends
  return {
    ...inner,
    async append(lease, after, batch) {
      left -= 1
      if (left < 0 && !(left === -1 && written)) throw new Error('dead')
      const waiting = await inner.append(lease, after, batch)
      if (left === -1) throw new Error('dead')
      return waiting
    },
    release: async () => 0,
  }
}

test('a run has the same outputs and repeats no recorded call, in any order of parallel tools and with lives that end anywhere', async () => {
  const life = fc.record({ appends: fc.nat({ max: 12 }), written: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 4 }),
      fc.array(life, { maxLength: 4 }),
      async (scheduler, width, lives) => {
        const ran: string[] = []
        const slow = tool({
          name: 'slow',
          description: 'Ends when it is its turn',
          effect: 'read',
          input: z.object({ n: z.number() }),
          async run({ n }, { idempotencyKey }) {
            await scheduler.schedule(Promise.resolve(), `tool ${n}`)
            ran.push(idempotencyKey)
            return `result ${n}`
          },
        })
        const calls = Array.from({ length: width }, (_, n) => ({ tool: 'slow', input: { n } }))
        const model = scriptedModel([
          { when: 'Task: First', after: 0, calls },
          { when: 'Task: First', after: width, reply: (text) => [...text.matchAll(/result \d/g)].join(', ') },
          { when: 'Task: Second', reply: (text) => `after ${/--- first ---\n(.*)/.exec(text)?.[1]}` },
        ])
        const agent = new Agent({ role: 'Worker', goal: 'Work', model, tools: [slow] })
        const first = new Task({ name: 'first', description: 'First', agent })
        const second = new Task({ name: 'second', description: 'Second', agent })
        const store = newStore()
        const crew = new Crew({ name: 'interleaved', tasks: [first, second], store })
        const kickoff = async (at: Store): Promise<string | undefined> => {
          const run = crew.with({ store: at }).kickoff({ id: 'r' })
          const ended = run.then(String, () => undefined)
          await scheduler.waitFor(ended)
          return ended
        }
        for (const { appends, written } of lives) await kickoff(mortal(store, appends, written))
        // five fruitless lives set a run aside; four cannot
        const results = calls.map(({ input }) => `result ${input.n}`).join(', ')
        assert.equal(await kickoff(store), `after ${results}`)
        const entries = await entriesOf(store, 'r')
        const returned = entries.filter((entry) => entry.type === 'tool.returned').map((entry) => entry.path)
        assert.equal(new Set(returned).size, returned.length, 'no call returned twice')
        const replied = entries.filter((entry) => entry.type === 'model.replied').map((entry) => entry.path)
        assert.deepEqual(replied, ['first#1/1', 'first#1/2', 'second#1/1'])
        assert.equal(new Set(ran).size, width, 'no call ran under another key')
      },
    ),
    { numRuns: 60 },
  )
})
