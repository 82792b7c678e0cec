// One of the two executions of a history: its stage, the known runs, and the checks after every step.
import { isDeepStrictEqual } from 'node:util'
import type { StoreKind } from '../support/store-place.ts'
import type { Deed, Outcome, Step } from './act.ts'
import { badTraces, doubledEffects, multipliedCalls, untrueJournals } from './checks.ts'
import type { CrewPlan } from './crew-plan.ts'
import { unlikeFresh, type Fresh } from './fresh.ts'
import type { Known, Scene } from './history.ts'
import { perform, type Performed, type Strike, type Target } from './perform.ts'
import type { Random } from './random.ts'
import { openStage } from './stage.ts'
import type { Workers } from './workers.ts'

export interface Storm {
  readonly workers: Workers
  readonly folder: string
  readonly store: StoreKind
  readonly tell?: ((line: string) => void) | undefined
}

export type Side = Awaited<ReturnType<typeof openSide>>

/** `fail` receives every defect. */
export async function openSide(
  storm: Storm,
  folder: string,
  fresh: Fresh,
  fail: (step: string, problem: string) => void,
) {
  const stage = await openStage(folder, storm.store)
  const known = new Map<string, Known>()
  let kills = 0
  const acts: Step['act'][] = []

  async function live(scene: Scene, name: string, random?: Random, target?: Target): Promise<Performed> {
    const { step } = scene
    acts.push(step.act)
    const since = stage.ledger.all().length
    const before = await stage.look(step.at)
    const files = stage.files()
    const performed = await perform(storm.workers, stage, scene, random, target)
    kills += performed.kills
    learn(known, step, performed.outcome, since)
    const after = await stage.look(step.at)
    const happened = stage.ledger.all()
    const news = happened.slice(since)
    const problems = [
      ...performed.problems,
      ...badTraces(step, before, after, news),
      ...(step.act === 'backtest' && !isDeepStrictEqual(files, stage.files()) ? ['backtest: a file was written'] : []),
      ...untrueJournals(after, step.at, known, happened),
      ...multipliedCalls(after),
      ...doubledEffects(after, known, happened, since),
      ...(await unlikeFresh(fresh, scene, performed.outcome, known, random ? undefined : news)),
    ]
    storm.tell?.(`${name} ${JSON.stringify(step)}: ${JSON.stringify(performed.outcome)}, ${performed.kills} kills`)
    for (const problem of new Set(problems)) fail(name, problem)
    return performed
  }
  /** Executes one step without checks, and ignores its result. */
  async function attempt(plan: CrewPlan, deed: Deed, strike: Strike = {}): Promise<void> {
    const command = { folder: stage.folder, url: stage.url('here'), plan, deed, kill: strike.kill }
    const ended = await storm.workers.follow(command, strike.after)
    if (ended.killed) kills += 1
    else if (ended.crash !== undefined) fail(deed.act, `thrown: a process threw ${ended.crash}`)
  }

  return { stage, known, live, attempt, acts, kills: () => kills }
}

/** Updates the known runs after a step. */
function learn(known: Map<string, Known>, step: Step, outcome: Outcome, born: number): void {
  const status = outcome.code === undefined ? (outcome.status as Known['status']) : 'failed'
  const set = (id: string, changes: Partial<Known>): void => {
    const run = known.get(id)
    if (run) known.set(id, { ...run, ...changes })
  }
  const refused = outcome.code !== undefined && !['TASK_FAILED', 'OUTPUT_REFUSED'].includes(outcome.code)
  switch (step.act) {
    case 'kickoff':
      if (refused) return
      known.set(step.id, {
        id: step.id,
        at: step.at,
        status,
        inputs: step.inputs,
        edited: false,
        born,
        again: false,
        gone: false,
      })
      return
    case 'fork':
    case 'refresh': {
      if (refused) return
      const parent = known.get(step.run)
      const edited = (parent?.edited ?? false) || ('outputs' in step && step.outputs !== undefined)
      const again = step.act === 'fork' && step.effects === 'again'
      const inputs = { ...parent?.inputs, ...step.inputs }
      known.set(step.id, {
        id: step.id,
        at: step.at,
        status,
        inputs,
        edited,
        parent: step.run,
        born,
        again,
        gone: false,
      })
      return
    }
    case 'resume':
      if (!refused) set(step.id, { status })
      return
    case 'edit':
      if (!refused) set(step.run, { edited: true })
      return
    case 'cancel':
      set(step.run, { status: 'cancelled' })
      return
    case 'import': {
      const of = known.get(step.of)
      if (!of || refused) return
      if (of.status !== 'completed') known.set(of.id, { ...of, gone: true })
      const parent = step.as === of.id ? of.parent : of.id
      known.set(step.as, {
        ...of,
        id: step.as,
        at: step.at,
        parent,
        born: step.as === of.id ? of.born : born,
        gone: false,
      })
      return
    }
    case 'delete':
      set(step.run, { gone: true })
      return
    case 'prune':
      for (const run of (outcome.gave ?? []) as string[]) set(run, { gone: true })
      return
    case 'export':
    case 'invalidate':
    case 'backtest':
  }
}
