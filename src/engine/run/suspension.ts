// What a run waits for when nothing can advance: why it is suspended, and which of its waiting tasks can continue.
import { orphanedIn } from '../../journal/state/change-tasks.ts'
import type { NewEntry, OrphanedTask } from '../../journal/entries.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import { activeChildren, type ChildRun } from '../../journal/state/tally.ts'
import { recordChildMessages } from '../inbox/send-message.ts'
import type { Life } from '../life.ts'
import { canContinue, childReader } from '../task/children.ts'
import { suspendedUntil } from '../../read/row-summary.ts'

/**
 * Returns the entry that suspends a run in which these tasks wait and nothing can advance before the first of `times`.
 * Orphaned tasks of a child run are the first reason, since answers alone do not continue that run.
 */
export async function suspension(
  life: Life,
  waiting: readonly string[],
  times: readonly number[] = [],
): Promise<NewEntry> {
  const { state } = life
  const type = 'run.suspended'
  const children = waiting.flatMap((name) => activeChildren(state, name))
  const orphaned = await orphanedInChildren(life, children)
  if (orphaned.length > 0) return { type, reason: 'tasks-changed', orphaned }
  const first = Math.min(...times, ...(await endsOfChildren(life, children)))
  const until = first === Infinity ? {} : { until: new Date(first).toISOString() }
  const open = openQuestions(state)
  if (open.length > 0)
    return { type, reason: open.every((question) => question.kind === 'limit') ? 'limit' : 'questions', ...until }
  if (children.length > 0) return { type, reason: 'child', children: children.map(({ path }) => path), ...until }
  return { type, reason: 'parent', ...until }
}

/** The times at which suspended child runs continue, in ms since 1970. */
async function endsOfChildren({ engine, childRuns }: Life, children: readonly ChildRun[]): Promise<number[]> {
  const readChild = childReader(engine.store, childRuns)
  const read = await Promise.all(children.map(({ run }) => readChild(run)))
  return read.flatMap((child) => (child && suspendedUntil(child)) ?? [])
}

/** Returns the orphaned tasks of child runs, except runs that a function no longer kicks off. */
async function orphanedInChildren(
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

/** Records messages for child runs, and returns the waiting tasks whose child runs can continue. */
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
