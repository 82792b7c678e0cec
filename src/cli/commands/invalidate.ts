// `reprise invalidate`: marks a task of an unfinished run to be executed again.
import { runArgument, signerOption, taskArgument, withStore, readSigner } from '../options.ts'
import { isUnfinished } from '../../runs/find.ts'
import { exitCodes } from '../exit-codes.ts'
import { noteRun, findRun, whatNext } from '../find/find-run.ts'
import { chooseRunTask } from '../find/find-task.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'

export const invalidateCommand: Command<{ readonly by?: string }> = {
  declare: (command) =>
    withStore(command)
      .argument('[run]', runArgument)
      .argument('[task]', taskArgument)
      .option('--by <name>', signerOption),
  examples: ['reprise invalidate latest facts'],
  action: invalidate,
}

async function invalidate(invocation: Invocation<{ readonly by?: string }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using runs = await openRuns(invocation)
  const row = await findRun(runs.store, args[0], undefined, { fits: isUnfinished })
  const run = await noteRun(commands, runs.store, row)
  const { run: owner, task: found, address: task } = await chooseRunTask(runs.store, run, args[1])
  const signed = readSigner(options.by)
  await runs.run(owner).invalidate(found.name, signed)
  if (terminal.json) terminal.record({ runId: run, task, invalidated: true, ...signed })
  terminal.err.line(`task ${task} of run ${run} will be executed again`)
  terminal.err.line(await whatNext(commands, runs.store, run))
  return exitCodes.done
}
