// From what a person types to a run: its id, the beginning of its id, or `latest`.
import { runNotFound } from '../engine/read-run.ts'
import { RepriseError } from '../errors.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { UsageError } from './exit-codes.ts'

const shortest = 4
const pageSize = 500

/** RUN_NOT_FOUND; a usage error that lists the runs when several begin like that. `crew` narrows down `latest`. */
export async function findRun(store: Store, name: string, crew?: string): Promise<RunRow> {
  if (name === 'latest') return latestRun(store, crew)
  const exact = await store.row(name)
  if (exact) return exact
  if (name.length < shortest) {
    const message = `there is no run ${name}, and the beginning of an id has at least ${shortest} characters; see: reprise runs`
    throw new RepriseError('RUN_NOT_FOUND', message, { runId: name })
  }
  const matches: RunRow[] = []
  for await (const row of allRows(store)) if (row.run.startsWith(name)) matches.push(row)
  const [only] = matches
  if (!only) throw runNotFound(store, name)
  if (matches.length === 1) return only
  const shown = matches.slice(0, 10).map((row) => `${row.run} (${row.crew}, ${row.status})`)
  const more = matches.length > shown.length ? ` and ${matches.length - shown.length} more` : ''
  throw new UsageError(
    `${matches.length} runs begin with ${name}: ${shown.join(', ')}${more}; give more of the id, or see: reprise runs`,
  )
}

/** How many characters of an id tell each of these runs from every other one in the store. */
export async function prefixLength(store: Store, runs: ReadonlySet<string>): Promise<number> {
  const ids: string[] = []
  for await (const row of allRows(store)) ids.push(row.run)
  const sorted = ids.toSorted()
  let length = 8
  for (const [index, id] of sorted.entries()) {
    if (!runs.has(id)) continue
    for (const other of [sorted[index - 1], sorted[index + 1]]) length = Math.max(length, shared(id, other ?? '') + 1)
  }
  return length
}

async function latestRun(store: Store, crew: string | undefined): Promise<RunRow> {
  const { rows } = await store.list(crew === undefined ? {} : { crew }, { limit: 1 })
  if (rows[0]) return rows[0]
  const what = crew === undefined ? 'there are no runs' : `crew ${crew} has no runs`
  throw new RepriseError('RUN_NOT_FOUND', `${what} in ${store.url} yet; start one with: reprise run <file>`)
}

async function* allRows(store: Store): AsyncGenerator<RunRow> {
  let before: string | undefined
  do {
    const page = await store.list({}, { limit: pageSize, ...(before === undefined ? {} : { before }) })
    yield* page.rows
    before = page.next
  } while (before !== undefined)
}

function shared(a: string, b: string): number {
  let count = 0
  while (count < a.length && a[count] === b[count]) count++
  return count
}
