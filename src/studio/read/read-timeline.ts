// The timeline of a run, from its journal.
import { readEntries } from '../../engine/read/read-run.ts'
import type { Store } from '../../stores/store.ts'
import { addEntry, emptyTimeline } from '../timeline/add-entry.ts'
import type { Timeline } from '../timeline/timeline.ts'

export async function readTimeline(store: Store, runId: string): Promise<Timeline> {
  const timeline = emptyTimeline(runId)
  for await (const { entry } of readEntries(store, runId)) addEntry(timeline, entry)
  return timeline
}
