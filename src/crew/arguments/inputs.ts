// Types and checks of inputs, and of outputs given by people.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import type { ReplacementOutput } from '../../engine/plan/plan-fork.ts'
import { RepriseError } from '../../base/errors.ts'
import { strictJson } from '../../journal/json.ts'
import type { NextStep } from '../../base/next.ts'
import { describe, isRecord, ownMember } from '../../base/options.ts'
import { parseValue } from '../../schema/parse-value.ts'
import { everyCoworker } from '../define/define-agent.ts'
import type { Unknowable } from '../define/placeholders.ts'

/** Identifies the inputs of a crew: the names of its placeholders, or the type that its schema takes. */
export type InputsBy = string | object

/** Whether the compiler knows a required input. */
export type NeedsInputs<By extends InputsBy> = [NamesIn<By>] extends [never] ? false : true

/** Names of the required inputs. */
export type NamesIn<By extends InputsBy> = [By] extends [string]
  ? string extends By
    ? never
    : Exclude<By, Unknowable>
  : { [Name in keyof By]-?: {} extends Pick<By, Name> ? never : Name }[keyof By] & string

/** Inputs as callers pass them. If not all texts are known at compile time, any other name is allowed too. */
export type InputsFor<By extends InputsBy> = [By] extends [string]
  ? string extends By
    ? AnyInputs
    : { readonly [Name in Exclude<By, Unknowable>]: InputValue } & (Unknowable extends By ? AnyInputs : unknown)
  : By

type AnyInputs = { readonly [name: string]: InputValue | undefined }

/** Any JSON value. Unlike `Json`, it also accepts interfaces. */
export type InputValue =
  | string
  | number
  | boolean
  | null
  | readonly InputValue[]
  | { readonly [key: string]: InputValue | undefined }
  | object

/** Input names from schema and texts, also those of nested crews. The schema decides which of them are required. */
export function inputNames({ tasks, inputs }: Pick<CrewDefinition, 'tasks' | 'inputs'>): {
  readonly all: readonly string[]
  readonly required: readonly string[]
} {
  const { properties = {}, required = [] } = (inputs?.json ?? {}) as {
    readonly properties?: object
    readonly required?: readonly string[]
  }
  const nested = tasks.flatMap(({ child }) => (child?.sharesInputs ? [inputNames(child.crew)] : []))
  const used = new Set([...tasks.flatMap((task) => task.inputs), ...nested.flatMap((names) => names.required)])
  const all = [...new Set([...Object.keys(properties), ...used, ...nested.flatMap((names) => names.all)])]
  const isRequired = (name: string): boolean =>
    Object.hasOwn(properties, name) ? required.includes(name) : used.has(name)
  return { all, required: all.filter(isRequired) }
}

/** Missing inputs, and inputs that are a text although the schema takes none; undefined if there are none. */
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
  return { type: 'give', inputs, ...(named.length > 0 ? { types: Object.fromEntries(named) } : {}) }
}

/** JSON types of the inputs that take no text, where the schema has a single type. */
function typesIn(schema: unknown): [string, string][] {
  const { properties } = isRecord(schema) ? schema : {}
  return Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, property]) => {
    const type = isRecord(property) ? property['type'] : undefined
    return typeof type === 'string' && type !== 'string' ? [[name, type] as [string, string]] : []
  })
}

/** Renders a task's texts only for the error: INPUT_MISSING names the text and the input. */
export function checkInputs(task: TaskDefinition, inputs: Inputs): void {
  task.render(inputs, new Map())
  for (const helper of everyCoworker(task.coworkers)) helper.instructions(inputs)
}

/** Replacement outputs by task name. INPUT_INVALID, TASK_NOT_FOUND. */
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

/** A replacement output in its stored form: the JSON before the schema's transforms, or a text. INPUT_INVALID. */
export async function readOutput(
  task: TaskDefinition,
  output: unknown,
  where = 'output',
): Promise<{ raw: string; structured: boolean }> {
  const json = strictJson(output, where)
  if (!json.ok) {
    const words = `${json.path}, for task ${task.name}, is ${json.found}, which is not valid JSON; give text, numbers, lists or plain objects`
    throw new RepriseError('INPUT_INVALID', words)
  }
  if (!task.schema) {
    if (typeof json.value === 'string') return { raw: json.value, structured: false }
    if (mayReturnAnything(task)) return { raw: JSON.stringify(json.value), structured: true }
    const words = `task ${task.name} has no output schema, so its output is a text, not ${describe(output)}`
    throw new RepriseError('INPUT_INVALID', words)
  }
  const parsed = await parseValue(task.schema, json.value)
  if (parsed.ok) return { raw: JSON.stringify(json.value), structured: true }
  throw new RepriseError('INPUT_INVALID', `the output does not fit the schema of task ${task.name}: ${parsed.reason}`)
}

/** True for a function task without a schema, or a nested crew whose last task is one. */
function mayReturnAnything({ code, child }: TaskDefinition): boolean {
  const last = child?.crew.tasks.at(-1)
  return code !== undefined || (last !== undefined && !last.schema && mayReturnAnything(last))
}
