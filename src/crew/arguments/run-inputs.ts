// The inputs that a new run is made with: what its caller gives, and what the crew's callback and schema make of that.
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
  /** What the caller gave, where the crew made others of it. */
  readonly given?: Inputs
  /** The bytes of the files among them that were read just now. */
  readonly files: Files
}

/**
 * As the crew's callback and then the schema of its inputs make them. INPUT_INVALID for inputs that do not fit.
 * CALLBACK_FAILED.
 */
export async function prepareInputs(crew: CrewDefinition, given: Inputs, read: Files = noFiles): Promise<RunInputs> {
  const made = (await crew.callbacks?.before?.(given)) ?? { inputs: given, files: noFiles }
  const inputs = await parseInputs(crew, made.inputs)
  const files = new Map([...read, ...made.files])
  return digest(inputs) === digest(given) ? { inputs, files } : { inputs, given, files }
}

/** As the schema of the crew's inputs parses them. INPUT_INVALID. */
export async function parseInputs(crew: Pick<CrewDefinition, 'name' | 'inputs'>, inputs: Inputs): Promise<Inputs> {
  if (!crew.inputs) return inputs
  const parsed = await parseValue(crew.inputs, plainInputs(inputs))
  if (!parsed.ok) {
    const words = `the inputs do not fit the schema of crew ${crew.name}: ${parsed.reason}`
    const next = inputsToGive(crew, inputs)
    throw new RepriseError('INPUT_INVALID', words, next ? { next } : {})
  }
  try {
    return resolveInputs(await readRawInputs(parsed.value, 'what it gives'), inputs)
  } catch (error) {
    const words = `the schema of the inputs of crew ${crew.name} gives what the journal cannot hold: ${messageOf(error)}`
    throw new RepriseError('INPUT_INVALID', words, { cause: error })
  }
}

/**
 * Those of the parent where nothing is given over them; else the callback gets what it got then, with the new ones
 * merged over that. The parent's, too, must fit today's schema, but stay as they are.
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
