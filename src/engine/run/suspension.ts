// Why a run is suspended, found when nothing of it can advance. An orphaned task of a child run comes first: answers
// alone do not continue that run.
import { orphanedIn } from '../../journal/state/change-tasks.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import type { NewEntry, OrphanedTask } from '../../journal/entries.ts'
import type { Life } from '../life.ts'
import { childReader } from '../task/children.ts'
import { activeChildren, type ChildRun } from '../../journal/state/tally.ts'

/** The entry of a run in which these tasks wait. */
export async function suspension(life: Life, waiting: readonly string[]): Promise<NewEntry> {
  const { state } = life
  const type = 'run.suspended'
  const children = waiting.flatMap((name) => activeChildren(state, name))
  const orphaned = await orphanedUnder(life, children)
  if (orphaned.length > 0) return { type, reason: 'tasks-changed', orphaned }
  const open = openQuestions(state)
  if (open.length > 0)
    return { type, reason: open.every((question) => question.kind === 'limit') ? 'limit' : 'questions' }
  if (children.length > 0) return { type, reason: 'child', children: children.map(({ path }) => path) }
  return { type, reason: 'parent' }
}

/** A function may have ceased to kick off a run that is there. */
async function orphanedUnder(
  { engine, childRuns: within, kickedOff }: Life,
  children: readonly ChildRun[],
): Promise<OrphanedTask[]> {
  const readChild = childReader(engine.store, within)
  const current = children.filter(({ task }) => !task.includes('/') || kickedOff.has(task))
  const found = await Promise.all(
    current.map(async ({ run, task: address }) => {
      const child = await readChild(run)
      return (child ? orphanedIn(child) : []).map((orphan) => ({ ...orphan, task: `${address}/${orphan.task}` }))
    }),
  )
  return found.flat()
}
