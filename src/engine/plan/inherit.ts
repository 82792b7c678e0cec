// An output that makes executing a task needless, looked for when the task's turn comes and everything that it is given is known:
// the one that its parent offered, or, where the run is to reuse what there is, one of any run of the crew.
import type { NewEntry, OutputPlace, StoredOutput } from '../../journal/entries.ts'
import { changedFields } from '../../journal/fingerprint.ts'
import { edited } from '../../journal/edits.ts'
import { digest } from '../../journal/hash.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../definition.ts'
import { outputsFor } from '../execute-task.ts'
import type { Hold } from '../hold.ts'
import { readRun } from '../read-run.ts'

/** The entry that completes the task without executing it. None for a task that was started: it goes on. */
export async function inheritance(
  { engine, state }: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
): Promise<NewEntry | undefined> {
  const known = state.tasks.get(task.name)
  if (known && known.attempts.length > 0) return undefined
  const offered = known?.offered
  if (!offered && !state.reuse) return undefined
  const fingerprint = task.fingerprint(state.inputs, outputsFor(state, task))
  if (offered?.output.fingerprint && changedFields(offered.output.fingerprint, fingerprint).length === 0) {
    const reasons = ['what it depends on came out equal']
    return { type: 'task.inherited', path: task.name, from: offered.from, reasons }
  }
  if (!state.reuse) return undefined
  const found = await findReusable(engine, crew.name, task, digest(fingerprint), state.reuse)
  if (!found) return undefined
  const reasons = [`it was made from the same at ${found.output.completedAt}`]
  return { type: 'task.inherited', path: task.name, ...found, reasons }
}

/** The newest output of the task, in any run of the crew, with that fingerprint and not older than said. */
export async function findReusable(
  { store, world }: Engine,
  crew: string,
  task: TaskDefinition,
  fingerprint: string,
  { maxAgeSeconds }: { readonly maxAgeSeconds?: number },
): Promise<{ from: OutputPlace; output: StoredOutput } | undefined> {
  const since = maxAgeSeconds === undefined ? undefined : world.now().getTime() - maxAgeSeconds * 1000
  const from = await store.findOutput(crew, task.name, fingerprint, since)
  if (!from) return undefined
  // the run may have been deleted a moment ago, or changed by hand since its output was noted
  const read = await readRun(store, from.run).catch(() => undefined)
  const made = read?.state.tasks.get(task.name)
  if (!read || edited(read.state) || made?.seq !== from.seq || !made.output?.fingerprint) return undefined
  return digest(made.output.fingerprint) === fingerprint ? { from, output: made.output } : undefined
}
