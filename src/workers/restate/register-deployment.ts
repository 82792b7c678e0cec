// Tells Restate where the virtual objects of this worker are, again and again until it knows.
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { callRestate } from './call-restate.ts'

export interface Registration {
  readonly admin: readonly string[]
  readonly token: string | undefined
  /** Where the worker is reached. */
  readonly url: string
  readonly services: readonly string[]
  readonly signal: AbortSignal
  tell(said: string): void
}

const longestPause = 30_000

/** Resolves when it is registered, or the signal aborts. What goes wrong is told, when it is something new. */
export async function registerDeployment({ admin, token, url, services, signal, tell }: Registration): Promise<void> {
  let said = ''
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, longestPause)) {
    const problem = await register().catch((error: unknown) => redact(messageOf(error)))
    if (problem === undefined) {
      tell(`registered ${services.join(', ')} at ${url}`)
      return
    }
    if (problem !== said) tell(`not registered yet, and tried again: ${problem}`)
    said = problem
    await wait(pause, undefined, { signal }).catch(() => undefined)
  }

  async function register(): Promise<string | undefined> {
    // by force: what is known of this address may be what an earlier version of the crews had there
    const answer = await callRestate(admin, { path: '/deployments', body: { uri: url, force: true }, token })
    const { services: found = [] } = answer as { services?: readonly { readonly name: string }[] }
    const missing = services.filter((name) => !found.some((service) => service.name === name))
    // another worker may have answered behind a load balancer, with the crews that it has
    if (missing.length > 0) return `${url} answers without ${missing.join(', ')}`
    return undefined
  }
}
