// Steps without an undisturbed counterpart, since their result depends on timing: a run that other processes cancel,
// answer and resume while it is executed, and an interrupted run that continues as a copy, in another store or under
// another id. Only what must always hold is checked.
import type { CrewPlan } from './crew-plan.ts'
import type { Scene } from './history.ts'
import type { Random } from './random.ts'
import type { Side } from './side.ts'

const kickoff = { act: 'kickoff', at: 'here', inputs: { in0: 'z', in1: 'z' }, asks: 'later' } as const

export async function lastWords(side: Side, random: Random, plan: CrewPlan): Promise<void> {
  side.stage.putOutOfOrder(false)
  await cancelled(side, random, plan)
  await moved(side, random, plan)
}

async function cancelled(side: Side, random: Random, plan: CrewPlan): Promise<void> {
  expect(side, 'z')
  const working = side.attempt(plan, { ...kickoff, id: 'z' }, random.chance(0.3) ? { after: random.below(300) } : {})
  await new Promise((resolve) => setTimeout(resolve, random.below(200)))
  await Promise.all([
    working,
    side.attempt(plan, { act: 'cancel', at: 'here', run: 'z' }),
    side.attempt(plan, { act: 'answer', run: 'z', doubtsOnly: false }),
    side.attempt(plan, { act: 'resume', at: 'here', id: 'z', asks: 'live' }),
  ])
  if (!(await isThere(side, 'z'))) return
  await side.live(sceneOf(plan, { act: 'resume', at: 'here', id: 'z', asks: 'later' }), 'a cancelled run')
  await side.live(sceneOf(plan, { act: 'cancel', at: 'here', run: 'z' }), 'a cancelled run')
}

async function moved(side: Side, random: Random, plan: CrewPlan): Promise<void> {
  expect(side, 'y')
  const moment = random.pick(['before', 'behind', 'behind', 'effect', 'request'] as const)
  const number = 1 + random.below(moment === 'effect' || moment === 'request' ? 6 : 40)
  await side.attempt(plan, { ...kickoff, id: 'y' }, { kill: { moment, number } })
  if (!(await isThere(side, 'y'))) return
  const at = random.pick(['here', 'there'] as const)
  const as = at === 'there' && random.chance(0.5) ? 'y' : 'x'
  const file = 'y.export'
  await side.live(sceneOf(plan, { act: 'export', at: 'here', run: 'y', file }), 'a moved run')
  await side.live(sceneOf(plan, { act: 'import', at, file, of: 'y', as }), 'a moved run')
  await side.live(sceneOf(plan, { act: 'resume', at, id: as, was: 'y', asks: 'later' }), 'a moved run')
}

function sceneOf(plan: CrewPlan, step: Scene['step']): Scene {
  return { step, plan, outOfOrder: false }
}

function expect({ known, stage }: Side, id: string): void {
  const { at, inputs } = kickoff
  const born = stage.ledger.all().length
  known.set(id, { id, at, inputs, status: 'failed', edited: false, again: false, gone: false, born })
}

async function isThere({ stage }: Side, id: string): Promise<boolean> {
  return (await stage.look('here', (run) => run === id)).length > 0
}
