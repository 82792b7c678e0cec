// Telling the user's code what happened in a run. What it throws fails the run; a resume calls it again.
import { messageOf, RepriseError } from '../../errors.ts'
import { taskOf } from '../../journal/paths.ts'
import { redact } from '../../secrets/redact.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { Callbacks, CrewDefinition } from '../definition.ts'
import { fileReader } from '../read/run-files.ts'
import type { Hold } from '../lease/hold.ts'
import { readEntries } from '../read/read-run.ts'

/** Calls back for each task that was completed here and of which nobody was told: also for one that a crash came behind. */
export async function tellOfTasks(hold: Hold, crew: CrewDefinition): Promise<void> {
  const { task: tell } = callbacksOf(hold, crew)
  for (const task of tell ? crew.tasks : []) {
    const known = hold.state.tasks.get(task.name)
    if (known?.source !== 'executed' || known.seq === undefined || known.told === known.seq) continue
    await hold.ready()
    await callBack(
      () => tell?.(hold.state, task, fileReader(hold.engine.store, hold.state)),
      `the callback of task ${task.name}`,
      task.name,
    )
    await hold.append([{ type: 'callback.returned', path: task.name, of: known.seq }])
  }
}

/**
 * Calls back for each step that is on disk and of which nobody was told, one at a time and in the order of the journal. What says so goes
 * with the next append, since an append of its own would double what a step costs: a crash before that lets the resume tell of it again.
 */
export async function tellOfSteps(hold: Hold, crew: CrewDefinition, signal: AbortSignal = hold.signal): Promise<void> {
  const { step: tell } = callbacksOf(hold, crew)
  if (!tell) return
  // when one has thrown the run fails, and nobody is told of anything more
  const now = (telling.get(hold) ?? Promise.resolve(hold.state.told ?? 0)).then((told) => tellFrom(hold, tell, told))
  telling.set(hold, now)
  await unlessAborted(now, signal)
}

/** The last entry that was looked at, in this life of a run. */
const telling = new WeakMap<Hold, Promise<number>>()

async function tellFrom(hold: Hold, tell: NonNullable<Callbacks['step']>, after: number): Promise<number> {
  const { state, engine } = hold
  const readFile = fileReader(engine.store, state)
  let told = after
  // from the store, where only what is on disk is found
  for await (const { entry } of readEntries(engine.store, state.run, after)) {
    hold.signal.throwIfAborted()
    if (entry.type === 'model.replied' || entry.type === 'tool.returned') {
      await callBack(() => tell(state, entry, readFile), `onStep at ${entry.path}`, taskOf(entry.path ?? ''))
      hold.mark({ type: 'callback.returned', of: entry.seq })
    }
    told = entry.seq
  }
  return told
}

export async function tellOfEnd(hold: Hold, crew: CrewDefinition): Promise<void> {
  const { after } = callbacksOf(hold, crew)
  if (!after) return
  await hold.ready()
  await callBack(() => after(hold.state), 'afterKickoff')
}

/** Nobody is told of a run that does nothing to the world: nothing has happened. */
function callbacksOf({ state }: Hold, { callbacks = {} }: CrewDefinition): Callbacks {
  return state.effects === 'never' ? {} : callbacks
}

async function callBack(call: () => unknown, what: string, task?: string): Promise<void> {
  try {
    await call()
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `${what} threw: ${redact(messageOf(error))}`, { task, cause: error })
  }
}
