// Deleting runs of one crew, or of all, for prune and reset.
import type { Engine } from '../../../engine/definition.ts'
import { backtestName } from '../../../engine/history/backtest-name.ts'
import { prune as remove, type Pruned, type PruneLimits } from '../../../runs/prune.ts'

/** Of one crew, its backtests too. */
export async function pruneCrew(engine: Engine, crew: string | undefined, limits: PruneLimits): Promise<Pruned> {
  if (crew === undefined) return remove(engine, {}, limits)
  const own = await remove(engine, { crew }, limits)
  const tests = await remove(engine, { crew: backtestName(crew) }, limits)
  return { ...own, runs: [...own.runs, ...tests.runs], held: [...own.held, ...tests.held] }
}
