// Run ids, as callers and exported files give them.
import { RepriseError } from '../errors.ts'
import { describe } from '../options.ts'

/** A caller's own run id: any text of up to 200 characters without control characters. */
export function checkRunId(id: unknown): string {
  const fine =
    typeof id === 'string' &&
    id.trim() !== '' &&
    id.length <= 200 &&
    !id.startsWith('-') &&
    !/[\u0000-\u001f\u007f]/.test(id) &&
    id.isWellFormed()
  if (fine) return id
  throw new RepriseError(
    'OPTION_UNKNOWN',
    `the run id is ${describe(id)}; give a text of 1 to 200 characters that does not begin with - and has no control characters`,
  )
}
