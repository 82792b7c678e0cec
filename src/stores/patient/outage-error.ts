// The errors of a server driver during an outage. Patient stores wait them out (patience.ts).
import { messageOf, RepriseError } from '../../base/errors.ts'

/** How far a command got before it failed, and whether it writes. `never open`: there was no connection yet. */
export type CallStage = 'never open' | 'not sent' | 'read' | 'write'

export function outageError(url: string, why: string, sent: CallStage, cause: unknown): RepriseError {
  return sent === 'write'
    ? new RepriseError(
        'OUTCOME_UNKNOWN',
        `${url} became unreachable before it replied (${why}): read the run to see whether the change was written`,
        { cause },
      )
    : new RepriseError(
        'STORE_UNAVAILABLE',
        `${url} cannot be reached (${why}): check that the server runs and accepts connections from this machine`,
        { cause },
      )
}

/** If none of a host's addresses can be reached, Node throws an AggregateError without a message. */
export function errorReason(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error)
}
