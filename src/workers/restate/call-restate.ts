// Sends one HTTP request to the first Restate address that answers.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { rootCause } from '../http/call-failure.ts'

export interface RestateCall {
  readonly path: string
  readonly body: unknown
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly token: string | undefined
  /** Called on 404: Restate does not know the service. */
  readonly onUnknown?: () => void
}

const timeoutMs = 10_000

/** Returns the answer. DISPATCHER_FAILED if no address answers or Restate refuses, with the error of Restate. */
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
      if (response.status === 404) call.onUnknown?.()
      failures.push(`${address} answers ${response.status}: ${await readErrorText(response)}`)
    } catch (error) {
      failures.push(`${address} cannot be reached: ${redact(messageOf(rootCause(error)))}`)
    }
  }
  const words = `Restate at ${failures.join('; at ')}; start it, or set RESTATE_INGRESS_URL and RESTATE_ADMIN_URL`
  throw new RepriseError('DISPATCHER_FAILED', words)
}

async function readErrorText(response: Response): Promise<string> {
  const text = await response.text().catch(() => '')
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    if (typeof message === 'string') return message
  } catch {
    // not an error of Restate itself
  }
  return text.slice(0, 200) || response.statusText
}
