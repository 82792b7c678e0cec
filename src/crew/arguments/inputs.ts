// Inputs and run ids as callers give them: checked before anything is spent.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import type { ReplacementOutput } from '../../engine/plan/plan-fork.ts'
import { RepriseError } from '../../base/errors.ts'
import { strictJson } from '../../journal/json.ts'
import type { NextStep } from '../../base/next.ts'
import { describe, isRecord, ownMember } from '../../base/options.ts'
import { parseValue } from '../../schema/parse-value.ts'
import { everyCoworker } from '../define/define-agent.ts'
import type { Unknowable } from '../define/placeholders.ts'

/** What the inputs of a crew are known by: the names of its placeholders, or the type that its schema takes. */
export type InputsBy = string | object

/** Whether the compiler knows of an input that must be given. */
export type NeedsInputs<By extends InputsBy> = [NamesIn<By>] extends [never] ? false : true

/** The names of the inputs that must be given. */
export type NamesIn<By extends InputsBy> = [By] extends [string]
  ? string extends By
    ? never
    : Exclude<By, Unknowable>
  : { [Name in keyof By]-?: {} extends Pick<By, Name> ? never : Name }[keyof By] & string

/**
 * Inputs as a caller gives them. Where not all texts are known at compile time, any name is let through besides the
 * placeholders.
 */
export type InputsFor<By extends InputsBy> = [By] extends [string]
  ? string extends By
    ? AnyInputs
    : { readonly [Name in Exclude<By, Unknowable>]: InputValue } & (Unknowable extends By ? AnyInputs : unknown)
  : By

type AnyInputs = { readonly [name: string]: InputValue | undefined }

/** Whatever JSON carries. Not `Json` itself, so that an interface of the caller's fits as well. */
export type InputValue =
  | string
  | number
  | boolean
  | null
  | readonly InputValue[]
  | { readonly [key: string]: InputValue | undefined }
  | object

/** By the crew's schema and its texts. An input of a text may be optional by the schema. */
export function inputNames({ tasks, inputs }: Pick<CrewDefinition, 'tasks' | 'inputs'>): {
  readonly all: readonly string[]
  readonly required: readonly string[]
} {
  const { properties = {}, required = [] } = (inputs?.json ?? {}) as {
    readonly properties?: object
    readonly required?: readonly string[]
  }
  const all = [...new Set([...Object.keys(properties), ...tasks.flatMap((task) => task.inputs)])]
  return { all, required: all.filter((name) => !Object.hasOwn(properties, name) || required.includes(name)) }
}

/**
 * The inputs that are missing, and those that are a text where the schema takes none. Undefined: there is no such
 * input.
 */
export function inputsToGive(
  crew: Pick<CrewDefinition, 'inputs'> & Partial<Pick<CrewDefinition, 'tasks'>>,
  given: { readonly [name: string]: unknown },
): NextStep<'give'> | undefined {
  const types = new Map(typesIn(crew.inputs?.json))
  const { all, required } = inputNames({ inputs: crew.inputs, tasks: crew.tasks ?? [] })
  const inputs = all.filter((name) => {
    const value = ownMember(given, name)
    return value === undefined ? required.includes(name) : typeof value === 'string' && types.has(name)
  })
  if (inputs.length === 0) return undefined
  const named = [...types].filter(([name]) => inputs.includes(name))
  return { act: 'give', inputs, ...(named.length > 0 ? { types: Object.fromEntries(named) } : {}) }
}

/** By input that takes no text: its JSON type, where the schema says one type. */
function typesIn(schema: unknown): [string, string][] {
  const { properties } = isRecord(schema) ? schema : {}
  return Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, property]) => {
    const type = isRecord(property) ? property['type'] : undefined
    return typeof type === 'string' && type !== 'string' ? [[name, type] as [string, string]] : []
  })
}

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
): Promise<Map<string, ReplacementOutput>> {
  const given = new Map<string, ReplacementOutput>()
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
    if (mayGiveAnything(task)) return { raw: JSON.stringify(json.value), structured: true }
    const words = `task ${task.name} has no output schema, so its output is a text, not ${describe(output)}`
    throw new RepriseError('INPUT_INVALID', words)
  }
  const parsed = await parseValue(task.schema, json.value)
  if (parsed.ok) return { raw: JSON.stringify(json.value), structured: true }
  throw new RepriseError('INPUT_INVALID', `the output does not fit the schema of task ${task.name}: ${parsed.reason}`)
}

/** A function may, and so may a crew whose last task is one. */
function mayGiveAnything({ code, child }: TaskDefinition): boolean {
  const last = child?.crew.tasks.at(-1)
  return code !== undefined || (last !== undefined && !last.schema && mayGiveAnything(last))
}
