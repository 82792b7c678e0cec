// Executes a run for `reprise run`, `resume`, `fork` and its presets: opens the crew's store, shows progress, stops on
// Ctrl-C, and prints the result or the next step.
import type { Crew } from '../crew/crew.ts'
import { continueWords, printFailures } from './output/run-words.ts'
import { openCrewStore, setAdvice } from '../crew/open-crew.ts'
import type { Run } from '../crew/run.ts'
import type { KickoffOptions } from '../crew/verbs/kickoff.ts'
import { RepriseError } from '../base/errors.ts'
import type { Answer } from '../journal/entries.ts'
import { type RunView, viewRun } from '../runs/run-view.ts'
import type { Store } from '../stores/store.ts'
import { askQuestion } from './input/ask-question.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import type { Invocation } from './command.ts'
import { observeStore, openProgress, type Progress } from './live/progress.ts'
import { printWaiting } from './output/print-question.ts'
import { missingStore, noRunsYet, locateStore } from './find/open-runs.ts'
import { canAsk, terminalPerson } from './input/ask-line.ts'
import type { Channel, Terminal } from './output/terminal.ts'
import { inLocalTimes, usageWords } from '../text/words.ts'
import { readSigner } from './options.ts'

export interface Execution {
  readonly crew: Crew
  readonly store: Store
  readonly signal: AbortSignal
  /** The option with which a verb asks the person at the terminal; empty without a terminal. */
  readonly asking: Pick<KickoffOptions, 'onQuestion'>
}

/** Opens the command's store without executing anything. A missing store is not created: `work` gets an empty one. */
export async function withCrewStore(
  { options, commands }: Invocation,
  crew: Crew,
  work: (execution: Pick<Execution, 'crew' | 'store'>) => Promise<ExitCode>,
): Promise<ExitCode> {
  commands.setStore(locateStore(crew.store, commands.file))
  const given = options.store ?? crew.store
  const missing = await missingStore(given)
  const store = await openCrewStore(missing === undefined ? given : 'memory:')
  try {
    return await work({ crew: crew.with({ store }), store })
  } catch (error) {
    const isRunMissing = RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND'
    throw missing !== undefined && isRunMissing ? noRunsYet(missing) : error
  } finally {
    await store.close()
  }
}

/**
 * Gives `work` a copy of the crew with an observed store, executes the run that it starts, and prints the outcome.
 * `work` returns undefined if it starts nothing.
 */
export async function execute(
  invocation: Invocation,
  crew: Crew,
  work: (execution: Execution) => Promise<Run | undefined>,
): Promise<ExitCode> {
  const { terminal, options, commands } = invocation
  commands.setStore(locateStore(crew.store, commands.file))
  setAdvice(commands.advice)
  const store = await openCrewStore(options.store ?? crew.store)
  using interrupt = stopOnInterrupt(terminal.err)
  let entries = 0
  /** Questions that were put to the person here. */
  const seen = new Set<string>()
  try {
    const run = await executeWatched()
    if (!run) {
      terminal.err.line('nothing was started')
      return exitCodes.usage
    }
    const result = await run.result()
    // without the crew, so outputs stay plain JSON: a schema's transforms may return anything
    const readView = (): Promise<RunView> => viewRun({ store }, result.runId)
    if (terminal.json) terminal.record(await readView())
    if (result.status === 'suspended') {
      if (result.questions.length > 0 && !commands.isGone(result.next))
        printWaiting(terminal.loud, commands, result.runId, result.questions, seen)
      else {
        const next = continueWords((await readView()).status, commands.advice(result.next))
        terminal.loud.line({ text: `${inLocalTimes(result.facts)}; ${next}`, format: 'yellow' })
      }
      return exitCodes.suspended
    }
    const words = entries > 0 ? usageWords(result.usage.spent) : 'before; this is its stored result'
    terminal.err.line({ text: `run ${result.runId} completed`, format: 'green' }, `${entries > 0 ? ': ' : ' '}${words}`)
    printFailures(terminal.loud, commands, result)
    if (!terminal.json) terminal.out.raw(result.raw)
    return exitCodes.done
  } finally {
    await store.close()
  }

  /** Shows progress until it returns or throws. */
  async function executeWatched(): Promise<Run | undefined> {
    using progress = openProgress(terminal, { store, prices: crew.prices })
    const observed = observeStore(store, (entry, run) => {
      entries++
      return progress.onEntry(entry, run)
    })
    const asking = canAsk() ? { onQuestion: askInTurn(terminal, progress, interrupt.signal, seen) } : {}
    try {
      const run = await work({ crew: crew.with({ store: observed.store }), store, signal: interrupt.signal, asking })
      if (run) progress.follow(run)
      await run?.result()
      return run
    } finally {
      await observed.delivered()
    }
  }
}

/**
 * Asks the questions of a run one after another, and adds their ids to `seen`. If the person leaves a question, it
 * stays open, and the run continues as far as it can.
 */
function askInTurn(
  terminal: Terminal,
  progress: Progress,
  signal: AbortSignal,
  seen: Set<string>,
): NonNullable<KickoffOptions['onQuestion']> {
  let previous: Promise<unknown> = Promise.resolve()
  return (question) => {
    const ask = async (): Promise<Answer | undefined> => {
      seen.add(question.id)
      const answer = await progress.whileAsking(() => askQuestion(terminal, question, terminalPerson(signal)))
      return answer && { ...answer, ...readSigner(undefined) }
    }
    const asked = previous.then(ask)
    previous = asked.catch(() => undefined)
    return asked
  }
}

/** Handles Ctrl-C and SIGTERM until disposed: the first aborts `signal`, a second one ends the process at once. */
export function stopOnInterrupt(channel: Channel): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  let first = 0
  const onSignal = (): void => {
    if (!controller.signal.aborted) {
      first = performance.now()
      channel.line('stopping; press Ctrl-C again to exit without waiting')
      controller.abort()
      return
    }
    // npx and npm repeat a Ctrl-C that the terminal has already sent; the repetition doesn't count
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
