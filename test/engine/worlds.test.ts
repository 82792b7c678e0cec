// What the runs of a process share belongs to its world: two worlds in one process are like two processes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import type { World } from '../../src/engine/definition.ts'
import { createProcessState, realWorld } from '../../src/engine/world.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import type { Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

/** A process of its own, as far as the engine can tell. */
function worldOf(pid: number): World {
  return {
    ...realWorld(),
    owner: { ...currentOwner(), pid, instance: `process ${pid}` },
    process: createProcessState(),
  }
}

/** A crew whose model answers once it may. */
function crewIn(world: World | undefined, store: Store) {
  const asked = Promise.withResolvers<void>()
  const mayAnswer = Promise.withResolvers<void>()
  const scripted = scriptedModel([{ when: '', reply: 'done' }])
  const model = {
    ...scripted,
    async doGenerate(...given: Parameters<typeof scripted.doGenerate>) {
      asked.resolve()
      await mayAnswer.promise
      return scripted.doGenerate(...given)
    },
  }
  const agent = new Agent({ role: 'Writer', goal: 'Write', model })
  const options = { name: 'crew', tasks: [new Task({ name: 'write', description: 'Write', agent })], store }
  const logger = { info() {}, warn() {} }
  const crew = new Crew({ ...options, logger, ...(world && { '~world': world }) })
  return { crew, asked: asked.promise, answer: () => mayAnswer.resolve() }
}

const sameUrl = (): Store => memoryStore({ url: 'memory:two-worlds' })

describe('two crews in one process', () => {
  test('with one world do not execute one run twice', async () => {
    const store = memoryStore()
    const one = crewIn(undefined, store)
    const two = crewIn(undefined, store)
    const result = one.crew.kickoff({ id: 'r' })
    await one.asked
    await assert.rejects(two.crew.kickoff({ id: 'r' }), { code: 'RUN_HELD', message: /by this process/ })
    one.answer()
    assert.equal((await result).raw, 'done')
  })

  test('with a world each share nothing: runs of one id in stores of one URL are executed at once', async () => {
    const one = crewIn(worldOf(1), sameUrl())
    const two = crewIn(worldOf(2), sameUrl())
    const results = [one.crew.kickoff({ id: 'r' }), two.crew.kickoff({ id: 'r' })]
    await Promise.all([one.asked, two.asked])
    one.answer()
    two.answer()
    assert.deepEqual((await Promise.all(results)).map(String), ['done', 'done'])
  })

  test('with a world each and one store are told apart by the lease, and a dead one is taken over', async () => {
    const dead = new Set<number>()
    const store = memoryStore({ isGone: ({ pid }) => dead.has(pid) })
    const one = crewIn(worldOf(1), store)
    const two = crewIn(worldOf(2), store)
    const first = one.crew.kickoff({ id: 'r' })
    await one.asked
    await assert.rejects(two.crew.resume('r'), { code: 'RUN_HELD', message: /process 1 on host/ })
    dead.add(1)
    two.answer()
    assert.equal((await two.crew.resume('r')).raw, 'done')
    one.answer()
    await assert.rejects(first, { code: 'LEASE_LOST' })
  })
})
