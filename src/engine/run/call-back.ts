// Tells the user's code what happened in a run. What it throws fails the run; a resume calls it again.
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { Entry } from '../../journal/entries.ts'
import { returnedCall } from '../../journal/call-entries.ts'
import { taskNameAt } from '../../journal/state/at-path.ts'
import { isStep } from '../../journal/table/entry-table.ts'
import { redact } from '../../secrets/redact.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { Callbacks, StepEntry, TaskDefinition } from '../definition.ts'
import { fileReader } from '../read/run-files.ts'
import type { Life } from '../life.ts'
import { readEntries } from '../read/read-run.ts'

/**
 * Calls back for each of these tasks that was completed here and not yet reported, also for one completed right before
 * a crash.
 */
export async function callTaskCallbacks(life: Life, tasks: readonly TaskDefinition[]): Promise<void> {
  const { task: tell } = callbacksOf(life)
  for (const task of tell ? tasks : []) {
    const known = life.state.tasks.get(task.name)
    if (known?.source !== 'executed' || known.seq === undefined || known.told === known.seq) continue
    await life.ready()
    await runCallback(
      () => tell?.(life.state, task, fileReader(life.engine.store, life.state)),
      `the callback of task ${task.name}`,
      task.name,
    )
    await life.append([{ type: 'callback.returned', path: task.name, of: known.seq }])
  }
}

/**
 * Calls back for each step that is on disk and not yet reported, one at a time and in the order of the journal. The
 * mark goes with the next append, since its own append would double what a step costs: after a crash before that, the
 * resume reports the step again.
 */
export async function callOnStep(life: Life, signal: AbortSignal = life.signal): Promise<void> {
  const { step: tell } = callbacksOf(life)
  if (!tell || (life.state.lastStep <= life.told.seq && !life.told.failed)) return
  await life.ready()
  await unlessAborted(
    life.queue.steps(() => callForSteps(life, tell)),
    signal,
  )
}

async function callForSteps(life: Life, tell: NonNullable<Callbacks['step']>): Promise<void> {
  const { state, engine, told } = life
  // when one has thrown the run fails, and nothing more is reported
  if (told.failed) throw told.failed.error
  const readFile = fileReader(engine.store, state)
  try {
    // from the store, where only what is on disk is found
    for await (const { entry } of readEntries(engine.store, state.run, told.seq)) {
      life.signal.throwIfAborted()
      if (isStepEntry(entry)) {
        await runCallback(
          () => tell(state, entry, readFile),
          `onStep at ${returnedCall(entry)?.path ?? entry.path}`,
          taskNameAt(state, entry.path ?? ''),
        )
        life.mark({ type: 'callback.returned', of: entry.seq })
      }
      told.seq = entry.seq
    }
  } catch (error) {
    told.failed = { error }
    throw error
  }
}

function isStepEntry(entry: Entry): entry is StepEntry {
  return isStep(entry)
}

export async function callAfterKickoff(life: Life): Promise<void> {
  const { after } = callbacksOf(life)
  if (!after) return
  await life.ready()
  await runCallback(() => after(life.state), 'afterKickoff')
}

/** A run that changes nothing outside is not reported: nothing has happened. */
function callbacksOf({ state, crew }: Life): Callbacks {
  return state.effects === 'never' ? {} : (crew.callbacks ?? {})
}

async function runCallback(call: () => unknown, what: string, task?: string): Promise<void> {
  try {
    await call()
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `${what} threw: ${redact(messageOf(error))}`, { task, cause: error })
  }
}
