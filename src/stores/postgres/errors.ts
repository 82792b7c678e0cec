// What an error of pg means to the port. An error that the server answered with a code was followed by a rollback, so
// nothing was written. One without a code is about the connection: whatever was sent may have been done or not.
import { RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { outageError, errorReason, type CallStage } from '../patient/outage-error.ts'

/** SQLSTATE; undefined where the server did not answer. A code alone proves nothing: the system has an EPIPE. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined
}

/**
 * The server has gone, is going or is coming: by classes, connections (08), operators (57P), and what the system said
 * (58).
 */
const goneStates = /^(08|57P|58)/
/** Whether the connection is still of use after this error. */
export function isAnswer(error: unknown): boolean {
  const state = sqlState(error)
  return RepriseError.isInstance(error) || (state !== undefined && !goneStates.test(state))
}

/** The server has answered that it can't now: resources (53), locks and timeouts, a standby that takes no writes. */
const busyStates = /^(53|40001$|40P01$|55P03$|57014$|25006$|25P0)/
const wrongPlace = /^(28|3D000$|42501$|3F000$|42P01$|42703$)/
/** Of these, a schema, a table or a column that is not there. */
const missing = /^(3F000|42P01|42703)$/
const badText = /^(22021|22P05)$/
/** Of Node, when a certificate does not do; of its files, when one cannot be read. */
const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_OSSL_|ENOENT$|EACCES$)/

export function postgresError(error: unknown, url: string, sent: CallStage): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const state = sqlState(error)
  const why = redact(errorReason(error))
  const made = (code: 'STORE_INVALID' | 'STORE_FAILED' | 'STORE_UNAVAILABLE', words: string) =>
    new RepriseError(code, words, { cause: error })
  if (sent === 'never open' && isUntrusted(error, why)) {
    const trust = 'name the certificate of its authority by sslrootcert=/path/to/file.pem in the URL, or check sslmode'
    return made('STORE_INVALID', `${url} is not trusted (${why}): ${trust}`)
  }
  // a server that has let us in does so again when its users are put right
  if (state === undefined || goneStates.test(state) || (sent === 'not sent' && wrongPlace.test(state))) {
    return outageError(url, why, sent, error)
  }
  if (busyStates.test(state))
    return made('STORE_UNAVAILABLE', `${url} could not do it now (${why}), and nothing was written`)
  if (missing.test(state))
    return new RepriseError('STORE_INVALID', `${url} has not all tables that it should have (${why})`, {
      cause: error,
      next: { type: 'migrate' },
    })
  if (wrongPlace.test(state)) return made('STORE_INVALID', `${url} cannot be used (${why}): ${advice(state)}`)
  if (badText.test(state))
    return made('STORE_FAILED', `${url} keeps no text with a zero character in it (${why}): leave it out`)
  return made('STORE_FAILED', `${url} refused a statement: ${why}`)
}

/** pg gives its own refusal of a server without TLS no code. A socket that is not there is a server that is away. */
function isUntrusted(error: unknown, why: string): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (syscall === 'connect') return false
  return untrusted.test(String(code)) || why === 'The server does not support SSL connections'
}

function advice(state: string): string {
  if (state.startsWith('28')) return 'check the user and the password in the URL'
  if (state === '3D000') return 'create the database, or name another one in the URL'
  return 'grant the rights that are missing, or name a role that has them'
}
