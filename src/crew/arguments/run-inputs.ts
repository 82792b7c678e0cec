// Inputs of a new run: the caller's, after the crew's callback and schema.
import type { CrewDefinition, Inputs } from '../../engine/definition.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { noFiles, plainInputs, type Files } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import type { RunState } from '../../journal/state/state.ts'
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
