// Inputs of a run, in three forms: as passed, with their files read (`RawInputs`); with file references resolved
// against a stored run; and as the crew uses them, after its callback and schema (`RunInputs`). Also the replacement
// outputs of forks and edits, and the types of both.
import { defined, nearest, describe, ownMember, isRecord } from '../../base/options.ts'
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { RepriseError, messageOf } from '../../base/errors.ts'
import {
  filesIn,
  noFiles,
  plainInputs,
  type Files,
  escapeFileKey,
  asEscapedFileReference,
  asFileReference,
} from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { digest } from '../../journal/hash.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import { strictJson, type Json } from '../../journal/json.ts'
import { fileIdentity, isInputFile, readInputFile, type InputFile } from '../file.ts'
import type { ReplacementOutput } from '../../engine/plan/plan-fork.ts'
import type { NextStep } from '../../base/next.ts'
import { everyCoworker, type Unknowable } from '../define/define-agent.ts'

export interface RawInputs {
  /** Use only through `resolveInputs`. */
  readonly inputs: Inputs
  /** File contents by hash. */
  readonly files: Files
  /** Files that no longer exist, by the placeholder for them in `inputs`. */
  readonly gone: ReadonlyMap<Json, { readonly name: string; readonly error: RepriseError }>
}

/**
 * Converts inputs to JSON, and reads their files. Rejects with INPUT_INVALID and the path of the first value that is
 * not valid JSON, such as a Date, bigint, NaN, Map or cycle, or of a file that cannot be used.
 */
export async function readRawInputs(given: unknown, what = 'inputs'): Promise<RawInputs> {
  const files = new Map<string, Uint8Array>()
  const gone = new Map<Json, { name: string; error: RepriseError }>()
  if (given === undefined) return { inputs: {}, files, gone }
  const placeholders = new Map<Json, { readonly file: InputFile; readonly path: string }>()
  const json = mapInputs(given, what, (file, path) => {
    const placeholder: Json = {}
    placeholders.set(placeholder, { file, path })
    return placeholder
  })
  const resolve = async (value: Json): Promise<Json> => {
    const placeholder = placeholders.get(value)
    if (placeholder) {
      const read = await readInputFile(placeholder.file, placeholder.path)
      if ('gone' in read) {
        gone.set(value, { name: placeholder.file.name, error: read.gone })
        return value
      }
      files.set(read.reference.hash, read.bytes)
      return { $file: { ...read.reference } }
    }
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const list: Json[] = []
      for (const item of value as readonly Json[]) list.push(await resolve(item))
      return list
    }
    const members: [string, Json][] = []
    for (const [key, member] of Object.entries(value)) members.push([escapeFileKey(key), await resolve(member)])
    return Object.fromEntries(members)
  }
  return { inputs: (await resolve(json)) as Inputs, files, gone }
}

/** Converts inputs to JSON, without reading files: references contain only names. Throws INPUT_INVALID. */
export function inputsWithoutFiles(given: unknown, what: string): Inputs {
  const reference = ({ name, mediaType = '' }: InputFile): Json => ({ $file: { hash: '', name, mediaType, bytes: 0 } })
  return mapInputs(given, what, reference)
}

/** Converts inputs to JSON, with files identified by their current contents. Throws INPUT_INVALID. */
export function hashedInputs(given: unknown, what: string): Inputs {
  return mapInputs(given, what, fileIdentity)
}

function mapInputs(given: unknown, what: string, replace: (file: InputFile, path: string) => Json): Inputs {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || isInputFile(given)) {
    const found = typeof given === 'object' && given !== null && isInputFile(given) ? 'a file' : describe(given)
    throw new RepriseError('INPUT_INVALID', `${what} is ${found}; give an object: { name: value }`)
  }
  const json = strictJson(given, what, (value, path) => (isInputFile(value) ? replace(value, path) : undefined))
  if (json.ok) return json.value as Inputs
  const words = `${json.path} is ${json.found}, which is not valid JSON; give strings, numbers, lists, plain objects or file(…)`
  throw new RepriseError('INPUT_INVALID', words)
}

