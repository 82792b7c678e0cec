// One request to Restate, over HTTP: to the first of its addresses that answers.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { rootCause } from '../http/call-failure.ts'

export interface RestateCall {
  readonly path: string
  readonly body: unknown
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly token: string | undefined
  /** Called when it answers that it does not know what is called. */
  readonly unknown?: () => void
}

const timeoutMs = 10_000

/**
 * What it answers. DISPATCHER_FAILED when no address does, or the answer is a refusal, with what Restate says about it.
 */
export async function callRestate(addresses: readonly string[], call: RestateCall): Promise<unknown> {
  const { path, body, token } = call
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', ...authorization, ...call.headers }
  const failures: string[] = []
  for (const address of addresses) {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
      if (response.ok) return await response.json()
      if (response.status === 404) call.unknown?.()
      failures.push(`${address} answers ${response.status}: ${await readErrorText(response)}`)
    } catch (error) {
      failures.push(`${address} cannot be reached: ${redact(messageOf(rootCause(error)))}`)
    }
  }
  const words = `Restate at ${failures.join('; at ')}; start it, or say where it is: RESTATE_INGRESS_URL, RESTATE_ADMIN_URL`
  throw new RepriseError('DISPATCHER_FAILED', words)
}

async function readErrorText(response: Response): Promise<string> {
  const said = await response.text().catch(() => '')
  try {
    const { message } = JSON.parse(said) as { message?: unknown }
    if (typeof message === 'string') return message
  } catch {
    // not one of its own answers
  }
  return said.slice(0, 200) || response.statusText
}
