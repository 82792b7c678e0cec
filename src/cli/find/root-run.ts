// The run that a command is about, where the command loads no crew: what it prints to type next names the crew's file.
import { rootRunId } from '../../journal/paths.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { Commands } from '../write-command.ts'

/** The run's id. */
export async function aboutRun(commands: Commands, store: Store, row: RunRow): Promise<string> {
  // a run that works for another one continues with it
  const top = await outermost(store, row.run)
  const resumed = top === row.run ? row : await store.row(top)
  commands.madeIn(resumed && readSummary(resumed).module)
  return row.run
}

/** The run that it works for, through all crews that are tasks of others: that is the one to resume. */
export async function outermost(store: Store, run: string): Promise<string> {
  const root = rootRunId(run)
  return (await store.row(root)) ? root : run
}
