// The root of the run that a command is about, for printed commands: they resume the root, with its crew's file.
import { rootRunId } from '../../journal/paths.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { Commands } from '../write-command.ts'

/** Notes the crew's file, and returns the run's id. */
export async function noteRun(commands: Commands, store: Store, row: RunRow): Promise<string> {
  // a child run continues with its root
  const top = await findRootRun(store, row.run)
  const resumed = top === row.run ? row : await store.row(top)
  commands.setCrew(resumed && readSummary(resumed).module)
  return row.run
}

/** The id of the root run, which is the run to resume. */
export async function findRootRun(store: Store, run: string): Promise<string> {
  const root = rootRunId(run)
  return (await store.row(root)) ? root : run
}
