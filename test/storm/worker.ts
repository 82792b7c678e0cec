// A process that executes commands from stdin until it is killed: by itself at the moment `kill`, or from outside.
import { createInterface } from 'node:readline'
import { openStore } from '../../src/stores/open-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { act, type Deed, type Outcome } from './act.ts'
import type { CrewPlan } from './crew-plan.ts'
import { ledgerIn } from './ledger.ts'

export interface Command {
  readonly folder: string
  readonly url: string
  readonly plan: CrewPlan
  readonly deed: Deed
  readonly kill?: Kill | undefined
}

/** Moments to be killed at: before or after a write to the store, inside an effect, or during a model call. */
export interface Kill {
  readonly moment: 'before' | 'behind' | 'effect' | 'request'
  readonly number: number
}

export interface Reply extends Outcome {
  /** How often each moment occurred. */
  readonly moments: { readonly [moment in Kill['moment']]: number }
  /** Errors that are always a defect. */
  readonly crash?: string
}

// loaded first, so that a random moment lies within the work
await import('ai')
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await follow(JSON.parse(line) as Command)))
}

async function follow({ folder, url, plan, deed, kill }: Command): Promise<Reply> {
  process.chdir(folder)
  const moments = { before: 0, behind: 0, effect: 0, request: 0 }
  const at = (moment: Kill['moment']): void => {
    moments[moment] += 1
    if (kill?.moment === moment && kill.number === moments[moment]) process.kill(process.pid, 'SIGKILL')
  }
  const ledger = ledgerIn(folder, ({ what }) => (what === 'effect' || what === 'request') && at(what))
  const store = await openStore(url)
  try {
    return { ...(await act(deed, plan, ledger, killing(store, at))), moments }
  } catch (error) {
    return { moments, crash: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  } finally {
    await store.close()
  }
}

function killing(inner: Store, at: (moment: Kill['moment']) => void): Store {
  const watched =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      at('before')
      const written = await write(...args)
      at('behind')
      return written
    }
  return {
    ...inner,
    create: watched(inner.create.bind(inner)),
    append: watched(inner.append.bind(inner)),
    delete: watched(inner.delete.bind(inner)),
    post: watched(inner.post.bind(inner)),
    close: async () => {},
  }
}
