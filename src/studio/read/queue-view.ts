// Queue and workers at a glance: how many runs of each crew are in which state, and which processes execute some.
import { allRows } from '../../engine/history/all-rows.ts'
import { isBacktest } from '../../engine/history/backtest-name.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { readExecution, type Holder } from '../../runs/status.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { QueueView } from '../api/contract.ts'

/** More are not counted: a glance must not take longer than a second. */
const rowsLimit = 5_000

type Counts = { -readonly [K in keyof QueueView['crews'][number]]: QueueView['crews'][number][K] }

export async function queueView(store: Store): Promise<QueueView> {
  const crews = new Map<string, Counts>()
  const workers = new Map<string, Holder & { runs: string[] }>()
  const now = await store.now()
  let counted = 0
  let cut = false
  for await (const row of allRows(store, { roots: true, status: ['queued', 'running', 'suspended', 'failed'] })) {
    if (isBacktest(row.crew)) continue
    if (counted++ === rowsLimit) {
      cut = true
      break
    }
    const counts = crews.get(row.crew) ?? noCounts(row.crew)
    crews.set(row.crew, counts)
    await count(store, row, { counts, workers, now })
  }
  return { crews: [...crews.values()].toSorted(byCrew), workers: [...workers.values()], cut }
}

interface Counting {
  readonly counts: Counts
  readonly workers: Map<string, Holder & { runs: string[] }>
  readonly now: number
}

async function count(store: Store, row: RunRow, { counts, workers, now }: Counting): Promise<void> {
  switch (row.status) {
    case 'queued': {
      counts.queued++
      const { dueAt, imported } = readSummary(row)
      if (!imported && (dueAt === undefined || Date.parse(dueAt) <= now)) counts.due++
      return
    }
    case 'running': {
      const { held, holder } = await readExecution(store, row.run, row.status)
      counts[held ? 'running' : 'abandoned']++
      if (!holder) return
      const key = JSON.stringify([holder.name, holder.host, holder.pid])
      const known = workers.get(key) ?? { ...holder, runs: [] }
      workers.set(key, known)
      known.runs.push(row.run)
      return
    }
    case 'suspended':
      if ((await rowStatus(store, row)) !== 'queued') counts.suspended++
      else {
        counts.queued++
        counts.due++
      }
      return
    case 'failed':
      counts.failed++
      return
    case 'completed':
    case 'cancelled':
  }
}

function noCounts(crew: string): Counts {
  return { crew, queued: 0, due: 0, running: 0, abandoned: 0, suspended: 0, failed: 0 }
}

function byCrew(a: Counts, b: Counts): number {
  return a.crew < b.crew ? -1 : Number(a.crew > b.crew)
}
