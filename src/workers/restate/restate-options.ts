// The options of `restateDispatcher`.
import { listOf, optional, seconds, text, whole, type Check } from '../../base/checks.ts'
import { environment } from '../../base/environment.ts'
import { checkKeys } from '../../base/options.ts'
import { remember } from '../../secrets/known.ts'
import { readUrl } from '../http/addresses.ts'

export interface RestateOptions {
  /** Ingress URL, or several for a cluster. Default: RESTATE_INGRESS_URL, else http://127.0.0.1:8080. */
  readonly ingress?: string | readonly string[]
  /**
   * URL of the admin API, or several, where workers register. False: the worker does not register itself. Default:
   * RESTATE_ADMIN_URL, else http://127.0.0.1:9070.
   */
  readonly admin?: string | readonly string[] | false
  /** Token for both APIs. Default: RESTATE_AUTH_TOKEN. */
  readonly token?: string
  /** Port of this worker. On Linux, several workers of a machine may share it. Default: 9080. */
  readonly port?: number
  /** Default: 127.0.0.1, reachable from this machine only. */
  readonly host?: string
  /**
   * Where Restate reaches this worker, or the load balancer before workers that serve the same. Default: host and port.
   */
  readonly url?: string
  /** Public keys of the Restate servers that may call this worker: `publickeyv1_…`. Default: any caller may. */
  readonly identityKeys?: readonly string[]
  /** How long one call advances a run. Default: 60. */
  readonly sliceSeconds?: number
  /**
   * How long Restate waits for a call after its slice. Set it longer than the longest step: a longer step is not lost,
   * but the run does not continue until it ends. Default: 3600.
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

/** Variables separate several URLs by commas. */
function readUrls(name: string, given: string | readonly string[]): readonly string[] {
  const list = typeof given === 'string' ? given.split(',').map((one) => one.trim()) : given
  return list.map((one) => readUrl(`${name} of restateDispatcher`, one, 'http://127.0.0.1:8080').replace(/\/+$/, ''))
}
