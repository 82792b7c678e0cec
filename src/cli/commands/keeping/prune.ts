// `reprise prune`: deletes old runs, of one crew or of all.
import type { Pruned, PrunedRun } from '../../../runs/prune.ts'
import type { RunViewStatus } from '../../../runs/status.ts'
import { exitCodes, UsageError } from '../../exit-codes.ts'
import type { Invocation } from '../../invocation.ts'
import { readMoment } from '../../input/read-moment.ts'
import { pruneCrew } from './prune-crew.ts'
import { formatOf } from '../../show/run-words.ts'
import { openExistingRuns } from '../../find/open-runs.ts'
import { canAsk } from '../../terminal/ask-line.ts'
import { confirm } from '../../terminal/confirm.ts'
import { printTable } from '../../terminal/print-table.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { longTime, plural } from '../../terminal/entries-word.ts'

export interface PruneOptions {
  readonly olderThan?: string
  readonly keep?: number
  readonly status?: readonly RunViewStatus[]
  readonly crew?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export async function prune(invocation: Invocation<PruneOptions>): Promise<number> {
  const { terminal, options } = invocation
  const { olderThan, keep, status, crew, dryRun = false, yes = false } = options
  if (olderThan === undefined && keep === undefined && status === undefined) {
    const words = 'prune was not told what to delete; give it --older-than, --keep or --status'
    throw new UsageError(words, {
      next: { act: 'command', to: 'see first', words: ['prune', '--older-than', '30d', '--dry-run'] },
    })
  }
  const limits = {
    olderThan: olderThan === undefined ? undefined : readMoment('--older-than', olderThan),
    keep,
    status,
  }
  await using engine = await openExistingRuns(invocation)
  if (!engine) {
    terminal.err.line('there are no runs to delete')
    return exitCodes.done
  }
  const asks = !dryRun && !yes && canAsk()
  if (dryRun || asks) {
    const found = await pruneCrew(engine, crew, { ...limits, dryRun: true })
    if (dryRun || found.runs.length === 0) return report(terminal, found)
    printRuns(terminal, found.runs)
    if (!(await confirm(`Delete ${plural(found.runs.length, 'run')} for good?`, { yes, err: terminal.err }))) {
      terminal.err.line('nothing was deleted')
      return exitCodes.usage
    }
  }
  return report(terminal, await pruneCrew(engine, crew, limits), asks)
}

function report(terminal: Terminal, { runs, held, dryRun }: Pruned, shown = false): number {
  if (terminal.json) for (const run of runs) terminal.record({ ...run, deleted: !dryRun })
  else if (!shown && runs.length > 0) printRuns(terminal, runs)
  const what = plural(runs.length, 'run')
  terminal.err.line(dryRun ? `${what} would be deleted` : `deleted ${what}`)
  if (held.length > 0) terminal.err.line(`left alone, since somebody executes them: ${held.join(', ')}`)
  return exitCodes.done
}

function printRuns(terminal: Terminal, runs: readonly PrunedRun[]): void {
  // while somebody is asked, what is about to go is shown beside the question
  const channel = terminal.json ? terminal.err : terminal.out
  printTable(
    channel,
    [
      { title: 'run', value: (run) => run.runId, shrinkTo: 12 },
      { title: 'crew', value: (run) => run.crew, shrinkTo: 8 },
      { title: 'status', value: (run) => run.status, format: (run) => formatOf(run.status) },
      { title: 'updated', value: (run) => longTime(run.updatedAt) },
    ],
    runs,
  )
}
