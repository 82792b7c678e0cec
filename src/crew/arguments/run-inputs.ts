// Inputs of a new run: the caller's, after the crew's callback and schema, and the names that the crew can use.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { RepriseError, messageOf } from '../../base/errors.ts'
import { filesIn, noFiles, plainInputs, type Files } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { nearest } from '../../base/options.ts'
import { digest } from '../../journal/hash.ts'
import { parseValue } from '../../schema/parse-value.ts'
import { readRawInputs, resolveInputs } from './raw-inputs.ts'
import { inputsToGive } from './inputs.ts'

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
  return { inputs, files, ...(given ? { given } : {}) }
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
