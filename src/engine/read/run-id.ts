// Run ids, as callers and exported files give them.
import { RepriseError } from '../../base/errors.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { describe, hiddenCharacters } from '../../base/options.ts'

/** The id of an existing run, as a caller gives it. OPTION_INVALID. */
export function checkRunId(id: unknown): string {
  const fine =
    typeof id === 'string' &&
    id.trim() !== '' &&
    // the rest of the id is ours: the names of tasks that are crews
    rootRunId(id).length <= 200 &&
    !id.startsWith('-') &&
    // a terminal is not sent these, so the id that it shows would be another one
    !hiddenCharacters.test(id) &&
    id.isWellFormed()
  if (fine) return id
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id is ${describe(id)}; give a text of 1 to 200 characters that does not begin with - and has no control characters, marks of direction or characters without width`,
  )
}

/**
 * The id of a new run: any text of up to 200 characters, except one in the form of the run of a task that is a crew,
 * the word that commands take for the latest run, and what means a folder in an address. OPTION_INVALID.
 */
export function checkNewRunId(id: unknown): string {
  const fine = checkRunId(id)
  if (fine === 'latest')
    throw new RepriseError('OPTION_INVALID', 'the run id is "latest", which means the latest run; give another one')
  if (fine === '.' || fine === '..')
    throw new RepriseError('OPTION_INVALID', `the run id is "${fine}", which addresses leave out; give another one`)
  // also one whose own children would look like those of another run
  const caller = parentRunId(fine) ?? parentRunId(`${fine}/x#1`)
  if (caller === undefined || caller === fine) return fine
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id ${describe(fine)} is one for a run that works for run ${caller}, as a task of it; give one that does not end like ${fine.slice(caller.length)}`,
  )
}
