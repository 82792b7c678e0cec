// Executes one seed: a random crew and a random history, undisturbed and again under kills. Reports differences between
// the two, and other defects.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Step } from './act.ts'
import { difference, differentEnds } from './compare.ts'
import { crewPlan, type CrewPlan } from './crew-plan.ts'
import { freshRuns } from './fresh.ts'
import { nextScenes, type Scene } from './history.ts'
import { lastWords } from './last-words.ts'
import { effectsIn } from './ledger.ts'
import type { Performed } from './perform.ts'
import { randomOf, type Random } from './random.ts'
import { openSide, type Side, type Storm } from './side.ts'

export interface Totals {
  seeds: number
  steps: number
  runs: number
  kills: number
  replays: number
  backtests: number
  exports: number
  imports: number
  effects: number
  requests: number
}

export interface Failure {
  readonly step: string
  /** The defect, as `type: description`. */
  readonly problem: string
}

export interface SeedResult {
  readonly failures: readonly Failure[]
  readonly totals: Totals
}

interface Told {
  readonly scene: Scene
  readonly performed: Performed
}

/** Keeps the files of a failing seed for inspection. */
export async function stormSeed(storm: Storm, seed: number): Promise<SeedResult> {
  const folder = join(storm.folder, `${storm.store}-${seed}`)
  const result = await stormIn(folder, storm, seed)
  if (result.failures.length === 0) await rm(folder, { recursive: true, force: true })
  return result
}

async function stormIn(folder: string, storm: Storm, seed: number): Promise<SeedResult> {
  const random = randomOf(seed)
  const plan = crewPlan(random)
  const failures: Failure[] = []
  const fresh = freshRuns(storm.workers, join(folder, 'fresh'))
  const calm = await openSide(storm, join(folder, 'calm'), fresh, (step, problem) =>
    failures.push({ step: `${step}, undisturbed`, problem }),
  )
  await using _calmStage = calm.stage
  const history = await calmHistory(calm, random, plan)
  const known = new Set(failures.map(({ problem }) => problem))
  const wild = await openSide(storm, join(folder, 'wild'), fresh, (step, problem) => {
    if (!known.has(problem)) failures.push({ step, problem })
  })
  await using _wildStage = wild.stage
  let apart = false
  for (const [index, { scene, performed }] of history.entries()) {
    // its own random numbers, so that a step is disturbed in the same way however long the earlier steps took
    const strikes = randomOf(seed * 1000 + index)
    const { outcome } = await wild.live(scene, `step ${index + 1}, ${nameOf(scene.step)}`, strikes, performed)
    const differs = difference(scene.step.act, performed.outcome, outcome)
    if (differs === undefined) continue
    failures.push({ step: `step ${index + 1}, ${nameOf(scene.step)}`, problem: differs })
    apart = true
    // later steps would differ for the same reason
    break
  }
  if (!apart)
    failures.push(...(await differentEnds(calm.stage, wild.stage)).map((problem) => ({ step: 'the end', problem })))
  await lastWords(wild, randomOf(seed * 1000 + 999), history.at(-1)?.scene.plan ?? plan)
  const happened = wild.stage.ledger.all()
  const count = (...acts: Step['act'][]): number => wild.acts.filter((act) => acts.includes(act)).length
  const totals = {
    seeds: 1,
    steps: wild.acts.length,
    runs: (await Promise.all((['here', 'there'] as const).map((at) => wild.stage.look(at)))).flat().length,
    kills: wild.kills(),
    replays: count('fork', 'refresh'),
    backtests: count('backtest'),
    exports: count('export'),
    imports: count('import'),
    effects: effectsIn(happened).length,
    requests: happened.filter(({ what }) => what === 'request').length,
  }
  return { failures, totals }
}

async function calmHistory(side: Side, random: Random, first: CrewPlan): Promise<Told[]> {
  const history: Told[] = []
  const wanted = 4 + random.below(6)
  let plan = first
  while (history.length < wanted) {
    for (const scene of nextScenes(random, plan, [...side.known.values()], history.length)) {
      history.push({ scene, performed: await side.live(scene, `step ${history.length + 1}, ${nameOf(scene.step)}`) })
      plan = scene.plan
    }
  }
  return history
}

export function nameOf(step: Step): string {
  return `${step.act} ${'id' in step ? step.id : 'run' in step ? step.run : 'crew' in step ? step.crew : step.as}`
}
