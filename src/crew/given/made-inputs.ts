// The inputs that a new run is made with: what its caller gives, and what the crew's own callback makes of that.
import type { CrewDefinition, Inputs } from '../../engine/definition.ts'
import { noFiles, type Files } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import type { RunState } from '../../journal/state/state.ts'

export interface MadeInputs {
  readonly inputs: Inputs
  /** What the caller gave, where the crew's callback made others of it. */
  readonly given?: Inputs
  /** The bytes of the files among them that were read just now. */
  readonly files: Files
}

export async function beforeKickoff(
  { callbacks }: CrewDefinition,
  given: Inputs,
  read: Files = noFiles,
): Promise<MadeInputs> {
  if (!callbacks?.before) return { inputs: given, files: read }
  const { inputs, files: more } = await callbacks.before(given)
  const files = new Map([...read, ...more])
  return digest(inputs) === digest(given) ? { inputs, files } : { inputs, given, files }
}

/**
 * Those of the parent where nothing is given over them; else the callback gets what it got then, with the new ones
 * merged over that.
 */
export async function inputsOver(
  crew: CrewDefinition,
  { inputs, given }: RunState,
  over: Inputs,
  files: Files,
): Promise<MadeInputs> {
  if (Object.keys(over).length === 0) return { inputs, files, ...(given ? { given } : {}) }
  return beforeKickoff(crew, { ...(given ?? inputs), ...over }, files)
}
