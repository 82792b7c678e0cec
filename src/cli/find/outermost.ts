import { rootRunId } from '../../journal/paths.ts'
import type { Store } from '../../stores/store.ts'

/** The run that it works for, through all crews that are tasks of others: that is the one to resume. */
export async function outermost(store: Store, run: string): Promise<string> {
  const root = rootRunId(run)
  return (await store.row(root)) ? root : run
}
