// A clock that jumps, forward or back, is not working time: no budget and no limit counts the jump.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { advance } from '../../../src/crew/verbs/advance.ts'
import { queueRun } from '../../../src/engine/run/create-run.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, stateOf } from '../../engine/support.ts'
import { fakeTime, type FakeTime } from './fake-time.ts'

const quiet = { info() {}, warn() {} }
const hour = 3_600_000

/** A model that takes ten seconds for a reply; the clock is set before the third is given. */
function slowModel(time: FakeTime, ahead: number) {
  const script = scriptedModel([{ when: '', reply: 'done' }])
  const model: typeof script = {
    ...script,
    async doGenerate(request) {
      time.now += 10_000
      if (script.calls.length === 2) time.ahead += ahead
      return script.doGenerate(request)
    },
  }
  return { model, calls: script.calls }
}

function taskList(model: ReturnType<typeof slowModel>['model'], count: number): Task[] {
  const agent = new Agent({ role: 'A', goal: 'g', model })
  return Array.from({ length: count }, (_, index) => new Task({ name: `t${index}`, description: `T${index}`, agent }))
}

async function queued(crew: Crew, time: FakeTime): Promise<void> {
  const open = time.open(crew)
  assert.ok(await queueRun(await open.engine(), open.definition, { run: 'r', inputs: {} }))
}

for (const [way, ahead] of [
  ['ahead', hour],
  ['back', -hour],
] as const) {
  describe(`a clock that jumps ${way} by an hour`, () => {
    test('changes nothing in a budget of seconds', async () => {
      const time = fakeTime()
      const { model, calls } = slowModel(time, ahead)
      const crew = new Crew({
        name: 'c',
        tasks: taskList(model, 9),
        store: time.store,
        logger: quiet,
        budget: { seconds: 55 },
      })
      await queued(crew, time)
      assert.equal((await advance(time.open(crew), 'r')).status, 'waiting')
      assert.equal(calls.length, 6)
      assert.equal((await stateOf(time.store, 'r')).activeMs, 60_000)
    })

    test('changes nothing in the next life either', async () => {
      const time = fakeTime()
      const { model, calls } = slowModel(time, ahead)
      const crew = new Crew({
        name: 'c',
        tasks: taskList(model, 9),
        store: time.store,
        logger: quiet,
        budget: { seconds: 55 },
      })
      await queued(crew, time)
      const until = AbortSignal.abort()
      for (let slice = 0; slice < 5; slice++)
        assert.equal((await advance(time.open(crew), 'r', { until })).status, 'more')
      assert.equal((await advance(time.open(crew), 'r')).status, 'waiting')
      assert.equal(calls.length, 6)
    })

    test('changes nothing while a nested crew works', async () => {
      const time = fakeTime()
      const { model, calls } = slowModel(time, ahead)
      const within = new Crew({ name: 'within', tasks: taskList(model, 9), logger: quiet })
      const tasks = [new Task({ name: 'nested', crew: within })]
      const crew = new Crew({ name: 'c', tasks, store: time.store, logger: quiet, budget: { seconds: 55 } })
      await queued(crew, time)
      assert.equal((await advance(time.open(crew), 'r')).status, 'waiting')
      assert.equal(calls.length, 6)
    })

    test('ends no agent, tool, function or model call by its limit', async (context) => {
      context.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01') })
      const set = (): void => context.mock.timers.setTime(Date.now() + ahead)
      const script = scriptedModel([
        { when: 'Look', after: 0, calls: [{ tool: 'look', input: {} }] },
        { when: 'Look', reply: 'seen' },
      ])
      const model: typeof script = { ...script, doGenerate: async (request) => (set(), script.doGenerate(request)) }
      const look = tool({
        name: 'look',
        description: 'Look',
        input: z.object({}),
        effect: 'read',
        maxSeconds: 60,
        run: () => (set(), 'a roof'),
      })
      const settings = { timeoutSeconds: 60 }
      const agent = new Agent({ role: 'A', goal: 'g', model, tools: [look], maxSeconds: 60, settings })
      const looking = new Task({ name: 'looking', description: 'Look', agent })
      const code = new Task({ name: 'code', effect: 'read', maxSeconds: 60, run: () => (set(), 'done') })
      const store = fakeTime().store
      const crew = new Crew({ name: 'c', tasks: [looking, code], store, logger: quiet })
      assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
    })
  })
}

test('the entry after a jump of the clock records its size, and no other entry does', async () => {
  const time = fakeTime()
  const { model } = slowModel(time, -hour)
  const crew = new Crew({ name: 'c', tasks: taskList(model, 3), store: time.store, logger: quiet })
  await queued(crew, time)
  await advance(time.open(crew), 'r')
  const jumps = (await entriesOf(time.store, 'r')).flatMap(({ type, path, jump }) =>
    jump === undefined ? [] : [[type, path, jump]],
  )
  assert.deepEqual(jumps, [['model.replied', 't2#1/1', -hour]])
})
