// onPlan: the plan that it receives is the plan that is executed, and both come from one reading.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Crew, Plan, RunPromise } from 'reprise'
import { newStore } from '../../engine/support.ts'
import { asked, diamond, diamondInputs as inputs } from './diamond.ts'

const verbs: { readonly [verb: string]: (crew: Crew, onPlan: (plan: Plan) => boolean) => RunPromise } = {
  kickoff: (crew, onPlan) => crew.kickoff({ inputs, onPlan }),
  resume: (crew, onPlan) => crew.resume('half', { onPlan }),
  replay: (crew, onPlan) => crew.replay('join', { runId: 'done', onPlan }),
  fork: (crew, onPlan) => crew.fork({ runId: 'done', inputs: { reader: 'Bob' }, onPlan }),
  refresh: (crew, onPlan) => crew.refresh({ runId: 'done', inputs: { reader: 'Eve' }, onPlan }),
  'a kickoff of a run that is there': (crew, onPlan) => crew.kickoff({ id: 'half', inputs, onPlan }),
}

for (const [verb, call] of Object.entries(verbs)) {
  describe(`onPlan of ${verb}`, () => {
    const scene = async () => {
      const made = diamond()
      await made.crew.kickoff({ id: 'done', inputs })
      await made.crew.kickoff({ id: 'half', inputs, through: 'left' })
      return { ...made, crew: made.crew as Crew, calls: made.model.calls.length }
    }

    test('sees what is executed then', async () => {
      const { crew, model, calls } = await scene()
      const plans: Plan[] = []
      await call(crew, (plan) => plans.push(plan) > 0)
      assert.equal(plans.length, 1)
      assert.deepEqual(asked(model, calls), plans[0]?.execute)
    })

    test('that refuses leaves everything as it was', async () => {
      const { crew, model, calls } = await scene()
      const before = await crew.runs().page()
      await assert.rejects(
        call(crew, () => false),
        { code: 'PLAN_REFUSED' },
      )
      assert.deepEqual(await crew.runs().page(), before)
      assert.equal(model.calls.length, calls)
      // the refused plan holds no lease on the run
      assert.equal((await crew.run('half').resume()).status, 'completed')
    })

    test('that returns neither yes nor no is reported', async () => {
      const { crew } = await scene()
      await assert.rejects(
        call(crew, () => undefined as never),
        { code: 'OPTION_INVALID', message: /true or false/ },
      )
    })
  })
}

test('a plan that was overtaken during its review is shown again', async () => {
  const { crew } = diamond()
  await crew.kickoff({ id: 'half', inputs, through: 'left' })
  const plans: (readonly string[])[] = []
  const result = await crew.replay('end', {
    runId: 'half',
    async onPlan({ execute }) {
      plans.push(execute)
      if (plans.length === 1) await crew.resume('half')
      return true
    },
  })
  assert.deepEqual(plans, [['right', 'side', 'join', 'end'], ['end']])
  assert.equal(result.task('join').status, 'inherited')
})

test('a plan, a replay, a fork, a refresh and a resume read each run once', async () => {
  const store = newStore()
  let reads: string[] = []
  const counting = new Proxy(store, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      if (key !== 'read') return member.bind(target) as unknown
      return (run: string, after?: number) => {
        // whether anything came since is not a reading of the run
        if (after === undefined) reads.push(run)
        return target.read(run, after)
      }
    },
  })
  const { crew } = diamond({ store: counting })
  for (const id of ['a', 'b', 'c']) await crew.kickoff({ id, inputs })
  await crew.kickoff({ id: 'half', inputs, through: 'left' })
  const onPlan = (): boolean => true
  for (const [what, work] of Object.entries({
    plan: () => crew.plan({ runId: 'a', from: 'join' }),
    'plan of a resume': () => crew.plan({ of: 'resume', runId: 'half' }),
    replay: () => crew.replay('join', { runId: 'a', onPlan }),
    fork: () => crew.fork({ runId: 'a', outputs: { left: 'mine' }, onPlan }),
    refresh: () => crew.refresh({ runId: 'a', inputs: { topic: 'fire' }, onPlan }),
    resume: () => crew.resume('half', { onPlan }),
    'a result': () => crew.run('a').result(),
  })) {
    reads = []
    await work()
    assert.deepEqual(reads.toSorted(), [...new Set(reads)].toSorted(), what)
  }
})
