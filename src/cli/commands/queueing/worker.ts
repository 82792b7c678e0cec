// `reprise worker`: executes what is ready of the crews of some modules, until it is stopped.
import { Crew } from '../../../crew/crew.ts'
import { setAdvice } from '../../../crew/result/log.ts'
import { defined } from '../../../base/defined.ts'
import type { ChangedPolicy } from '../../../engine/definition.ts'
import { startWorker } from '../../../workers/worker.ts'
import { exitCodes } from '../../exit-codes.ts'
import { loadServed } from '../../find/load-served.ts'
import { readDuration } from '../../input/read-duration.ts'
import type { Invocation } from '../../invocation.ts'
import { openDispatcher } from './open-dispatcher.ts'
import { tellEvent } from '../../show/worker-events.ts'
import { stopOnInterrupt } from '../executing/execute.ts'

export interface WorkerOptions {
  readonly name?: string
  readonly concurrency?: number
  readonly once?: boolean
  readonly changed?: ChangedPolicy
  readonly slice?: string
  readonly grace?: string
  readonly dispatcher?: 'restate' | 'http'
  readonly listen?: string
  readonly url?: string
  readonly port?: number
  readonly host?: string
}

export async function worker({ args, options, terminal, commands }: Invocation<WorkerOptions>): Promise<number> {
  const { name, concurrency, once, changed, port, host, store } = options
  const sliceSeconds = options.slice === undefined ? undefined : readDuration('--slice', options.slice)
  const graceSeconds = options.grace === undefined ? undefined : readDuration('--grace', options.grace)
  const dispatcher = await openDispatcher(options)
  const loaded = await loadServed(args.filter((path) => path !== undefined))
  const crews = store === undefined ? loaded : loaded.map((crew): Crew => crew.with({ store }))
  // which crew a run in progress is of
  const crewOf = new Map<string, string>()
  setAdvice((next) => {
    const its = 'runId' in next ? crewOf.get(next.runId) : undefined
    return commands.about(crews.find((crew) => crew.name === its)?.['~open'].module).advice(next)
  })
  try {
    const working = await startWorker(crews, {
      ...defined({ name, concurrency, once, changed, sliceSeconds, graceSeconds, dispatcher, port, host }),
      onEvent(event) {
        if (event.event === 'claimed') crewOf.set(event.runId, event.crew)
        if (event.event === 'left' || event.event === 'refused') crewOf.delete(event.runId)
        tellEvent(terminal, event)
      },
    })
    // the first signal stops it, one more ends the process
    using interrupt = stopOnInterrupt(terminal.err)
    interrupt.signal.addEventListener('abort', () => void working.stop().catch(() => undefined), { once: true })
    await working.done
    return exitCodes.done
  } finally {
    for (const crew of crews) await crew.close()
  }
}
