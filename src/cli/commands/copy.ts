// `reprise copy`: copies all or some runs of a store into another one. A run that is being executed or cannot be copied
// is skipped and named with the reason; repeating the command copies it later.
import { runArgument, statusesOption, timeOption, wholeNumber, readMoment } from '../options.ts'
import { mapConcurrently, readConcurrency } from '../../crew/verbs/shared-options.ts'
import { defined } from '../../base/options.ts'
import { allRows } from '../../read/all-rows.ts'
import { backtestName } from '../../read/backtest-name.ts'
import { runCopier, type RunCopier } from '../../crew/open-runs.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import { storedStatuses, type RunViewStatus } from '../../runs/status.ts'
import { rowStatus } from '../../runs/summary.ts'
import { lastRun, readSummary } from '../../read/row-summary.ts'
import { redact } from '../../secrets/redact.ts'
import { missingStore, openStore } from '../../stores/open-store.ts'
import { oldestFirst } from '../../stores/rules/listing.ts'
import type { RunFilter, RunRow, Store } from '../../stores/store.ts'
import { exitCodes, UsageError, type ExitCode } from '../exit-codes.ts'
import { findRun } from '../find/find-run.ts'
import type { Command, Invocation } from '../command.ts'
import { statusFormat } from '../output/run-words.ts'
import { amount, entriesWord, plural } from '../../text/words.ts'
import { printTable } from '../output/print-table.ts'
import type { Terminal } from '../output/terminal.ts'

interface CopyOptions {
  readonly crew?: string
  readonly status?: readonly RunViewStatus[]
  readonly since?: string
  readonly until?: string
  readonly concurrency?: number
  readonly dryRun?: boolean
}

interface CopiedRun {
  readonly runId: string
  readonly crew: string
  readonly status: RunViewStatus
  readonly outcome: 'copied' | 'present' | 'held' | 'refused'
  readonly runs: number
  readonly entries: number
  readonly bytes: number
  readonly error?: RepriseError
}

interface CopiedRuns {
  readonly runs: readonly CopiedRun[]
  readonly from: string
  readonly to: string
  readonly dryRun: boolean
}

export const copyCommand: Command<CopyOptions> = {
  declare: (command) =>
    command
      .argument('<from>', 'the URL of the store that has the runs')
      .argument('<to>', 'the URL of the store to copy them to')
      .argument('[runs...]', `${runArgument} (default: all runs that match the options)`)
      .option('--crew <name>', 'only runs of this crew, and its backtests')
      .addOption(statusesOption())
      .option('--since <time>', timeOption)
      .option('--until <time>', 'created before this time')
      .option('--concurrency <number>', 'how many runs at once (default: 4)', wholeNumber)
      .option('--dry-run', 'list the runs that would be copied, and write nothing'),
  examples: ['reprise copy sqlite:.reprise/runs.db file:./state'],
  action: copy,
}

async function copy({ terminal, args, options, commands }: Invocation<CopyOptions>): Promise<ExitCode> {
  const [from = '', to = '', ...names] = args.filter((word) => word !== undefined)
  await checkStores(from, to, options.store)
  commands.setStore({ store: from })
  const choose = chooser(options, names)
  const concurrency = readConcurrency(options.concurrency)
  const { dryRun = false } = options
  await using opened = await openDisposable(from)
  const source = opened.store
  // runs are chosen before the target is opened, so that a wrong name creates no store
  const chosen = await choose(source)
  const missingTarget = dryRun ? await missingStore(to) : undefined
  await using other = await openDisposable(missingTarget === undefined ? to : 'memory:')
  const target = other.store
  if (source.url === target.url)
    throw new RepriseError('OPTION_INVALID', `both stores are ${source.url}; name another one to copy to`)
  using progress = openCopyProgress(terminal, chosen.length, dryRun)
  const copier = runCopier(source, target)
  let failure: { readonly error: unknown } | undefined
  const copied = await mapConcurrently(
    chosen,
    concurrency,
    async (row) => {
      try {
        const run = await copyChosen(source, row, copier, dryRun)
        progress.onRun(run)
        return run
      } catch (error) {
        failure ??= { error }
        return undefined
      }
    },
    () => failure !== undefined,
  )
  progress[Symbol.dispose]()
  if (failure) throw failure.error
  const runs = copied.filter((run) => run !== undefined)
  if (!terminal.json && dryRun) printCopies(terminal, runs)
  return reportCopy(terminal, { runs, from: source.url, to: missingTarget ?? target.url, dryRun })
}

