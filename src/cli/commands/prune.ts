// `reprise prune`: deletes old runs of one crew or of all.
import { Option } from 'commander'
import { statusesOption, wholeNumberOrZero, storeFileArgument, readMoment } from '../options.ts'
import type { PruneResult } from '../../runs/prune.ts'
import type { RunOutline } from '../../runs/summary.ts'
import { runViewStatuses, type RunViewStatus } from '../../runs/status.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import type { Command, Invocation } from '../command.ts'
import { statusFormat } from '../output/run-words.ts'
import { openExistingRuns } from '../find/open-runs.ts'
import { canAsk, confirm } from '../input/ask-line.ts'
import { printTable } from '../output/print-table.ts'
import type { Terminal } from '../output/terminal.ts'
import { longTime, plural } from '../../text/words.ts'

interface PruneOptions {
  readonly all?: boolean
  readonly olderThan?: string
  readonly keep?: number
  readonly status?: readonly RunViewStatus[]
  readonly crew?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export const pruneCommand: Command<PruneOptions> = {
  declare: (command) =>
    command
      .option('--file <file>', storeFileArgument)
      .addOption(new Option('--all', 'all runs, whatever their status').conflicts(['olderThan', 'keep', 'status']))
      .option('--older-than <age>', 'last updated longer ago than 30d, 12h or 2w, or before 2026-01-31')
      .option('--keep <number>', 'keep this many of the newest runs of each crew', wholeNumberOrZero)
      .addOption(statusesOption('default: completed, cancelled and failed'))
      .option('--crew <name>', 'only runs of this crew, and its backtests')
      .option('--dry-run', 'list the runs that would be deleted, and delete nothing')
      .option('--yes', 'do not ask'),
  examples: ['reprise prune --older-than 30d --keep 20', 'reprise prune --all --crew claims'],
  action: prune,
}

async function prune(invocation: Invocation<PruneOptions>): Promise<number> {
  const { terminal, options } = invocation
  const { all = false, olderThan, keep, status, crew, dryRun = false, yes = false } = options
  if (!all && olderThan === undefined && keep === undefined && status === undefined) {
    const words = 'prune must know which runs to delete; give --older-than, --keep, --status or --all'
    throw new UsageError(words, {
      next: { type: 'command', to: 'preview it', words: ['prune', '--older-than', '30d', '--dry-run'] },
    })
  }
  const limits = {
    olderThan: olderThan === undefined ? undefined : readMoment('--older-than', olderThan),
    keep,
    status: all ? (Object.keys(runViewStatuses) as RunViewStatus[]) : status,
  }
  const whose = crew === undefined ? '' : ` of crew ${crew}`
  await using runs = await openExistingRuns(invocation)
  if (!runs) {
    terminal.err.line(`there are no runs${whose} to delete`)
    return exitCodes.done
  }
  const asks = !dryRun && !yes && canAsk()
  if (dryRun || asks || (all && !yes)) {
    const found = await runs.prune(crew, { ...limits, dryRun: true })
    if (dryRun || found.runs.length === 0) return reportPrune(invocation, { ...found, dryRun })
    const what = `${plural(found.runs.length, 'run')}${whose} in ${runs.store.url}`
    if (!asks)
      throw new UsageError(`${what} would be deleted for good`, {
        next: { type: 'again', to: 'confirm', words: ['--yes'] },
      })
    printRuns(terminal, found.runs)
    if (!(await confirm(`Delete ${what} for good?`, { yes, err: terminal.err }))) {
      terminal.err.line('nothing was deleted')
      return exitCodes.usage
    }
  }
  return reportPrune(invocation, await runs.prune(crew, limits), asks)
}

function reportPrune(
  { terminal, options, commands }: Invocation<PruneOptions>,
  { runs, held, dryRun }: PruneResult,
  shown = false,
): number {
  if (terminal.json) for (const run of runs) terminal.record({ ...run, deleted: !dryRun })
  else if (!shown && runs.length > 0) printRuns(terminal, runs)
  const what = plural(runs.length, 'run')
  terminal.err.line(dryRun ? `${what} would be deleted` : `deleted ${what}`)
  const [first] = held
  if (first === undefined) return exitCodes.done
  const next = commands.command({ type: 'cancel', runId: first })
  terminal.loud.line(`not deleted, since a process executes them: ${held.join(', ')}; end one with: ${next}`)
  return options.all && !dryRun ? exitCodes.held : exitCodes.done
}

function printRuns(terminal: Terminal, runs: readonly RunOutline[]): void {
  // with --json, the table is part of the question, not of the data
  const channel = terminal.json ? terminal.err : terminal.out
  printTable(
    channel,
    [
      { title: 'run', value: (run) => run.runId, shrinkTo: 12 },
      { title: 'crew', value: (run) => run.crew, shrinkTo: 8 },
      { title: 'status', value: (run) => run.status, format: (run) => statusFormat(run.status) },
      { title: 'updated', value: (run) => longTime(run.updatedAt) },
    ],
    runs,
  )
}
