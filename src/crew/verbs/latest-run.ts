// The default run of calls without a run id: the crew's latest.
import type { Engine } from '../../engine/definition.ts'
import { runExecutor } from '../../engine/lease/local-runs.ts'
import { allRows } from '../../engine/history/all-rows.ts'
import { moveOf } from '../../engine/read/moved.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { RepriseError } from '../../base/errors.ts'
import type { RunStatus } from '../../journal/entries.ts'
import { describeOwner } from '../../stores/owner.ts'
import type { OpenCrew } from '../open-crew.ts'

/** RUN_NOT_FOUND if no run is unfinished. */
export function latestUnfinished(open: OpenCrew, engine: Engine): Promise<string> {
  return findLatest(open, engine, ['queued', 'running', 'suspended', 'failed'])
}

/**
 * RUN_HELD if a process executes the latest run, since it may still do what the fork would do. RUN_NOT_FOUND if there
 * is none.
 */
export async function latestAtRest(open: OpenCrew, engine: Engine): Promise<string> {
  const run = await findLatest(open, engine)
  const owner = await runExecutor(engine, run)
  if (!owner) return run
  const words = `the latest run of crew ${open.definition.name}, ${run}, is being executed by ${describeOwner(owner)}; wait for it, or give a run id`
  throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
}

/** Undefined if the crew has no such run. A delayed run is the last choice. */
export async function latestRun({ store }: Engine, crew: string, status?: RunStatus[]): Promise<string | undefined> {
  const now = await store.now()
  let delayed: string | undefined
  for await (const row of allRows(store, { crew, roots: true, ...(status ? { status } : {}) }, 1)) {
    const summary = readSummary(row)
    const { dueAt } = summary
    if (status && moveOf(summary)) continue
    if (row.status !== 'queued' || dueAt === undefined || Date.parse(dueAt) <= now) return row.run
    delayed ??= row.run
  }
  return delayed
}

async function findLatest({ definition, named }: OpenCrew, engine: Engine, status?: RunStatus[]): Promise<string> {
  const { name } = definition
  const found = await latestRun(engine, name, status)
  if (found !== undefined) return found
  const unnamed = named ? '' : ' (it has no name, so its tasks identify it)'
  const words = status ? 'no unfinished run' : 'no run'
  const over = status && (await latestRun(engine, name))
  const next = over ? ({ type: 'refresh', runId: over } as const) : ({ type: 'kickoff' } as const)
  throw new RepriseError('RUN_NOT_FOUND', `crew ${name}${unnamed} has ${words} in ${engine.store.url}`, { next })
}