/** Before a store is opened, rejects with a UsageError, or with RUN_NOT_FOUND if the first store does not exist. */
async function checkStores(from: string, to: string, store: string | undefined): Promise<void> {
  if (store !== undefined)
    throw new UsageError('copy has no --store: name the store to copy from, then the one to copy to')
  const inMemory = [from, to].find((url) => /^memory:/i.test(url))
  if (inMemory !== undefined)
    throw new UsageError(`${inMemory} ends with this process; name a persistent store, such as sqlite:path/to/runs.db`)
  const missing = await missingStore(from)
  if (missing !== undefined)
    throw new RepriseError('RUN_NOT_FOUND', `there is nothing at ${missing} to copy from; give the URL of a store`)
}

async function openDisposable(url: string): Promise<AsyncDisposable & { readonly store: Store }> {
  const store = await openStore(url)
  return { store, [Symbol.asyncDispose]: () => store.close() }
}

async function copyChosen(source: Store, chosen: RunRow, copier: RunCopier, dryRun: boolean): Promise<CopiedRun> {
  const { run: runId, crew } = chosen
  // read before the copy, which suspends the run in the first store
  const status = await rowStatus(source, chosen)
  try {
    const { row, ...copied } = await copier(runId, dryRun)
    return { runId, crew, status: endedStatus(row) ?? status, ...copied }
  } catch (error) {
    if (!RepriseError.isInstance(error) || !runErrors.has(error.code)) throw error
    return { runId, crew, status, outcome: 'refused', runs: 0, entries: 0, bytes: 0, error }
  }
}

/** The status of a run that ended after it was chosen. */
function endedStatus({ status }: RunRow): 'completed' | 'cancelled' | undefined {
  return status === 'completed' || status === 'cancelled' ? status : undefined
}

/** Errors that concern a single run. Any other error concerns a store, and stops the command. */
const runErrors: ReadonlySet<string> = new Set([
  'BLOB_MISSING',
  'JOURNAL_DAMAGED',
  'LEASE_LOST',
  'OPTION_INVALID',
  'RUN_ENDED',
  'RUN_EXISTS',
  'RUN_HELD',
  'RUN_MOVED',
  'RUN_NOT_FOUND',
  'SEQ_CONFLICT',
])

/** Chooses the runs to copy, oldest first. */
function chooser({ crew, status, since, until }: CopyOptions, names: readonly string[]) {
  const createdFrom = since === undefined ? undefined : readMoment('--since', since)
  const createdTo = until === undefined ? undefined : readMoment('--until', until)
  const filter = defined({ createdFrom, createdTo, status: status && storedStatuses(status) })
  if (names.length > 0 && (crew !== undefined || Object.keys(filter).length > 0))
    throw new UsageError('name the runs to copy, or select them with options, not both')
  return async (store: Store): Promise<RunRow[]> => {
    const chosen = new Map<string, RunRow>()
    for (const name of names) {
      const newest = await findRun(store, await lastRun(store, rootRunId((await findRun(store, name)).run)))
      chosen.set(newest.run, newest)
    }
    const crews = crew === undefined ? [undefined] : [crew, backtestName(crew)]
    for (const one of names.length > 0 ? [] : crews) {
      const fits: RunFilter = { roots: true, ...filter, ...defined({ crew: one }) }
      for await (const row of allRows(store, fits))
        // runs that continue one another are copied together, with the newest
        if (readSummary(row).next === undefined && (!status || status.includes(await rowStatus(store, row))))
          chosen.set(row.run, row)
    }
    return [...chosen.values()].toSorted(oldestFirst)
  }
}

