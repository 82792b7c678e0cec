// What the commands that execute have in common: a crew on its store, progress while it works, Ctrl-C, and what is said at the end.
import type { Crew } from '../crew/crew.ts'
import { openCrewStore } from '../crew/default-store.ts'
import type { RunResult } from '../crew/result.ts'
import { readRun } from '../engine/read-run.ts'
import { RepriseError } from '../errors.ts'
import type { Store } from '../stores/store.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import type { Invocation } from './invocation.ts'
import { observe, progressLines } from './progress.ts'
import { recordOf } from './run-record.ts'
import { defaultStoreExists, noRunsYet } from './stores.ts'
import type { Channel } from './terminal/terminal.ts'
import { usageWords } from './terminal/words.ts'

export interface Execution {
  readonly crew: Crew
  readonly store: Store
  readonly signal: AbortSignal
}

/** A crew on the store that the command is to use, without executing anything. Where there is no store yet, none is made. */
export async function withCrewStore(
  { options }: Invocation,
  crew: Crew,
  work: (execution: Omit<Execution, 'signal'>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const given = options.store ?? crew.store
  const fresh = given === undefined && !defaultStoreExists()
  const store = await openCrewStore(fresh ? 'memory:' : given)
  try {
    return await work({ crew: crew.with({ store }), store })
  } catch (error) {
    throw fresh && RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND' ? noRunsYet() : error
  } finally {
    await store.close()
  }
}

/** Executes `work` on a copy of the crew whose store is watched, and prints what came of it; undefined when nothing was started. */
export async function execute(
  invocation: Invocation,
  crew: Crew,
  work: (execution: Execution) => Promise<RunResult | undefined>,
): Promise<ExitCode> {
  const { terminal, options, complete } = invocation
  const store = await openCrewStore(options.store ?? crew.store)
  const print = progressLines(terminal.err)
  let steps = 0
  const observed = observe(store, (entry, run) => {
    steps++
    print(entry, run)
  })
  using interrupt = stopOnInterrupt(terminal.err)
  try {
    const result = await work({ crew: crew.with({ store: observed.store }), store, signal: interrupt.signal })
    await observed.heard()
    if (!result) {
      terminal.err.line('nothing was started')
      return exitCodes.usage
    }
    if (terminal.json) terminal.record(recordOf((await readRun(store, result.runId)).state, false))
    if (result.status === 'suspended') {
      terminal.err.line({ text: complete(String(result)), format: 'yellow' })
      return exitCodes.suspended
    }
    const words = steps > 0 ? usageWords(result.usage.spent) : 'before; this is its stored result'
    terminal.err.line({ text: `run ${result.runId} completed`, format: 'green' }, `${steps > 0 ? ': ' : ' '}${words}`)
    if (!terminal.json) terminal.out.raw(result.raw)
    return exitCodes.done
  } finally {
    await observed.heard()
    await store.close()
  }
}

/** The first Ctrl-C or SIGTERM suspends the run; one more ends the process at once. */
export function stopOnInterrupt(channel: Channel): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  let first = 0
  const onSignal = (): void => {
    if (!controller.signal.aborted) {
      first = performance.now()
      channel.line('stopping; once more to exit without waiting')
      controller.abort()
      return
    }
    // npx and npm pass a Ctrl-C on that the terminal has already sent: that is not a second one
    if (performance.now() - first > 300) process.exit(exitCodes.interrupted)
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const name of signals) process.on(name, onSignal)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const name of signals) process.off(name, onSignal)
    },
  }
}
