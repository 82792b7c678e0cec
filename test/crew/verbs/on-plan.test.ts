// onPlan: the plan that it receives is the plan that is executed; both come from one reading of the run.
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

    test(`onPlan of ${verb} receives the plan that is executed`, async () => {
      const { crew, model, calls } = await scene()
      const plans: Plan[] = []
      await call(crew, (plan) => plans.push(plan) > 0)
      assert.equal(plans.length, 1)
      assert.deepEqual(asked(model, calls), plans[0]?.execute)
    })

    test(`onPlan of ${verb} that returns false changes nothing`, async () => {
      const { crew, model, calls } = await scene()
      const before = await crew.runs().page()
      await assert.rejects(
        call(crew, () => false),
        { code: 'PLAN_REFUSED' },
      )
      assert.deepEqual(await crew.runs().page(), before)
      assert.equal(model.calls.length, calls)
      // the refused call has not kept the lease
      assert.equal((await crew.run('half').resume()).status, 'completed')
    })

    test(`onPlan of ${verb} that returns no boolean is refused`, async () => {
      const { crew } = await scene()
      await assert.rejects(
        call(crew, () => undefined as never),
        { code: 'OPTION_INVALID', message: /true or false/ },
      )
    })
  })
}

test('a plan that became outdated during its review is passed to onPlan again', async () => {
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
        // checking for new entries doesn't count as reading the run
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
