// Errors for runs that a store or a crew does not have.
import { RepriseError } from '../../base/errors.ts'
import type { Store } from '../../stores/store.ts'

export function runNotFoundError(store: Store, run: string): RepriseError {
  const words = `there is no run ${run} in ${store.url}`
  return new RepriseError('RUN_NOT_FOUND', words, { runId: run, next: { type: 'runs' } })
}

export function otherCrewError(run: string, owner: string, crew: string): RepriseError {
  const words = `run ${run} belongs to crew ${owner}, not to ${crew}; use that crew`
  return new RepriseError('RUN_NOT_FOUND', words, { runId: run })
}