/**
 * Resolves file references. `stored` are the inputs of a stored run: a value that is the JSON form of one of its files
 * becomes that file. With `restore`, a file that no longer exists is taken from the same position in `stored`, if it is
 * there. Otherwise, throws INPUT_INVALID.
 */
export function resolveInputs({ inputs, gone }: RawInputs, stored: Inputs = {}, restore = false): Inputs {
  const known = new Set(filesIn(stored).map(({ hash }) => hash))
  if (gone.size === 0 && known.size === 0) return inputs
  const resolve = (value: Json, before: Json | undefined): Json => {
    const missing = gone.get(value)
    if (missing) {
      if (restore && before !== undefined && asFileReference(before)?.name === missing.name) return before
      throw missing.error
    }
    if (typeof value !== 'object' || value === null) return value
    const reference = asEscapedFileReference(value)
    if (reference && known.has(reference.hash)) return { $file: { ...reference } }
    const members = typeof before === 'object' && before !== null ? (before as { readonly [key: string]: Json }) : {}
    if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => resolve(item, members[index]))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, resolve(member, ownMember(members, key))]),
    )
  }
  return resolve(inputs, stored) as Inputs
}

export interface RunInputs {
  readonly inputs: Inputs
  /** The inputs as the caller passed them, if the callback or schema changed them. */
  readonly given?: Inputs
  /** Contents of the files read for this call, by hash. */
  readonly files: Files
}

/** Applies `beforeKickoff` of the crew, then its input schema. Rejects with INPUT_INVALID or CALLBACK_FAILED. */
export async function prepareInputs(crew: CrewDefinition, given: Inputs, read: Files = noFiles): Promise<RunInputs> {
  const result = (await crew.callbacks?.before?.(given)) ?? { inputs: given, files: noFiles }
  const inputs = await parseInputs(crew, result.inputs)
  const files = new Map([...read, ...result.files])
  return digest(inputs) === digest(given) ? { inputs, files } : { inputs, given, files }
}

/** Parses inputs with the schema of the crew. Rejects with INPUT_INVALID. */
export async function parseInputs(crew: Pick<CrewDefinition, 'name' | 'inputs'>, inputs: Inputs): Promise<Inputs> {
  if (!crew.inputs) return inputs
  const parsed = await parseValue(crew.inputs, plainInputs(inputs))
  if (!parsed.ok) {
    const words = `the inputs do not fit the schema of crew ${crew.name}: ${parsed.reason}`
    const next = inputsToGive(crew, inputs)
    throw new RepriseError('INPUT_INVALID', words, next ? { next } : {})
  }
  try {
    return resolveInputs(await readRawInputs(parsed.value, 'result'), inputs)
  } catch (error) {
    const words = `the input schema of crew ${crew.name} returned what the journal cannot store: ${messageOf(error)}`
    throw new RepriseError('INPUT_INVALID', words, { cause: error })
  }
}

/**
 * Returns the inputs of a fork. Without overrides, these are the inputs of the old run, unchanged; they must still fit
 * the current schema, which cannot be checked with `beforeKickoff`. With overrides, these are merged into the inputs
 * that the caller originally passed, and the result goes through callback and schema again.
 */
export async function overrideInputs(
  crew: CrewDefinition,
  { inputs, given }: RunState,
  overrides: Inputs,
  files: Files,
): Promise<RunInputs> {
  if (Object.keys(overrides).length > 0) return prepareInputs(crew, { ...(given ?? inputs), ...overrides }, files)
  if (!crew.callbacks?.before) await parseInputs(crew, given ?? inputs)
  return { inputs, files, ...defined({ given }) }
}

/**
 * Throws INPUT_UNKNOWN for an input that no task can use. A file is only refused if its name resembles a known name
 * that was not passed, since a tool or callback can read any file. For a fork, the inputs of the old run count as
 * known. If code may use any input, a new run accepts every name: a typo leads to INPUT_MISSING. A fork would silently
 * use the old value instead, so it refuses names that resemble a known name that was not passed.
 */
