// `reprise requeue`: lets a worker continue a run that would otherwise wait for `resume`. It loads no crew's code.
import { runArgument, signerOption, withStore, readSigner } from '../options.ts'
import { canRequeue } from '../../runs/find.ts'
import { exitCodes } from '../exit-codes.ts'
import { noteRun, findRun } from '../find/find-run.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'

export const requeueCommand: Command<{ readonly by?: string }> = {
  declare: (command) => withStore(command).argument('[run]', runArgument).option('--by <name>', signerOption),
  examples: ['reprise requeue latest'],
  action: requeueRun,
}

async function requeueRun(invocation: Invocation<{ readonly by?: string }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using runs = await openRuns(invocation)
  const row = await findRun(runs.store, args[0], undefined, { fits: canRequeue })
  const named = await noteRun(commands, runs.store, row)
  const signed = readSigner(options.by)
  const runId = await runs.run(named).requeue(signed)
  if (terminal.json) terminal.record({ runId, requeued: true, ...signed })
  const work = commands.advice({ type: 'command', to: 'start one', words: ['worker'], takes: 'file' })
  terminal.err.line(`run ${runId} waits for a worker; if none is running, ${work}`)
  return exitCodes.done
}
