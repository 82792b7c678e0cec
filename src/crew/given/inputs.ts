// Inputs and run ids as callers give them: checked before anything is spent.
import type { Inputs, TaskDefinition } from '../../engine/definition.ts'
import type { GivenOutput } from '../../engine/plan/plan-fork.ts'
import { RepriseError } from '../../errors.ts'
import { strictJson } from '../../journal/json.ts'
import { describe, isRecord } from '../../options.ts'
import { parseValue } from '../../schema/parse-value.ts'
import { everyCoworker } from '../define/define-agent.ts'
import type { Unknowable } from '../define/placeholders.ts'

/** Whether the compiler knows of a placeholder that must be given. */
export type NeedsInputs<Names extends string> = string extends Names
  ? false
  : [Exclude<Names, Unknowable>] extends [never]
    ? false
    : true

/**
 * The inputs of texts whose placeholders are `Names`. Where not all texts are known at compile time, any further name
 * is let through.
 */
export type InputsFor<Names extends string> = string extends Names
  ? AnyInputs
  : { readonly [Name in Exclude<Names, Unknowable>]: InputValue } & (Unknowable extends Names ? AnyInputs : unknown)

type AnyInputs = { readonly [name: string]: InputValue }

/** Whatever JSON carries. Not `Json` itself, so that an interface of the caller's fits as well. */
export type InputValue =
  | string
  | number
  | boolean
  | null
  | readonly InputValue[]
  | { readonly [key: string]: InputValue | undefined }
  | object

/** Renders a task's texts for nothing but the error: INPUT_MISSING names the text and the input. */
export function checkInputs(task: TaskDefinition, inputs: Inputs): void {
  task.render(inputs, new Map())
  for (const helper of everyCoworker(task.coworkers)) helper.instructions(inputs)
}

/** What a person puts in place of tasks' outputs, by task. INPUT_INVALID, TASK_NOT_FOUND. */
export async function readOutputs(
  find: (name: string) => TaskDefinition,
  outputs: unknown,
  signed: { readonly by?: string },
): Promise<Map<string, GivenOutput>> {
  const given = new Map<string, GivenOutput>()
  if (outputs === undefined) return given
  if (!isRecord(outputs)) {
    const words = `outputs is ${describe(outputs)}; give an object: outputs: { task: value }`
    throw new RepriseError('INPUT_INVALID', words)
  }
  for (const [name, output] of Object.entries(outputs)) {
    const task = find(name)
    given.set(task.name, { ...(await readOutput(task, output, `outputs.${name}`)), ...signed })
  }
  return given
}

/** A person's output for a task, as it is stored: the JSON before the schema's transforms, or a text. INPUT_INVALID. */
export async function readOutput(
  task: TaskDefinition,
  output: unknown,
  where = 'output',
): Promise<{ raw: string; structured: boolean }> {
  const json = strictJson(output, where)
  if (!json.ok) {
    const words = `${json.path}, for task ${task.name}, is ${json.found}, which JSON does not carry; give text, numbers, lists or plain objects`
    throw new RepriseError('INPUT_INVALID', words)
  }
  if (!task.schema) {
    if (typeof json.value === 'string') return { raw: json.value, structured: false }
    if (givesAnything(task)) return { raw: JSON.stringify(json.value), structured: true }
    const words = `task ${task.name} has no output schema, so its output is a text, not ${describe(output)}`
    throw new RepriseError('INPUT_INVALID', words)
  }
  const parsed = await parseValue(task.schema, json.value)
  if (parsed.ok) return { raw: JSON.stringify(json.value), structured: true }
  throw new RepriseError('INPUT_INVALID', `the output does not fit the schema of task ${task.name}: ${parsed.reason}`)
}

/** A function may, and so may a crew whose last task is one. */
function givesAnything({ code, child }: TaskDefinition): boolean {
  const last = child?.crew.tasks.at(-1)
  return code !== undefined || (last !== undefined && !last.schema && givesAnything(last))
}
