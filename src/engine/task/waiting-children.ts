// Tasks that wait for a child run, while other tasks of the run are in progress.
import type { Life } from '../life.ts'
import { recordChildMessages } from '../inbox/send-message.ts'
import { canContinue } from './children.ts'
import { activeChildren } from '../../journal/state/tally.ts'

/** The waiting tasks whose child runs can continue. */
export async function childrenToContinue(life: Life, waiting: readonly string[]): Promise<string[]> {
  const { state, engine, mailBelow } = life
  if (waiting.length === 0 || !mailBelow.consume()) return []
  await recordChildMessages(life)
  const found: string[] = []
  for (const task of waiting) {
    const runs = activeChildren(state, task).map((child) => canContinue(engine.store, child.run))
    if ((await Promise.all(runs)).some(Boolean)) found.push(task)
  }
  return found
}
