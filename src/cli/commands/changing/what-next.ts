// What edit, invalidate and cancel say when their message is left for a run.
import { resumeCommand, shellWord } from '../../../engine/people/commands.ts'
import type { Store } from '../../../stores/store.ts'

/** What happens next, ending with a command: a run that another process executes takes the message by itself. */
export async function whatNext(store: Store, run: string): Promise<string> {
  if ((await store.holder(run)) === undefined) return `go on with: ${resumeCommand(run)}`
  return `its process takes that up by itself; look with: reprise show ${shellWord(run)}`
}