export function checkInputNames(
  crew: CrewDefinition,
  given: Inputs,
  parent?: Pick<RunState, 'inputs' | 'given'>,
): void {
  const code = codeMayUse(crew)
  if (crew.inputs || (code && !parent)) return
  const used = namesIn(crew)
  const known = new Set([...used, ...Object.keys(parent?.inputs ?? {}), ...Object.keys(parent?.given ?? {})])
  const missing = [...known].filter((name) => !Object.hasOwn(given, name))
  for (const [name, value] of Object.entries(given)) {
    if (known.has(name)) continue
    const similar = nearest(name, missing)
    if (similar === undefined && (code || filesIn(value).length > 0)) continue
    const all = known.size === 0 ? 'none' : [...known].join(', ')
    const advice = similar === undefined ? `it has ${all}; remove ${name}` : `did you mean ${similar}?`
    const schema = similar === undefined ? ', or' : code ? `; if its code uses ${name},` : undefined
    const declare = schema === undefined ? '' : `${schema} give the crew an input schema`
    throw new RepriseError('INPUT_UNKNOWN', `crew ${crew.name} has no input ${name}; ${advice}${declare}`)
  }
}

/** Whether code may use any input: functions, conditions, guardrails, callbacks and nested crews can. */
export function codeMayUse({ tasks, callbacks }: CrewDefinition): boolean {
  const hasFunction = ({ guardrails }: TaskDefinition): boolean => guardrails.some((guardrail) => 'judge' in guardrail)
  return (
    callbacks?.before !== undefined || tasks.some((task) => task.when || task.code || task.child || hasFunction(task))
  )
}

/** Names of the inputs used in texts, including those of nested crews. */
function namesIn({ tasks }: CrewDefinition): string[] {
  return [...new Set(tasks.flatMap((task) => [...task.inputs, ...(task.child ? namesIn(task.child.crew) : [])]))]
}

// Types and names of inputs.

/** Identifies the inputs of a crew: the names of its placeholders, or the type that its schema takes. */
export type InputsBy = string | object

/** Whether the compiler knows of a required input. */
export type NeedsInputs<By extends InputsBy> = [NamesIn<By>] extends [never] ? false : true

/** Names of the required inputs. */
export type NamesIn<By extends InputsBy> = [By] extends [string]
  ? string extends By
    ? never
    : Exclude<By, Unknowable>
  : { [Name in keyof By]-?: {} extends Pick<By, Name> ? never : Name }[keyof By] & string

/** Inputs as callers pass them. If some texts are unknown at compile time, any other name is allowed too. */
export type InputsFor<By extends InputsBy> = [By] extends [string]
  ? string extends By
    ? AnyInputs
    : { readonly [Name in Exclude<By, Unknowable>]: InputValue } & (Unknowable extends By ? AnyInputs : unknown)
  : By

type AnyInputs = { readonly [name: string]: InputValue | undefined }

/** Any JSON value. Unlike `Json`, this also accepts values of interface types. */
export type InputValue =
  | string
  | number
  | boolean
  | null
  | readonly InputValue[]
  | { readonly [key: string]: InputValue | undefined }
  | object

/**
 * Returns the input names of schema and texts, including those of nested crews. The schema decides which of its inputs
 * are required.
 */
export function inputNames({ tasks, inputs }: Pick<CrewDefinition, 'tasks' | 'inputs'>): {
  readonly all: readonly string[]
  readonly required: readonly string[]
} {
  const { properties = {}, required = [] } = (inputs?.json ?? {}) as {
    readonly properties?: object
    readonly required?: readonly string[]
  }
  const nested = tasks.flatMap(({ child, forEach }) => {
    if (!child?.sharesInputs) return []
    const names = inputNames(child.crew)
    return [forEach ? { all: withoutItem(names.all), required: withoutItem(names.required) } : names]
  })
  const used = new Set([...tasks.flatMap((task) => task.inputs), ...nested.flatMap((names) => names.required)])
  const all = [...new Set([...Object.keys(properties), ...used, ...nested.flatMap((names) => names.all)])]
  const isRequired = (name: string): boolean =>
    Object.hasOwn(properties, name) ? required.includes(name) : used.has(name)
  return { all, required: all.filter(isRequired) }
}

