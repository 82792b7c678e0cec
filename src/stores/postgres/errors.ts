// Maps errors of pg to the codes of the port. If the error has a SQLSTATE, the server rolled back and nothing was
// written. Without one the connection failed, and the statement may or may not have been executed.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { outageError, type CallStage } from '../patient-store.ts'

/**
 * The SQLSTATE; undefined if the server didn't answer. A code without a severity, such as EPIPE, is the system's.
 */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined
}

/** The server is starting, stopping or gone: connection errors (08), interventions (57P), system errors (58). */
const goneStates = /^(08|57P|58)/
/** Whether the connection is still usable after this error. */
export function isAnswer(error: unknown): boolean {
  const state = sqlState(error)
  return RepriseError.isInstance(error) || (state !== undefined && !goneStates.test(state))
}

/** The server refuses for now: resources (53), locks and timeouts, a read-only standby. */
const busyStates = /^(53|40001$|40P01$|55P03$|57014$|25006$|25P0)/
const unusable = /^(28|3D000$|42501$|3F000$|42P01$|42703$)/
/** A missing schema, table or column. */
const missing = /^(3F000|42P01|42703)$/
const badText = /^(22021|22P05)$/
/** Node's codes for certificates that are not trusted or cannot be read. */
const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_OSSL_|ENOENT$|EACCES$)/

export function postgresError(error: unknown, url: string, stage: CallStage): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const state = sqlState(error)
  const why = redact(messageOf(error))
  const failure = (code: 'STORE_INVALID' | 'STORE_FAILED' | 'STORE_UNAVAILABLE', words: string) =>
    new RepriseError(code, words, { cause: error })
  if (stage === 'never open' && isUntrusted(error, why)) {
    const trust = 'name the certificate of its authority by sslrootcert=/path/to/file.pem in the URL, or check sslmode'
    return failure('STORE_INVALID', `${url} is not trusted (${why}): ${trust}`)
  }
  // the server accepted this role before: its users are being changed, and the call is retried
  if (state === undefined || goneStates.test(state) || (stage === 'not sent' && unusable.test(state))) {
    return outageError(url, why, stage, error)
  }
  if (busyStates.test(state))
    return failure('STORE_UNAVAILABLE', `${url} is too busy or read-only (${why}), and nothing was written`)
  if (missing.test(state))
    return new RepriseError('STORE_INVALID', `${url} lacks tables or columns (${why})`, {
      cause: error,
      next: { type: 'migrate' },
    })
  if (unusable.test(state)) return failure('STORE_INVALID', `${url} cannot be used (${why}): ${advice(state)}`)
  if (badText.test(state))
    return failure('STORE_FAILED', `${url} cannot store a string with a NUL character (${why}): remove it`)
  return failure('STORE_FAILED', `${url} refused a statement: ${why}`)
}

/**
 * pg's error for a server without TLS has no code. ENOENT of `connect` is a missing socket: the server isn't running.
 */
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
