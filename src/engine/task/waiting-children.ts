// Tasks that wait for a run of their own, while others of their run are in progress.
import type { Life } from '../life.ts'
import { recordBelow } from '../people/tell.ts'
import { childOf, canContinue } from './children.ts'

/** Those of these tasks whose runs can continue. */
export async function childrenToContinue(life: Life, waiting: readonly string[]): Promise<string[]> {
  const { state, engine, mailBelow } = life
  if (waiting.length === 0 || !mailBelow.take()) return []
  await recordBelow(life)
  const found: string[] = []
  for (const task of waiting) {
    const child = childOf(state, task)
    if (child && (await canContinue(engine.store, child.run))) found.push(task)
  }
  return found
}
