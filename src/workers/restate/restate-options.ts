// Where Restate is, and where it finds this worker.
import { listOf, optional, seconds, text, whole, type Check } from '../../base/checks.ts'
import { environment } from '../../base/environment.ts'
import { checkKeys } from '../../base/options.ts'
import { remember } from '../../secrets/known.ts'
import { readUrl } from '../http/read-address.ts'

export interface RestateOptions {
  /** Where runs are handed over: the ingress, or several of a cluster. RESTATE_INGRESS_URL, else port 8080 here. */
  readonly ingress?: string | readonly string[]
  /**
   * Where workers are registered: the admin API, or several. RESTATE_ADMIN_URL, else port 9070 here. False: nobody
   * registers them, since something else does.
   */
  readonly admin?: string | readonly string[] | false
  /** For both, where they want one: RESTATE_AUTH_TOKEN. */
  readonly token?: string
  /** Where this worker listens. Default 9080; on Linux several workers of a machine may listen on the same one. */
  readonly port?: number
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string
  /** Where Restate reaches this worker, and all that do the same: a load balancer. Left out, host and port. */
  readonly url?: string
  /**
   * The public keys of the Restate that may call this worker: `publickeyv1_…`. Left out, whoever reaches it may.
   */
  readonly identityKeys?: readonly string[]
  /** How long a run is held in one call. Default 60. */
  readonly sliceSeconds?: number
  /**
   * How long Restate waits for a call that is past its slice: the longest step must fit into it. Default 3600. A step
   * that takes longer is not lost, but nobody goes on with the run before it is over.
   */
  readonly abortSeconds?: number
}

export interface RestateSettings {
  readonly ingress: readonly string[]
  readonly admin: readonly string[]
  readonly token: string | undefined
  readonly port: number
  readonly host: string
  readonly url: string | undefined
  readonly identityKeys: readonly string[]
  readonly sliceSeconds: number
  readonly abortSeconds: number
}

const keys: readonly (keyof RestateOptions)[] = [
  'ingress',
  'admin',
  'token',
  'port',
  'host',
  'url',
  'identityKeys',
  'sliceSeconds',
  'abortSeconds',
]

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readRestateOptions(options: RestateOptions): RestateSettings {
  checkKeys('restateDispatcher', options, keys)
  const { restate } = environment()
  const { port, host, url, identityKeys, sliceSeconds, abortSeconds } = options
  const token = optional('token', options.token, text) ?? restate.token
  if (token !== undefined) remember([token])
  return {
    ingress: readUrls('ingress', options.ingress ?? restate.ingress ?? 'http://127.0.0.1:8080'),
    admin: options.admin === false ? [] : readUrls('admin', options.admin ?? restate.admin ?? 'http://127.0.0.1:9070'),
    token,
    port: optional('port', port, whole(0, 65_535)) ?? 9_080,
    host: optional('host', host, text) ?? '127.0.0.1',
    url: url === undefined ? undefined : readUrl('url of restateDispatcher', url, 'http://claims-workers:9080'),
    identityKeys: optional('identityKeys', identityKeys, keyList) ?? [],
    sliceSeconds: optional('sliceSeconds', sliceSeconds, seconds) ?? 60,
    abortSeconds: optional('abortSeconds', abortSeconds, seconds) ?? 3_600,
  }
}

const keyList: Check<readonly string[]> = listOf(
  'a list of public keys',
  'a public key of Restate: publickeyv1_…',
  (value) => typeof value === 'string' && value.startsWith('publickeyv1_'),
)

/** In the environment, several are separated by commas. */
function readUrls(name: string, given: string | readonly string[]): readonly string[] {
  const list = typeof given === 'string' ? given.split(',').map((one) => one.trim()) : given
  return list.map((one) => readUrl(`${name} of restateDispatcher`, one, 'http://127.0.0.1:8080').replace(/\/+$/, ''))
}
