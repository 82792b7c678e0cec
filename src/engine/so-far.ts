// What the earlier tasks of a run gave, as their schemas give it: for code that decides by it.
import { messageOf, RepriseError } from '../errors.ts'
import type { NewEntry, StoredOutput } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import { readJson } from '../journal/json.ts'
import type { RunState } from '../journal/state.ts'
import { redact } from '../secrets/redact.ts'
import { describe } from '../options.ts'
import type { CrewDefinition, SoFar, TaskDefinition } from './definition.ts'
import { fileReader } from './files.ts'
import type { Hold } from './hold.ts'
import { waitsFor } from './waits-for.ts'

/** The entry that skips the task when its condition does not hold. TASK_FAILED when the condition throws. */
export async function skip(hold: Hold, crew: CrewDefinition, task: TaskDefinition): Promise<NewEntry | undefined> {
  // once it is started, the condition has held, and is not asked again
  if (!task.when || (hold.state.tasks.get(task.name)?.attempts.length ?? 0) > 0) return undefined
  const soFar = await soFarFor(hold, crew, task)
  const { when } = task
  const fails = (what: string, cause?: unknown): RepriseError =>
    new RepriseError('TASK_FAILED', `the condition of task ${task.name} ${what}`, { task: task.name, cause })
  let holds: unknown
  try {
    holds = await when(soFar)
  } catch (error) {
    throw fails(`threw: ${redact(messageOf(error))}`, error)
  }
  if (typeof holds !== 'boolean') throw fails(`gave ${describe(holds)}; it must give true or false`)
  return holds ? undefined : { type: 'task.skipped', path: task.name, reason: 'its condition does not hold' }
}

/** What is certain to be there when the task's turn comes. */
export async function soFarFor({ state, engine }: Hold, crew: CrewDefinition, task: TaskDefinition): Promise<SoFar> {
  // never by timing: an async task that it does not wait for may or may not be done
  const certain = new Set(waitsFor(crew, task))
  const earlier = crew.tasks.slice(0, crew.tasks.indexOf(task)).filter((other) => certain.has(other.name))
  const known = await Promise.all(
    earlier.map(async (other) => {
      const stored = state.tasks.get(other.name)?.output
      return [other.name, stored && (await outputOf(stored, other))] as const
    }),
  )
  const outputs = Object.fromEntries(known.filter(([, output]) => output !== undefined))
  const readFile = fileReader(engine.store, state)
  return { inputs: plainInputs(state.inputs), outputs, previous: known.at(-1)?.[1], readFile }
}

/** Through the schema, live and on restore alike. What does not fit the code's schema (any more) is in `raw`, not here. */
export async function outputOf(
  { raw, structured }: Pick<StoredOutput, 'raw' | 'structured'>,
  task: (Pick<TaskDefinition, 'schema'> & Partial<Pick<TaskDefinition, 'code' | 'child'>>) | undefined,
): Promise<unknown> {
  // a function may give what is no text without a schema for it
  const text = task && !task.code && !task.child ? !task.schema : !structured
  if (text) return raw
  const json = readJson(raw)
  if (!task?.schema || json === undefined) return json
  const parsed = await task.schema.parse(json)
  return parsed.ok ? parsed.value : undefined
}

/** The texts that a task is given, by task. A skipped one gives nothing. */
export function outputsFor(state: RunState, task: TaskDefinition): Map<string, string> {
  const outputs = new Map<string, string>()
  for (const name of task.context) {
    const output = state.tasks.get(name)?.output
    if (output) outputs.set(name, output.raw)
  }
  return outputs
}
