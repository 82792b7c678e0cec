// What an error of the client means to the port. A server that answers with an error has written nothing: scripts check
// everything before their first write, and what refuses a write refuses the first. Any other error is about the
// connection: whatever was sent may have been done or not.
import { RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { outageError, errorReason, type CallStage } from '../patient/outage-error.ts'

/** The first word of what the server said. Where that says nothing, what else it has said tells. */
export function replyCode(message: string): string {
  const [, first = 'ERR'] = /^-?([A-Z]+)\b/.exec(message) ?? []
  if (first !== 'ERR') return first
  // before Redis 7, of a command in a script: after where it stands there
  const [, within] = /^ERR Error running script .*: -([A-Z]+) /.exec(message) ?? []
  if (within !== undefined) return within
  if (/\b(user executing the script can't|ACL failure in script)\b/.test(message)) return 'NOPERM'
  return message.startsWith('ERR max number of clients') ? 'MAXCLIENTS' : first
}

/** The server has answered that it can't now: it starts, is a replica, has no room, or a script keeps it. */
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
/** Of these, another server may be the right one now. */
const elsewhere = new Set(['READONLY', 'MASTERDOWN', 'LOADING'])
const wrongPlace = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM', 'MOVED', 'ASK', 'CLUSTERDOWN', 'DENIED'])
/** Of Node, when a certificate does not do. */
const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_OSSL_|ERR_SSL_)/

/** Whether the connection is still of use after this error. */
export function isAnswer(code: string | undefined): boolean {
  return code !== undefined && !elsewhere.has(code)
}

/** `code`: of a reply; undefined where the server did not answer. */
export function redisError(error: unknown, code: string | undefined, url: string, sent: CallStage): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const why = redact(errorReason(error))
  const made = (kind: 'STORE_INVALID' | 'STORE_FAILED' | 'STORE_UNAVAILABLE', words: string) =>
    new RepriseError(kind, words, { cause: error })
  if (sent === 'never open' && untrusted.test(String((error as { code?: unknown } | undefined)?.code))) {
    const trust = 'name the certificate of its authority by sslrootcert=/path/to/file.pem in the URL'
    return made('STORE_INVALID', `${url} is not trusted (${why}): ${trust}`)
  }
  // a mistake in a program is made again, however long one waits
  if (error instanceof TypeError) return made('STORE_FAILED', `${url} could not be asked: ${why}`)
  // a server that has let us in does so again when its users are put right
  if (code === undefined || (sent === 'not sent' && wrongPlace.has(code))) return outageError(url, why, sent, error)
  if (busy.has(code)) return made('STORE_UNAVAILABLE', `${url} could not do it now (${why}), and nothing was written`)
  if (wrongPlace.has(code)) return made('STORE_INVALID', `${url} cannot be used (${why}): ${advice(code)}`)
  return made('STORE_FAILED', `${url} refused a command: ${why}`)
}

function advice(code: string): string {
  if (code === 'NOPERM') return 'give the user all commands that Reprise uses, on all of its keys and channels'
  if (code === 'MOVED' || code === 'ASK' || code === 'CLUSTERDOWN') return clusterAdvice
  return 'check the user and the password in the URL'
}

export const clusterAdvice: string =
  'Redis Cluster keeps all runs of a store on one of its servers and helps nothing here: use one server that is no member of a cluster'
