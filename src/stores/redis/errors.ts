// Maps errors of the client to the codes of the port. If the server replied with an error, nothing was written: scripts
// check everything before their first write, and a server that refuses writes refuses the first. With any other error
// the connection failed, and the command may or may not have been executed.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { outageError, type CallStage } from '../patient-store.ts'

/** The error code of a reply: its first word or, if that is only ERR, a code that the rest implies. */
export function replyCode(message: string): string {
  const [, first = 'ERR'] = /^-?([A-Z]+)\b/.exec(message) ?? []
  if (first !== 'ERR') return first
  // before Redis 7, errors of commands in scripts have a prefix
  const [, within] = /^ERR Error running script .*: -([A-Z]+) /.exec(message) ?? []
  if (within !== undefined) return within
  if (/\b(user executing the script can't|ACL failure in script)\b/.test(message)) return 'NOPERM'
  return message.startsWith('ERR max number of clients') ? 'MAXCLIENTS' : first
}

/** The server refuses for now: it is starting, a replica, full, or busy with a script. */
const busy = new Set([
  'MAXCLIENTS',
  'LOADING',
  'BUSY',
  'MASTERDOWN',
  'READONLY',
  'TRYAGAIN',
  'MISCONF',
  'OOM',
  'NOREPLICAS',
  'UNBLOCKED',
])
/** Codes after which to reconnect: another server may be the master now. */
const elsewhere = new Set(['READONLY', 'MASTERDOWN', 'LOADING'])
const unusable = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM', 'MOVED', 'ASK', 'CLUSTERDOWN', 'DENIED'])
/** Node's codes for refused certificates. */
const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_OSSL_|ERR_SSL_)/

/** Whether the connection is still usable after this error. */
export function isAnswer(code: string | undefined): boolean {
  return code !== undefined && !elsewhere.has(code)
}

/** `code`: the reply's error code; undefined if the server didn't reply. */
export function redisError(error: unknown, code: string | undefined, url: string, stage: CallStage): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const why = redact(messageOf(error))
  const failure = (kind: 'STORE_INVALID' | 'STORE_FAILED' | 'STORE_UNAVAILABLE', words: string) =>
    new RepriseError(kind, words, { cause: error })
  if (stage === 'never open' && untrusted.test(String((error as { code?: unknown } | undefined)?.code))) {
    const trust = 'name the certificate of its authority by sslrootcert=/path/to/file.pem in the URL'
    return failure('STORE_INVALID', `${url} is not trusted (${why}): ${trust}`)
  }
  // a bug, which retries won't fix
  if (error instanceof TypeError) return failure('STORE_FAILED', `${url} was sent an invalid command: ${why}`)
  // the server accepted this user before: its users are being changed, and the call is retried
  if (code === undefined || (stage === 'not sent' && unusable.has(code))) return outageError(url, why, stage, error)
  if (busy.has(code))
    return failure('STORE_UNAVAILABLE', `${url} takes no writes now (${why}), and nothing was written`)
  if (unusable.has(code)) return failure('STORE_INVALID', `${url} cannot be used (${why}): ${advice(code)}`)
  return failure('STORE_FAILED', `${url} refused a command: ${why}`)
}

function advice(code: string): string {
  if (code === 'NOPERM') return 'allow the user all commands that Reprise uses, on all of its keys and channels'
  if (code === 'MOVED' || code === 'ASK' || code === 'CLUSTERDOWN') return clusterAdvice
  return 'check the user and the password in the URL'
}

export const clusterAdvice: string =
  'a cluster would keep all runs of a store on one server, so use a server outside a cluster'
