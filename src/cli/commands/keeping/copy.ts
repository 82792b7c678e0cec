// `reprise copy`: the runs of a store, or some, into another one, so that a team moves with one command. What could not
// be copied is named, with the reason: the same command copies it when that is gone.
import { checkThere, copyRuns, type CopiedRun, type CopiedRuns } from '../../../crew/verbs/copy-runs.ts'
import { defined } from '../../../base/defined.ts'
import { messageOf } from '../../../base/errors.ts'
import { isEnded } from '../../../journal/state/state.ts'
import type { RunViewStatus } from '../../../runs/status.ts'
import { redact } from '../../../secrets/redact.ts'
import { openStore } from '../../../stores/open-store.ts'
import { exitCodes, UsageError, type ExitCode } from '../../exit-codes.ts'
import { findRun } from '../../find/find-run.ts'
import { readMoment } from '../../input/read-moment.ts'
import type { Invocation } from '../../invocation.ts'
import { formatOf } from '../../show/run-words.ts'
import { amount, entriesWord, plural } from '../../terminal/entries-word.ts'
import { printTable } from '../../terminal/print-table.ts'
import type { Terminal } from '../../terminal/terminal.ts'

export interface CopyOptions {
  readonly crew?: string
  readonly status?: readonly RunViewStatus[]
  readonly since?: string
  readonly until?: string
  readonly concurrency?: number
  readonly dryRun?: boolean
}

export async function copy({ terminal, args, options, commands }: Invocation<CopyOptions>): Promise<ExitCode> {
  const [from = '', to = '', ...names] = args.filter((word) => word !== undefined)
  await checkPlaces(from, to, options.store)
  commands.keptIn({ store: from })
  const filter = filterOf(options, names)
  const runs = names.length === 0 ? undefined : await idsOf(from, names)
  const { concurrency, dryRun } = options
  using progress = openProgress(terminal, dryRun)
  const { onRun } = progress
  const copied = await copyRuns(from, to, { ...filter, ...defined({ runs, concurrency, dryRun, onRun }) })
  progress[Symbol.dispose]()
  if (!terminal.json && copied.dryRun) printRuns(terminal, copied.runs)
  return report(terminal, copied)
}

/** Before anything is opened. A usage error; RUN_NOT_FOUND when there is nothing to copy from. */
async function checkPlaces(from: string, to: string, store: string | undefined): Promise<void> {
  if (store !== undefined)
    throw new UsageError('copy has no --store: name the store to copy from, then the one to copy to')
  const passing = [from, to].find((url) => /^memory:/i.test(url))
  if (passing !== undefined)
    throw new UsageError(
      `${passing} is gone with this process; name a store that stays, such as sqlite:path/to/runs.db`,
    )
  await checkThere(from)
}

function filterOf({ crew, status, since, until }: CopyOptions, names: readonly string[]) {
  const created = {
    since: since === undefined ? undefined : readMoment('--since', since),
    until: until === undefined ? undefined : readMoment('--until', until),
  }
  const filter = defined({ crew, status, ...created })
  if (names.length > 0 && Object.keys(filter).length > 0)
    throw new UsageError('name the runs to copy, or say with options which ones fit, not both')
  return filter
}

async function idsOf(url: string, names: readonly string[]): Promise<string[]> {
  const store = await openStore(url)
  try {
    const ids: string[] = []
    for (const name of names) ids.push((await findRun(store, name)).run)
    return ids
  } finally {
    await store.close()
  }
}

/** A line for each run that is copied; on a terminal, one that counts them. Records, for programs. */
function openProgress(terminal: Terminal, dryRun = false): Disposable & { onRun(run: CopiedRun, total: number): void } {
  const block = terminal.openBlock()
  let isOpen = true
  let looked = 0
  let bytes = 0
  return {
    onRun(run, total) {
      looked += 1
      bytes += run.bytes
      if (terminal.json) terminal.record(recordOf(run))
      if (block) block.draw([[`  ${looked} of ${plural(total, 'run')} · ${amount(bytes)} bytes · ${run.runId}`]])
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

function recordOf({ error, ...run }: CopiedRun): object {
  return error === undefined ? run : { ...run, error: { code: error.code, message: redact(error.facts) } }
}

function printRuns(terminal: Terminal, runs: readonly CopiedRun[]): void {
  const copied = runs.filter(({ outcome }) => outcome === 'copied')
  if (copied.length === 0) return
  printTable(
    terminal.out,
    [
      { title: 'run', value: (run) => run.runId, shrinkTo: 12 },
      { title: 'crew', value: (run) => run.crew, shrinkTo: 8 },
      { title: 'status', value: (run) => run.status, format: (run) => formatOf(run.status) },
      { title: 'entries', value: (run) => String(run.entries), align: 'right' },
      { title: 'bytes', value: (run) => amount(run.bytes), align: 'right' },
    ],
    copied,
  )
}

function report(terminal: Terminal, { runs, from, to, dryRun }: CopiedRuns): ExitCode {
  const of = (outcome: CopiedRun['outcome']): CopiedRun[] => runs.filter((run) => run.outcome === outcome)
  const [copied, present, held, refused] = [of('copied'), of('present'), of('held'), of('refused')]
  const sum = (field: 'runs' | 'entries' | 'bytes'): number => copied.reduce((total, run) => total + run[field], 0)
  const counts = { copied: copied.length, present: present.length, held: held.length, refused: refused.length }
  if (terminal.json) terminal.record({ from, to, dryRun, ...counts, entries: sum('entries'), bytes: sum('bytes') })
  const within = sum('runs') - copied.length
  const what = `${plural(copied.length, 'run')}${within > 0 ? ` (with ${within} of tasks that are crews)` : ''}`
  const size = `${entriesWord(sum('entries'))}, ${amount(sum('bytes'))} bytes`
  const there = present.length > 0 ? `; already there: ${present.length}` : ''
  terminal.err.line(`${dryRun ? 'would copy' : 'copied'} ${what} to ${to}: ${size}${there}`)
  const open = copied.filter(({ status }) => !isEnded(status)).length
  if (open > 0 && !dryRun) {
    const words = 'continue them only there from now on, or their work is done twice'
    terminal.err.line(`not ended: ${open} of them; ${words}`)
  }
  if (held.length > 0) {
    const names = held.map(({ runId }) => runId).join(', ')
    terminal.loud.line(`not copied, since a process executes them in ${from}: ${names}; stop it, and copy again`)
  }
  for (const { error } of refused) terminal.loud.line(`not copied: ${redact(messageOf(error))}`)
  if (refused.length > 0) return exitCodes.failed
  return held.length > 0 ? exitCodes.held : exitCodes.done
}
