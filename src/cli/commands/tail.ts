// `reprise tail`: prints a run's entries as they are recorded, whichever process executes it. It never changes the run.
import { runArgument, wholeNumberOrZero, withStore } from '../options.ts'
import { findRootRun, noteRun, findRun } from '../find/find-run.ts'
import { describeEntry } from '../../journal/table/entry-table.ts'
import { isReady, moveOf } from '../../read/row-summary.ts'
import { movedWords } from '../../journal/describe.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { finishFold } from '../../journal/state/change-tasks.ts'
import type { RunState } from '../../journal/state/state.ts'
import { isAbandoned, describeStop, runViewStatus } from '../../runs/status.ts'
import { toRunTree } from '../../runs/run-view.ts'
import type { Store } from '../../stores/store.ts'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import type { Command, Invocation } from '../command.ts'
import { continueWords, statusFormat } from '../output/run-words.ts'
import { printWaiting } from '../output/print-question.ts'
import { openRuns } from '../find/open-runs.ts'
import { clock, inLocalTimes } from '../../text/words.ts'

/** A process that died leaves no message, so its lease is polled. */
const lookMs = 500

type End = 'left' | 'abandoned' | undefined

export const tailCommand: Command<{ readonly after: number }> = {
  declare: (command) =>
    withStore(command)
      .argument('[run]', runArgument)
      .option('--after <entry>', 'only entries after this one', wholeNumberOrZero, 0),
  examples: ['reprise tail latest'],
  action: tail,
}

async function tail(invocation: Invocation<{ readonly after: number }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using runs = await openRuns(invocation)
  const run = await noteRun(commands, runs.store, await findRun(runs.store, args[0]))
  // from the first entry, to know the final state without reading the run again
  const entries = runs.run(run).entries()
  const state = emptyState(run)
  let end: End
  const stop = (why: End): void => {
    end ??= why
    void entries.return?.()
  }
  const leave = (): void => stop('left')
  const watch = watchHolder(runs.store, run, () => stop('abandoned'))
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, leave)
  try {
    for await (const entry of entries) {
      applyEntry(state, entry)
      if (entry.seq <= options.after) continue
      if (terminal.json) terminal.record(entry)
      else
        terminal.out.shortLine(
          `${String(entry.seq).padStart(5)}  ${clock(entry.at)}  `,
          describeEntry(entry) ??
            (entry.type === 'run.created' ? `run ${run} of crew ${entry.crew} created` : entry.type),
        )
    }
  } finally {
    clearInterval(watch)
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, leave)
  }
  // awaited, or the store would be closed before it is read
  return await printEnd(invocation, runs.store, finishFold(state), end)
}

function watchHolder(store: Store, run: string, gone: () => void): NodeJS.Timeout {
  let misses = 0
  return setInterval(() => {
    const look = async (): Promise<void> => {
      const alone = await isAbandoned(store, run)
      // a process may be handing the run over
      misses = alone ? misses + 1 : 0
      if (misses > 1) gone()
    }
    // following the run reports a store that cannot be read
    look().catch(() => undefined)
  }, lookMs)
}

async function printEnd(
  { terminal, commands }: Invocation,
  store: Store,
  state: RunState,
  end: End,
): Promise<ExitCode> {
  const { run } = state
  const say = (word: string, next: string): void =>
    terminal.err.line({ text: `run ${run} ${word}`, format: statusFormat(word) }, next)
  if (end === 'left') {
    terminal.err.line(`left run ${run} as it is; ${commands.advice({ type: 'show', runId: run })}`)
    return exitCodes.interrupted
  }
  const resume = commands.advice({ type: 'resume', runId: await findRootRun(store, run) })
  if (end === 'abandoned') {
    say('abandoned', `: its process is gone; ${resume}`)
    return exitCodes.suspended
  }
  switch (state.status) {
    case 'completed':
      say('completed', '')
      return exitCodes.done
    case 'suspended': {
      const { questions } = await toRunTree(store, state)
      const move = moveOf(state)
      if (move) say('stopped', `: it ${movedWords(move)}`)
      else if (questions.length > 0) printWaiting(terminal.err, commands, run, questions)
      else if (isReady(state)) say('queued', `: it has what it waited for; without a worker, ${resume}`)
      else {
        const word = runViewStatus(state.status, state, { questions: 0, held: false })
        say(word, `: it ${inLocalTimes(describeStop({ ...state, runId: run }))}; ${continueWords(word, resume)}`)
      }
      return exitCodes.suspended
    }
    default:
      say(state.status, state.status === 'failed' ? `; ${resume}` : '')
      return exitCodes.failed
  }
}
