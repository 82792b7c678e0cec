// What this process is working on, by store and run. A store lets an owner take over its own lease, so two calls in one
// process would both advance a run: here the second one is refused.
import { RepriseError } from '../../base/errors.ts'
import type { Owner } from '../../journal/entries.ts'
import { sameOwner } from '../../stores/owner.ts'
import type { Engine } from '../definition.ts'

/**
 * Reserves a run in this process, before its lease is taken. RUN_HELD if the process executes the run already. Calling
 * the result ends the reservation; further calls do nothing.
 */
export function reserveRun(engine: Engine, run: string): () => void {
  const { runs } = engine.world.process
  const name = localRunKey(engine, run)
  if (runs.has(name)) {
    const words = `run ${run} is already being executed by this process; await that call, or cancel it first`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
  }
  runs.add(name)
  let mine = true
  return () => {
    if (mine) runs.delete(name)
    mine = false
  }
}

/** Who executes a run now. A lease that this process holds for a run that it isn't executing is a leftover. */
export async function runExecutor(engine: Engine, run: string): Promise<Owner | undefined> {
  const owner = await engine.store.holder(run)
  const ours = owner && sameOwner(owner, engine.world.owner)
  return ours && !engine.world.process.runs.has(localRunKey(engine, run)) ? undefined : owner
}

/** Does short work on a run: one piece at a time, and `reserveRunInTurn` waits for it. */
export function runBriefWork(engine: Engine, run: string, work: () => Promise<void>): Promise<void> {
  return engine.world.process.briefWork(localRunKey(engine, run), work)
}

/** Like `reserveRun`, but waits for short work, such as an answer that is being recorded, instead of being refused. */
export function reserveRunInTurn(engine: Engine, run: string): Promise<() => void> {
  return engine.world.process.briefWork(localRunKey(engine, run), async () => reserveRun(engine, run))
}

/** A name for a run that no run of another store has. */
export function localRunKey({ store, world }: Pick<Engine, 'store' | 'world'>, run: string): string {
  return `${world.process.storeKey(store.direct)} ${run}`
}
