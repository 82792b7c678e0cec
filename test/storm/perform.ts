// Executes one step on one stage: undisturbed, or by processes that are killed in the middle, several processes at
// once, and with several people who answer.
import type { Deed, Outcome, Step } from './act.ts'
import { countsOf, repeatedWork, type Counts } from './checks.ts'
import type { Scene } from './history.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'
import type { Kill } from './worker.ts'
import type { Ended, Workers } from './workers.ts'

export interface Performed {
  readonly outcome: Outcome
  readonly problems: readonly string[]
  readonly kills: number
  /** Number of moments of each kind at which a process can be killed. */
  readonly moments: { readonly [moment in Kill['moment']]: number }
  /** Milliseconds. */
  readonly took: number
}

/** The undisturbed execution, to choose the moments of the kills. */
export type Target = Pick<Performed, 'moments' | 'took'>

/** When to kill: at a moment of the process's work, or this many milliseconds after its start. */
export interface Strike {
  readonly kill?: Kill
  readonly after?: number
}

const executing: readonly Step['act'][] = ['kickoff', 'resume', 'fork', 'refresh', 'backtest']
/** More processes than any step needs. */
const mostLives = 40

export async function perform(
  workers: Workers,
  stage: Stage,
  scene: Scene,
  random?: Random,
  target?: Target,
): Promise<Performed> {
  const { step, plan, outOfOrder } = scene
  stage.putOutOfOrder(outOfOrder)
  const problems: string[] = []
  const moments = { before: 0, behind: 0, effect: 0, request: 0 }
  const started = performance.now()
  let kills = 0
  let strikes = random && target ? random.pick([0, 1, 1, 2, 2, 3]) : 0

  async function life(deed: Deed, twice = false): Promise<Ended> {
    const strike: Strike = strikes > 0 && random && target ? strikeOf(random, target) : {}
    if (strikes > 0) strikes -= 1
    const command = { folder: stage.folder, url: stage.url(step.at), plan, deed }
    const both = [workers.follow({ ...command, kill: strike.kill }, strike.after)]
    if (twice) both.push(workers.follow(command))
    const ended = await Promise.all(both)
    for (const one of ended) {
      if (one.killed) kills += 1
      else if (one.crash !== undefined) problems.push(`thrown: a process threw ${one.crash}`)
      else for (const moment of Object.keys(moments) as Kill['moment'][]) moments[moment] += one.moments[moment]
    }
    // one of two processes may have failed because the other has the run, or has finished the step
    const done = ended.find((one) => !isHeld(one) && !('code' in one))
    return ended.find((one) => one.killed) ?? done ?? ended.find((one) => !isHeld(one)) ?? ended[0]!
  }

  const counted = async (): Promise<Counts | undefined> =>
    executing.includes(step.act) ? countsOf(await stage.look(step.at), stage.ledger.all()) : undefined

  let before = await counted()
  const asks = 'asks' in step ? step.asks : undefined
  for (let lives = 1; lives <= mostLives; lives++) {
    const deaths = kills
    const ended = await life(step, random?.chance(0.15))
    const after = await counted()
    if (before && after) problems.push(...repeatedWork(before, after, kills > deaths, outOfOrder))
    before = after
    if (ended.killed || isHeld(ended)) continue
    const waiting = (ended.questions ?? []).filter((kind) => asks !== 'doubts' || kind === 'doubt')
    if (ended.status === 'suspended' && waiting.length > 0 && 'id' in step) {
      const was = 'was' in step ? step.was : undefined
      await life({ act: 'answer', run: step.id, was, doubtsOnly: asks === 'doubts' }, random?.chance(0.3))
      continue
    }
    const { killed: _, moments: __, ...outcome } = ended
    return { outcome: settled(step, outcome, kills > 0), problems, kills, moments, took: performance.now() - started }
  }
  problems.push(`endless: it came to no end in ${mostLives} lives`)
  return { outcome: {}, problems, kills, moments, took: performance.now() - started }
}

/** Whether another process holds the run, or a trial of the backtest. */
function isHeld(ended: Ended): boolean {
  return !ended.killed && (ended.code === 'RUN_HELD' || JSON.stringify(ended.gave ?? '').includes('"RUN_HELD"'))
}

function strikeOf(random: Random, { moments, took }: Target): Strike {
  if (random.chance(0.25)) return { after: random.below(Math.max(2, Math.ceil(took))) }
  const possible = (Object.keys(moments) as Kill['moment'][]).filter((moment) => moments[moment] > 0)
  const moment = possible.length > 0 ? random.pick(possible) : 'before'
  return { kill: { moment, number: 1 + random.below(Math.max(1, moments[moment])) } }
}

/** Counts a step that was finished before a kill as the same outcome. */
function settled({ act }: Step, outcome: Outcome, killed: boolean): Outcome {
  const done = { delete: 'RUN_NOT_FOUND', cancel: 'RUN_ENDED' } as { readonly [act: string]: string }
  if (killed && outcome.code !== undefined && outcome.code === done[act]) return { status: 'done' }
  return outcome
}
