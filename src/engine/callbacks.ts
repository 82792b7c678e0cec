// Telling the user's code what happened in a run. What it throws fails the run; a resume calls it again.
import { messageOf, RepriseError } from '../errors.ts'
import { redact } from '../models/redact.ts'
import type { CrewDefinition } from './definition.ts'
import type { Hold } from './hold.ts'

/** Calls back for each task that was completed here and of which nobody was told: also for one that a crash came behind. */
export async function tellOfTasks(hold: Hold, crew: CrewDefinition): Promise<void> {
  const { task: tell } = crew.callbacks ?? {}
  for (const task of tell ? crew.tasks : []) {
    const known = hold.state.tasks.get(task.name)
    if (known?.source !== 'executed' || known.seq === undefined || known.told === known.seq) continue
    await callBack(() => tell?.(hold.state, task), `the callback of task ${task.name}`, task.name)
    await hold.append([{ type: 'callback.returned', path: task.name, of: known.seq }])
  }
}

export async function tellOfEnd(hold: Hold, crew: CrewDefinition): Promise<void> {
  const { after } = crew.callbacks ?? {}
  if (after) await callBack(() => after(hold.state), 'afterKickoff')
}

async function callBack(call: () => unknown, what: string, task?: string): Promise<void> {
  try {
    await call()
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `${what} threw: ${redact(messageOf(error))}`, { task, cause: error })
  }
}
