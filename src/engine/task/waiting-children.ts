// Tasks that wait for a run of their own, while others of their run are in progress.
import type { Life } from '../life.ts'
import { recordBelow } from '../people/tell.ts'
import { canContinue, childrenOf } from './children.ts'

/** Those of these tasks whose runs can continue. */
export async function childrenToContinue(life: Life, waiting: readonly string[]): Promise<string[]> {
  const { state, engine, mailBelow } = life
  if (waiting.length === 0 || !mailBelow.take()) return []
  await recordBelow(life)
  const found: string[] = []
  for (const task of waiting) {
    const runs = childrenOf(state, task).map((child) => canContinue(engine.store, child.run))
    if ((await Promise.all(runs)).some(Boolean)) found.push(task)
  }
  return found
}
