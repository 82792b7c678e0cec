// What the driver of a server tells of one that cannot be reached: errors that are waited for (patience.ts).
import { messageOf, RepriseError } from '../../base/errors.ts'

/** Whether a command was on its way when it failed, and whether it writes; or whether there was ever a connection. */
export type CallStage = 'never open' | 'not sent' | 'read' | 'write'

export function outageError(url: string, why: string, sent: CallStage, cause: unknown): RepriseError {
  return sent === 'write'
    ? new RepriseError(
        'OUTCOME_UNKNOWN',
        `${url} went away before it answered (${why}): read the run to see whether the change is there`,
        { cause },
      )
    : new RepriseError(
        'STORE_UNAVAILABLE',
        `${url} cannot be reached (${why}): check that the server runs and can be reached from here`,
        { cause },
      )
}

/** A host may have several addresses. Where none of them can be reached, Node says it of each, and nothing of all. */
export function errorReason(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error)
}
