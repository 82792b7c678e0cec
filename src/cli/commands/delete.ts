// `reprise delete`: deletes a run for good. Its forks lose nothing.
import { runArgument, withStore } from '../options.ts'
import { RepriseError } from '../../base/errors.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { Store } from '../../stores/store.ts'
import { exitCodes } from '../exit-codes.ts'
import { findRunToEnd } from '../find/find-run.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'
import { canAsk, confirm } from '../input/ask-line.ts'

export const deleteCommand: Command<{ readonly yes?: boolean }> = {
  declare: (command) => withStore(command).argument('[run]', runArgument).option('--yes', 'do not ask'),
  examples: ['reprise delete claim-1'],
  action: deleteRun,
}

async function deleteRun(invocation: Invocation<{ readonly yes?: boolean }>): Promise<number> {
  const { terminal, args, options } = invocation
  await using runs = await openRuns(invocation)
  const { run, words } = await findDeletable(runs.store, args[0], !options.yes && canAsk())
  if (!(await confirm(`Delete run ${run}${words} for good?`, { yes: options.yes ?? false, err: terminal.err }))) {
    terminal.err.line('nothing was deleted')
    return exitCodes.usage
  }
  await runs.run(run).delete()
  if (terminal.json) terminal.record({ runId: run, deleted: true })
  terminal.err.line(`deleted run ${run}`)
  return exitCodes.done
}

/** A run that can no longer be read can still be deleted by its whole id. */
async function findDeletable(
  store: Store,
  name: string | undefined,
  asked: boolean,
): Promise<{ run: string; words: string }> {
  try {
    const row = await findRunToEnd(store, name, asked)
    return { run: row.run, words: ` of crew ${row.crew} (${await rowStatus(store, row)})` }
  } catch (error) {
    if (name !== undefined && RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED')
      return { run: name, words: ', which is damaged,' }
    throw error
  }
}
