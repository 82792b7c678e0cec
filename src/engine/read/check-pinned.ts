// Checks that the outputs to which an attempt's pinned message refers are unchanged in the journal.
import type { OutputReference } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import { outputReferences } from '../../journal/pinned.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'

/** Call the result for each started attempt. If its texts were changed by hand, it becomes void: it cannot continue. */
export function pinChecker(state: RunState): (path: string) => void {
  const digests = new Map<number, string>()
  const isChanged = ({ output, digest: expected }: OutputReference): boolean => {
    const found = digests.get(output) ?? digest(state.outputs.get(output) ?? '')
    digests.set(output, found)
    return found !== expected
  }
  return (path) => {
    const attempt = state.attempts.get(path) as AttemptState
    if (attempt.pinned && outputReferences(attempt.pinned.message).some(isChanged)) attempt.status = 'void'
  }
}
