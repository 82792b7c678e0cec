// Checks run ids from callers and exported files.
import { RepriseError } from '../../base/errors.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { describe, hiddenCharacters } from '../../base/options.ts'

/** Checks the id of an existing run. OPTION_INVALID. */
export function checkRunId(id: unknown): string {
  const fine =
    typeof id === 'string' &&
    id.trim() !== '' &&
    // the engine made the rest of a child run's id
    rootRunId(id).length <= 200 &&
    !id.startsWith('-') &&
    // terminals don't show these, so the printed id would differ
    !hiddenCharacters.test(id) &&
    id.isWellFormed()
  if (fine) return id
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id is ${describe(id)}; give a text of 1 to 200 characters that does not start with - and has no control characters, direction marks or zero-width characters`,
  )
}

/**
 * Checks the id of a new run. Besides ids that no run can have, it refuses `latest`, which commands use for the latest
 * run, `.` and `..`, which URLs drop, and ids in the form of a child run's id. OPTION_INVALID.
 */
export function checkNewRunId(id: unknown): string {
  const checked = checkRunId(id)
  if (checked === 'latest')
    throw new RepriseError('OPTION_INVALID', 'the run id is "latest", which means the latest run; give another id')
  if (checked === '.' || checked === '..')
    throw new RepriseError('OPTION_INVALID', `the run id is "${checked}", which URLs drop; give another id`)
  // the second form: children of this run would look like those of another run
  const parent = parentRunId(checked) ?? parentRunId(`${checked}/x#1`)
  if (parent === undefined || parent === checked) return checked
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id ${describe(checked)} is reserved for a child run of run ${parent}; give an id that does not end like ${checked.slice(parent.length)}`,
  )
}