/** The input `item` of a nested crew comes from the list of its task. */
function withoutItem(names: readonly string[]): string[] {
  return names.filter((name) => name !== 'item')
}

/**
 * Returns the next step for the user: the inputs that are missing, or that are strings although the schema wants
 * another type. Undefined if there are none.
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
  const known = [...types].filter(([name]) => inputs.includes(name))
  return { type: 'give', inputs, ...(known.length > 0 ? { types: Object.fromEntries(known) } : {}) }
}

/** JSON types of the inputs that are not strings, where the schema allows a single type. */
function typesIn(schema: unknown): [string, string][] {
  const { properties } = isRecord(schema) ? schema : {}
  return Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, property]) => {
    const type = isRecord(property) ? property['type'] : undefined
    return typeof type === 'string' && type !== 'string' ? [[name, type] as [string, string]] : []
  })
}

/** Checks that all inputs of a task are there, by rendering its texts. Throws INPUT_MISSING, naming text and input. */
export function checkInputs(task: TaskDefinition, inputs: Inputs): void {
  task.render(inputs, new Map())
  for (const coworker of everyCoworker(task.coworkers)) coworker.instructions(inputs)
}

/** Reads replacement outputs by task name. Rejects with INPUT_INVALID or TASK_NOT_FOUND. */
export async function readOutputs(
  find: (name: string) => OutputTarget,
  outputs: unknown,
  signed: { readonly by?: string },
): Promise<Map<string, ReplacementOutput>> {
  const replacements = new Map<string, ReplacementOutput>()
  if (outputs === undefined) return replacements
  if (!isRecord(outputs)) {
    const words = `outputs is ${describe(outputs)}; give an object: outputs: { task: value }`
    throw new RepriseError('INPUT_INVALID', words)
  }
  for (const [name, output] of Object.entries(outputs)) {
    const task = find(name)
    replacements.set(task.name, { ...(await readOutput(task, output, `outputs.${name}`)), ...signed })
  }
  return replacements
}

/** The task that an output is for. The schema of a flow's step is known when the flow requests it. */
export type OutputTarget = TaskDefinition | { readonly name: string; readonly isStep: true }

/**
 * Converts a replacement output to the form in which it is stored: JSON before the transforms of the schema, or text.
 * Rejects with INPUT_INVALID.
 */
export async function readOutput(
  task: OutputTarget,
  output: unknown,
  where = 'output',
): Promise<{ raw: string; structured: boolean }> {
  const json = strictJson(output, where)
  if (!json.ok) {
    const words = `${json.path}, for task ${task.name}, is ${json.found}, which is not valid JSON; give strings, numbers, lists or plain objects`
    throw new RepriseError('INPUT_INVALID', words)
  }
  if ('isStep' in task || !task.schema) {
    if (typeof json.value === 'string') return { raw: json.value, structured: false }
    if ('isStep' in task || mayReturnAnything(task)) return { raw: JSON.stringify(json.value), structured: true }
    const words = `task ${task.name} has no output schema, so its output is a string, not ${describe(output)}`
    throw new RepriseError('INPUT_INVALID', words)
  }
  const parsed = await parseValue(task.schema, json.value)
  if (parsed.ok) return { raw: JSON.stringify(json.value), structured: true }
  throw new RepriseError('INPUT_INVALID', `the output does not fit the schema of task ${task.name}: ${parsed.reason}`)
}

/**
 * Whether the output may be any JSON value: for a function task without a schema, or a nested crew whose last task is
 * one.
 */
function mayReturnAnything({ code, child }: TaskDefinition): boolean {
  const last = child?.crew.tasks.at(-1)
  return code !== undefined || (last !== undefined && !last.schema && mayReturnAnything(last))
}