/** Prints a line per copied run; on a terminal, one line that counts them; with --json, a record per run. */
function openCopyProgress(
  terminal: Terminal,
  total: number,
  dryRun: boolean,
): Disposable & { onRun(run: CopiedRun): void } {
  const block = terminal.openBlock()
  let isOpen = true
  let finished = 0
  let bytes = 0
  return {
    onRun(run) {
      finished += 1
      bytes += run.bytes
      if (terminal.json) terminal.record(copyRecord(run))
      if (block) block.draw([[`  ${finished} of ${plural(total, 'run')} · ${amount(bytes)} bytes · ${run.runId}`]])
      else if (run.outcome === 'copied' && !dryRun)
        terminal.err.line(`copied run ${run.runId}: ${run.status}, ${entriesWord(run.entries)}`)
    },
    [Symbol.dispose]() {
      if (!isOpen) return
      isOpen = false
      block?.clear()
      block?.[Symbol.dispose]()
    },
  }
}

function copyRecord({ error, ...run }: CopiedRun): object {
  return error === undefined ? run : { ...run, error: { code: error.code, message: redact(error.facts) } }
}

function printCopies(terminal: Terminal, runs: readonly CopiedRun[]): void {
  const copied = runs.filter(({ outcome }) => outcome === 'copied')
  if (copied.length === 0) return
  printTable(
    terminal.out,
    [
      { title: 'run', value: (run) => run.runId, shrinkTo: 12 },
      { title: 'crew', value: (run) => run.crew, shrinkTo: 8 },
      { title: 'status', value: (run) => run.status, format: (run) => statusFormat(run.status) },
      { title: 'entries', value: (run) => String(run.entries), align: 'right' },
      { title: 'bytes', value: (run) => amount(run.bytes), align: 'right' },
    ],
    copied,
  )
}

function reportCopy(terminal: Terminal, { runs, from, to, dryRun }: CopiedRuns): ExitCode {
  const of = (outcome: CopiedRun['outcome']): CopiedRun[] => runs.filter((run) => run.outcome === outcome)
  const [copied, present, held, refused] = [of('copied'), of('present'), of('held'), of('refused')]
  const sum = (field: 'runs' | 'entries' | 'bytes'): number => copied.reduce((total, run) => total + run[field], 0)
  const counts = { copied: copied.length, present: present.length, held: held.length, refused: refused.length }
  if (terminal.json) terminal.record({ from, to, dryRun, ...counts, entries: sum('entries'), bytes: sum('bytes') })
  const within = sum('runs') - copied.length
  const what = `${plural(copied.length, 'run')}${within > 0 ? ` (with ${within} of ${copied.length === 1 ? 'its' : 'their'} child or earlier runs)` : ''}`
  const size = `${entriesWord(sum('entries'))}, ${amount(sum('bytes'))} bytes`
  const there = present.length > 0 ? `; already there: ${present.length}` : ''
  terminal.err.line(`${dryRun ? 'would copy' : 'copied'} ${what} to ${to}: ${size}${there}`)
  const open = copied.filter(({ status }) => !['completed', 'cancelled'].includes(status)).length
  if (open > 0 && !dryRun)
    terminal.err.line(`${plural(open, 'unfinished run')} now ${open === 1 ? 'continues' : 'continue'} only in ${to}`)
  if (held.length > 0) {
    const names = held.map(({ runId }) => runId).join(', ')
    terminal.loud.line(`not copied, since a process executes them in ${from}: ${names}; stop it, and copy again`)
  }
  for (const { error } of refused) terminal.loud.line(`not copied: ${redact(messageOf(error))}`)
  if (refused.length > 0) return exitCodes.failed
  return held.length > 0 ? exitCodes.held : exitCodes.done
}
