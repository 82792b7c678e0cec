// The runs of tasks that are crews, as far as they are shown within the page of the run that they work for: each is
// read when it is opened, and no longer followed when it is closed.
import { signal, type ReadonlySignal } from '@preact/signals'
import { isInTreeOf } from '../../../journal/paths.ts'
import { followRun, type LiveRun } from './live-run.ts'

export interface ChildRuns {
  /** By id. */
  readonly followed: ReadonlySignal<ReadonlyMap<string, LiveRun>>
  follow(ids: readonly string[]): void
  /** That one, and those that work for it. */
  drop(id: string): void
  refresh(): void
}

export function childRuns(): ChildRuns {
  const followed = signal<ReadonlyMap<string, LiveRun>>(new Map())
  return {
    followed,
    follow(ids) {
      const more = ids.filter((id) => !followed.peek().has(id))
      if (more.length === 0) return
      const added = more.map((id) => [id, followRun(id, { stream: false })] as const)
      followed.value = new Map([...followed.peek(), ...added])
    },
    drop(id) {
      const kept = [...followed.peek()].filter(([each, run]) => {
        const stays = !isInTreeOf(each, id)
        if (!stays) run.stop()
        return stays
      })
      followed.value = new Map(kept)
    },
    refresh() {
      for (const run of followed.peek().values()) if (!isOver(run)) run.refresh()
    },
  }
}

function isOver({ detail }: LiveRun): boolean {
  const status = detail.peek()?.status
  return status === 'completed' || status === 'cancelled'
}
