// Fresh kickoffs. Reused, kept and refreshed outputs must equal theirs.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Outcome } from './act.ts'
import { countsOf } from './checks.ts'
import type { CrewPlan } from './crew-plan.ts'
import type { Known, Scene } from './history.ts'
import type { Happened } from './ledger.ts'
import { hashOf } from './random.ts'
import { openStage } from './stage.ts'
import type { Workers } from './workers.ts'

export type Fresh = (
  plan: CrewPlan,
  inputs: Known['inputs'],
) => Promise<{ outcome: Outcome; happened: readonly Happened[] }>

/** Fresh kickoffs, each executed once. */
export function freshRuns(workers: Workers, folder: string): Fresh {
  const made = new Map<string, ReturnType<Fresh>>()
  return (plan, inputs) => {
    const key = hashOf([plan, inputs])
    const run = async (): ReturnType<Fresh> => {
      const stage = await openStage(join(folder, key), 'sqlite')
      const ended = await workers.follow({
        folder: stage.folder,
        url: stage.url('here'),
        plan,
        deed: { act: 'fresh', inputs },
      })
      if (ended.killed) throw new Error('a process was killed unexpectedly')
      return { outcome: ended, happened: stage.ledger.all() }
    }
    if (!made.has(key)) made.set(key, run())
    return made.get(key)!
  }
}

/**
 * Checks that reused, kept and refreshed outputs equal those of a fresh kickoff, and that a fresh kickoff executes all
 * of its tasks.
 */
export async function unlikeFresh(
  fresh: Fresh,
  { step, plan, outOfOrder }: Scene,
  { status, tasks }: Outcome,
  known: ReadonlyMap<string, Known>,
  news: readonly Happened[] | undefined,
): Promise<string[]> {
  const run = 'id' in step ? known.get(step.id) : undefined
  const renewed =
    step.act === 'refresh' ||
    step.act === 'kickoff' ||
    (step.act === 'fork' && step.stale === 'rerun') ||
    (step.act === 'resume' && step.was !== undefined)
  if (!run || !renewed || status !== 'completed' || run.edited || outOfOrder) return []
  const { outcome, happened } = await fresh(plan, run.inputs)
  const shape = (all: Outcome['tasks']) => all?.map(([name, raw, how]) => [name, raw, how === 'skipped'])
  const problems: string[] = []
  if (!isDeepStrictEqual(shape(tasks), shape(outcome.tasks)))
    problems.push(
      `fresh: unlike a fresh kickoff, ${JSON.stringify(shape(tasks))} and not ${JSON.stringify(shape(outcome.tasks))}`,
    )
  if (news && step.act === 'kickoff' && !step.reuse && step.through === undefined) {
    const [here, there] = [news, happened].map((all) => countsOf([], all))
    if (!isDeepStrictEqual(here, there))
      problems.push(`fresh: a kickoff made ${JSON.stringify(here)}, a fresh one ${JSON.stringify(there)}`)
  }
  return problems
}
