// Rows, pages of rows, and outputs by fingerprint. All are read from the journals, since people add and remove files.
import { listPage } from '../rules/listing.ts'
import type { RunId, RunRow, Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { completeRow } from './journal-file.ts'

/** Rejects with JOURNAL_DAMAGED if the readable lines of a damaged journal don't contain the whole row. */
export function findRow({ files, guarded }: Connection, run: RunId): Promise<RunRow | undefined> {
  return guarded(async () => {
    const state = await files.load(run)
    const row = state && completeRow(state)
    if (row === undefined && state?.damage !== undefined) throw state.damage
    return row
  })
}

export function listRows(
  { files, guarded }: Connection,
  ...[filter, page]: Parameters<Store['list']>
): ReturnType<Store['list']> {
  return guarded(async () => {
    const rows = (await files.all(filter.root)).map(({ row }) => row)
    return listPage(rows, filter, page)
  })
}

export function findOutput(
  { files, guarded }: Connection,
  ...[crew, task, fingerprint, since = 0]: Parameters<Store['findOutput']>
): ReturnType<Store['findOutput']> {
  return guarded(async () => {
    const [newest] = (await files.all())
      .filter(({ row }) => row.crew === crew)
      .flatMap(({ row, state }) => {
        const present = new Set(state.seqs)
        return state.outputs
          .filter((output) => output.task === task && output.fingerprint === fingerprint)
          .filter((output) => output.at >= since && present.has(output.seq))
          .map(({ at, seq }) => ({ at, seq, run: row.run }))
      })
      .toSorted((a, b) => b.at - a.at || b.seq - a.seq)
    return newest && { run: newest.run, seq: newest.seq, completedAt: newest.at }
  })
}
