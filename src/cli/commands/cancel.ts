// `reprise cancel`: ends a run for good, whichever process executes it.
import { runArgument, signerOption, withStore, readSigner } from '../options.ts'
import { isEnded } from '../../journal/state/state.ts'
import { rowStatus } from '../../runs/summary.ts'
import { exitCodes } from '../exit-codes.ts'
import { noteRun, findRunToEnd } from '../find/find-run.ts'
import type { Command, Invocation } from '../command.ts'
import { isScheduleCrew } from '../../read/schedule-name.ts'
import { openRuns } from '../find/open-runs.ts'
import { canAsk, confirm } from '../input/ask-line.ts'

interface CancelOptions {
  readonly by?: string
  readonly yes?: boolean
}

export const cancelCommand: Command<CancelOptions> = {
  declare: (command) =>
    withStore(command).argument('[run]', runArgument).option('--by <name>', signerOption).option('--yes', 'do not ask'),
  examples: ['reprise cancel latest'],
  action: cancel,
}

async function cancel(invocation: Invocation<CancelOptions>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using runs = await openRuns(invocation)
  const { yes = false } = options
  const row = await findRunToEnd(runs.store, args[0], !yes && canAsk())
  await noteRun(commands, runs.store, row)
  const { run, crew } = row
  const status = await rowStatus(runs.store, row)
  // the library refuses to cancel a run that has ended
  if (
    !isEnded(row.status) &&
    !(await confirm(`Cancel run ${run} of crew ${crew} (${status}) for good?`, { yes, err: terminal.err }))
  ) {
    terminal.err.line('nothing was cancelled')
    return exitCodes.usage
  }
  const signed = readSigner(options.by)
  await runs.run(run).cancel(signed)
  const cancelled = (await runs.store.row(run))?.status === 'cancelled'
  if (terminal.json) terminal.record({ runId: run, cancelled, ...signed })
  const done = cancelled ? `cancelled run ${run}` : `told the process that executes run ${run} to stop`
  // the code of a schedule that was added is inside Reprise, so nothing can be made from its run
  if (cancelled && isScheduleCrew(crew)) terminal.err.line(`${done}, which ends the schedule`)
  else terminal.err.line(`${done}; ${commands.advice({ type: cancelled ? 'refresh' : 'show', runId: run })}`)
  return exitCodes.done
}
