// `reprise runs`: the runs of a store, newest first.
import { listRuns, type RunSummary } from '../../crew/runs.ts'
import type { Engine } from '../../engine/definition.ts'
import type { RunStatus } from '../../journal/entries.ts'
import type { RunFilter } from '../../stores/store.ts'
import { exitCodes } from '../exit-codes.ts'
import { prefixLength } from '../find-run.ts'
import type { Invocation } from '../invocation.ts'
import { formatOf, runWord } from '../run-record.ts'
import { openExistingRuns } from '../stores.ts'
import { printTable, tableWidth, type Column } from '../terminal/table.ts'
import { amount, longTime, shortTime } from '../terminal/words.ts'

export interface RunsOptions {
  readonly status?: RunStatus | 'abandoned'
  readonly crew?: string
  readonly limit: number
}

export async function runs({ terminal, options, complete }: Invocation<RunsOptions>): Promise<number> {
  await using engine = await openExistingRuns(options.store)
  const found = engine ? await matching(engine, options) : []
  if (terminal.json) {
    for (const summary of found) terminal.record(summary)
    return exitCodes.done
  }
  if (!engine || found.length === 0) {
    const narrowed = options.status !== undefined || options.crew !== undefined
    const next = narrowed ? 'see all with: reprise runs' : 'start one with: reprise run <file>'
    terminal.err.line(complete(`no runs${narrowed ? ' like that' : ''}; ${next}`))
    return exitCodes.done
  }
  const whole = table({
    id: (run) => run,
    time: longTime,
    withParent: found.some((summary) => summary.parent !== undefined),
  })
  if (tableWidth(whole, found) <= terminal.out.width) {
    printTable(terminal.out, whole, found)
    return exitCodes.done
  }
  const now = new Date()
  const shown = new Set(found.flatMap(({ id, parent }) => (parent === undefined ? [id] : [id, parent])))
  const length = await prefixLength(engine.store, shown)
  const withParent = found.some((summary) => summary.parent !== undefined)
  printTable(
    terminal.out,
    table({ id: (run) => run.slice(0, length), time: (at) => shortTime(at, now), withParent }),
    found,
  )
  return exitCodes.done
}

interface Shapes {
  readonly id: (run: string) => string
  readonly time: (at: string) => string
  readonly withParent: boolean
}

function table({ id, time, withParent }: Shapes): Column<RunSummary>[] {
  return [
    { title: 'run', value: (run) => id(run.id) },
    { title: 'crew', value: (run) => run.crew, shrinkTo: 8 },
    { title: 'status', value: runWord, format: (run) => formatOf(runWord(run)) },
    { title: 'tasks', value: (run) => `${run.done}/${run.total}`, align: 'right' },
    { title: 'tokens', value: (run) => amount(run.usage.input + run.usage.output), align: 'right' },
    { title: 'lives', value: (run) => String(run.lives), align: 'right' },
    { title: 'created', value: (run) => time(run.createdAt) },
    ...(withParent ? [{ title: 'parent', value: (run: RunSummary) => id(run.parent ?? ''), shrinkTo: 8 }] : []),
  ]
}

/** `abandoned` is no status in the store: it is running without anybody, so pages are read until there are enough. */
async function matching(engine: Engine, { status, crew, limit }: RunsOptions): Promise<RunSummary[]> {
  const filter: RunFilter = {
    ...(crew === undefined ? {} : { crew }),
    ...(status === undefined ? {} : { status: [status === 'abandoned' ? 'running' : status] }),
  }
  const found: RunSummary[] = []
  for (let before: string | undefined; ;) {
    const page = await listRuns(engine, filter, limit, before)
    found.push(...page.filter((summary) => status === undefined || runWord(summary) === status))
    before = page.at(-1)?.id
    if (page.length < limit || found.length >= limit) return found.slice(0, limit)
  }
}
