// Who decides what a worker executes, from what was typed and from the environment.
import type { Dispatcher } from '../../../crew/queue/dispatcher.ts'
import { defined } from '../../../base/defined.ts'
import { environment } from '../../../base/environment.ts'
import { RepriseError } from '../../../base/errors.ts'

export interface DispatcherOptions {
  readonly dispatcher?: 'restate' | 'http'
  readonly listen?: string
  readonly url?: string
  readonly once?: boolean
}

/** Undefined: the store. OPTION_INVALID. */
export async function openDispatcher(options: DispatcherOptions): Promise<Dispatcher | undefined> {
  const { dispatcher, listen, url, once } = options
  if (listen !== undefined && dispatcher !== 'restate')
    throw invalid(`--listen ${listen} is for --dispatcher restate; add that, or leave it out`)
  if (url !== undefined && dispatcher === undefined)
    throw invalid(`--url ${url} is for --dispatcher restate or http; add one of them, or leave it out`)
  if (dispatcher === 'restate' && once)
    throw invalid('--once is for workers that ask; Restate calls this one for as long as it lives: leave --once out')
  if (dispatcher === 'restate') {
    const { restateDispatcher } = await import('../../../workers/restate/restate-dispatcher.ts')
    return restateDispatcher(defined({ ...(listen === undefined ? {} : readListen(listen)), url }))
  }
  if (dispatcher !== 'http') return undefined
  const secret = environment().advanceSecret
  if (url === undefined) throw invalid('--dispatcher http calls a function; say where it is: --url https://…')
  if (secret === undefined)
    throw invalid('REPRISE_ADVANCE_SECRET is not set; set it to the secret that the function at --url has')
  const { httpDispatcher } = await import('../../../workers/http/http-dispatcher.ts')
  return httpDispatcher({ url, secret })
}

/** `9080`, `0.0.0.0:9080`, `[::1]:9080` */
function readListen(given: string): { readonly host?: string; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:]+)):)?(\d{1,5})$/.exec(given) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535)
    throw invalid(`--listen is ${JSON.stringify(given)}; give a port, or a host and a port: 0.0.0.0:9080`)
  return { port, ...defined({ host: bracketed ?? plain }) }
}

function invalid(words: string): RepriseError {
  return new RepriseError('OPTION_INVALID', words)
}
