// Inputs of a run: as passed, with their files read; compared with those of a stored run; and after the crew's callback
// and schema, with the names that the crew can use.
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
  /** Only to be used through `resolveInputs`. */
  readonly inputs: Inputs
  /** File contents by hash. */
  readonly files: Files
  /** Files that no longer exist, by their placeholder in `inputs`. */
  readonly gone: ReadonlyMap<Json, { readonly name: string; readonly error: RepriseError }>
}

/**
 * INPUT_INVALID with the path of the first value that isn't valid JSON, such as a Date, bigint, NaN, Map or cycle, or
 * of a file that cannot be used.
 */
export async function readRawInputs(given: unknown, what = 'inputs'): Promise<RawInputs> {
  const files = new Map<string, Uint8Array>()
  const gone = new Map<Json, { name: string; error: RepriseError }>()
  if (given === undefined) return { inputs: {}, files, gone }
  const slots = new Map<Json, { readonly file: InputFile; readonly at: string }>()
  const json = mapInputs(given, what, (file, at) => {
    const slot: Json = {}
    slots.set(slot, { file, at })
    return slot
  })
  const stand = async (value: Json): Promise<Json> => {
    const slot = slots.get(value)
    if (slot) {
      const read = await readInputFile(slot.file, slot.at)
      if ('gone' in read) {
        gone.set(value, { name: slot.file.name, error: read.gone })
        return value
      }
      files.set(read.reference.hash, read.bytes)
      return { $file: { ...read.reference } }
    }
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const list: Json[] = []
      for (const item of value as readonly Json[]) list.push(await stand(item))
      return list
    }
    const members: [string, Json][] = []
    for (const [key, member] of Object.entries(value)) members.push([escapeFileKey(key), await stand(member)])
    return Object.fromEntries(members)
  }
  return { inputs: (await stand(json)) as Inputs, files, gone }
}

/** Inputs with file references that contain only names; reads no file. INPUT_INVALID. */
export function inputsWithoutFiles(given: unknown, what: string): Inputs {
  const reference = ({ name, mediaType = '' }: InputFile): Json => ({ $file: { hash: '', name, mediaType, bytes: 0 } })
  return mapInputs(given, what, reference)
}

/** Inputs with files identified by their current contents. INPUT_INVALID. */
export function hashedInputs(given: unknown, what: string): Inputs {
  return mapInputs(given, what, fileIdentity)
}

function mapInputs(given: unknown, what: string, standFor: (file: InputFile, at: string) => Json): Inputs {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || isInputFile(given)) {
    const found = typeof given === 'object' && given !== null && isInputFile(given) ? 'a file' : describe(given)
    throw new RepriseError('INPUT_INVALID', `${what} is ${found}; give an object: { name: value }`)
  }
  const json = strictJson(given, what, (value, at) => (isInputFile(value) ? standFor(value, at) : undefined))
  if (json.ok) return json.value as Inputs
  const words = `${json.path} is ${json.found}, which is not valid JSON; give text, numbers, lists, plain objects or file(…)`
  throw new RepriseError('INPUT_INVALID', words)
}

/**
 * Resolves file references. A value in the JSON form of one of the files in `stored`, the inputs of a run, is that
 * file. With `restore`, a file that no longer exists is taken from the same position in `stored`; otherwise it is
 * INPUT_INVALID.
 */
export function resolveInputs({ inputs, gone }: RawInputs, stored: Inputs = {}, restore = false): Inputs {
  const known = new Set(filesIn(stored).map(({ hash }) => hash))
  if (gone.size === 0 && known.size === 0) return inputs
  const settle = (value: Json, before: Json | undefined): Json => {
    const missing = gone.get(value)
    if (missing) {
      if (restore && before !== undefined && asFileReference(before)?.name === missing.name) return before
      throw missing.error
    }
    if (typeof value !== 'object' || value === null) return value
    const shown = asEscapedFileReference(value)
    if (shown && known.has(shown.hash)) return { $file: { ...shown } }
    const inside = typeof before === 'object' && before !== null ? (before as { readonly [key: string]: Json }) : {}
    if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => settle(item, inside[index]))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, settle(member, ownMember(inside, key))]),
    )
  }
  return settle(inputs, stored) as Inputs
}

export interface RunInputs {
  readonly inputs: Inputs
  /** The caller's inputs, if the callback or schema changed them. */
  readonly given?: Inputs
  /** Contents of the files that were read for this call, by hash. */
  readonly files: Files
}

/** Applies the crew's `beforeKickoff` and then its input schema. INPUT_INVALID, CALLBACK_FAILED. */
export async function prepareInputs(crew: CrewDefinition, given: Inputs, read: Files = noFiles): Promise<RunInputs> {
  const made = (await crew.callbacks?.before?.(given)) ?? { inputs: given, files: noFiles }
  const inputs = await parseInputs(crew, made.inputs)
  const files = new Map([...read, ...made.files])
  return digest(inputs) === digest(given) ? { inputs, files } : { inputs, given, files }
}

/** Parses inputs with the crew's schema. INPUT_INVALID. */
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
 * Without overrides, the inputs of the old run, which must fit the current schema but stay as they are. With overrides,
 * the caller's original inputs with the overrides merged in, passed through callback and schema again.
 */
export async function overrideInputs(
  crew: CrewDefinition,
  { inputs, given }: RunState,
  over: Inputs,
  files: Files,
): Promise<RunInputs> {
  if (Object.keys(over).length > 0) return prepareInputs(crew, { ...(given ?? inputs), ...over }, files)
  if (!crew.callbacks?.before) await parseInputs(crew, given ?? inputs)
  return { inputs, files, ...defined({ given }) }
}

/** Undefined if a schema decides, or if code may use any input. */
export function usableInputs(crew: CrewDefinition): readonly string[] | undefined {
  return crew.inputs || codeMayUse(crew) ? undefined : namesIn(crew)
}

/**
 * INPUT_UNKNOWN for an input that no task can use. Files are exempt: a tool or a callback can read any file. For a
 * fork, the inputs of the old run count as known. An unknown name that is nearly the name of another input is refused
 * even if code may use any input, unless both are given: otherwise the fork would silently execute with the old value.
 * Without an old run, such a typo is INPUT_MISSING.
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
    const near = nearest(name, missing)
    if (near === undefined && (code || filesIn(value).length > 0)) continue
    const all = known.size === 0 ? 'none' : [...known].join(', ')
    const meant = near === undefined ? `it has ${all}; remove ${name}` : `did you mean ${near}?`
    const schema = near === undefined ? ', or' : code ? `; if its code uses ${name},` : undefined
    const declare = schema === undefined ? '' : `${schema} give the crew an input schema`
    throw new RepriseError('INPUT_UNKNOWN', `crew ${crew.name} has no input ${name}; ${meant}${declare}`)
  }
}

/** Functions, conditions, guardrails and nested crews may use any input. */
function codeMayUse({ tasks, callbacks }: CrewDefinition): boolean {
  const judges = ({ guardrails }: TaskDefinition): boolean => guardrails.some((guardrail) => 'judge' in guardrail)
  return callbacks?.before !== undefined || tasks.some((task) => task.when || task.code || task.child || judges(task))
}

/** Inputs used in texts, including those of nested crews. */
function namesIn({ tasks }: CrewDefinition): string[] {
  return [...new Set(tasks.flatMap((task) => [...task.inputs, ...(task.child ? namesIn(task.child.crew) : [])]))]
}

// Types and checks of inputs, and of outputs given by people.

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
