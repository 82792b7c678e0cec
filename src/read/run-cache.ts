// Runs that are read again and again, as for a page that shows a long run. The state is kept, and the next read folds
// only the new lines. It still reads all lines and compares their hashes, since nothing else tells whether the earlier
// ones are the same: a person may edit a journal in an editor or by SQL, and a run may be deleted and created, imported
// or restored under its id. Then, and while entries are missing or changed, the run is folded from its first line.
import { seriallyByName } from '../base/notifier.ts'
import { hashBytes } from '../journal/hash.ts'
import { isHandEdited } from '../journal/state/change-tasks.ts'
import type { RunState } from '../journal/state/state.ts'
import type { Store } from '../stores/store.ts'
import { continueFold, emptyFold, finishRead, type RunFold } from './read-run.ts'

export interface RunCache {
  /**
   * Reads a run for `use`, which must not change its state, nor use the cache for the same run. Resolves with a copy of
   * what `use` returns, because the next read changes the state. Rejects with RUN_NOT_FOUND.
   */
  use<T>(run: string, use: (state: RunState) => T | Promise<T>): Promise<T>
}

/** In bytes of journals. Their states are several times as large. */
const cacheLimit = 32 * 1024 * 1024

export function createRunCache(store: Store, limit: number = cacheLimit): RunCache {
  /** The least recently used first. */
  const kept = new Map<string, RunFold>()
  const inTurn = seriallyByName()

  async function read(run: string): Promise<RunState> {
    const known = kept.get(run)
    // a read that fails leaves nothing behind
    kept.delete(run)
    const noted = await store.lastNoted(run)
    let fold = known ?? emptyFold(run)
    if (!(await areStored(store, fold)) || !(await continueFold(store, fold))) {
      fold = emptyFold(run)
      await continueFold(store, fold)
    }
    const isWhole = noted === undefined || noted.seq <= fold.state.seq
    const { state } = finishRead(store, fold, noted)
    if (isWhole && !isHandEdited(state)) keep(fold)
    return state
  }

  function keep(fold: RunFold): void {
    kept.set(fold.run, fold)
    let bytes = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0)
    for (const one of kept.values()) {
      if (bytes <= limit) break
      kept.delete(one.run)
      bytes -= one.bytes
    }
  }

  return {
    use: (run, use) => inTurn(run, async () => structuredClone(await use(await read(run)))),
  }
}

/** Whether the values that the lines of a run refer to are stored as they were. */
async function areStored(store: Store, { run, blobs }: RunFold): Promise<boolean> {
  for (const hash of blobs) {
    const bytes = await store.blob(run, hash)
    if (!bytes || hashBytes(bytes) !== hash) return false
  }
  return true
}
