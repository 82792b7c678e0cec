// `reprise reset`: a store without runs, or without those of a crew. Nothing is deleted that nobody said yes to.
import { runViewStatuses, type RunViewStatus } from '../../../runs/status.ts'
import { exitCodes, UsageError } from '../../exit-codes.ts'
import type { Invocation } from '../../invocation.ts'
import { pruneCrew } from './prune-crew.ts'
import { openExistingRuns } from '../../find/open-runs.ts'
import { canAsk } from '../../terminal/ask-line.ts'
import { confirm } from '../../terminal/confirm.ts'
import { plural } from '../../terminal/entries-word.ts'

export interface ResetOptions {
  readonly crew?: string
  readonly yes?: boolean
}

export async function reset(invocation: Invocation<ResetOptions>): Promise<number> {
  const { terminal, options, commands } = invocation
  const { crew, yes = false } = options
  await using engine = await openExistingRuns(invocation)
  const whose = crew === undefined ? '' : ` of crew ${crew}`
  const all = { status: Object.keys(runViewStatuses) as RunViewStatus[] }
  const found = engine && (await pruneCrew(engine, crew, { ...all, dryRun: true }))
  if (!engine || !found || found.runs.length + found.held.length === 0) {
    if (terminal.json) terminal.record({ deleted: 0, held: [] })
    terminal.err.line(`there are no runs${whose} to delete`)
    return exitCodes.done
  }
  const what = `${plural(found.runs.length, 'run')}${whose} in ${engine.store.url}`
  if (found.runs.length > 0 && !yes && !canAsk())
    throw new UsageError(`${what} would be deleted for good`, {
      next: { act: 'again', to: 'say so', words: ['--yes'] },
    })
  if (found.runs.length > 0 && !(await confirm(`Delete ${what} for good?`, { yes, err: terminal.err }))) {
    terminal.err.line('nothing was deleted')
    return exitCodes.usage
  }
  const { runs, held } = await pruneCrew(engine, crew, all)
  if (terminal.json) terminal.record({ deleted: runs.length, held })
  terminal.err.line(`deleted ${plural(runs.length, 'run')}${whose}`)
  if (held.length === 0) return exitCodes.done
  const next = commands.command({ act: 'cancel', runId: held[0] ?? '' })
  terminal.loud.line(`left alone, since somebody executes them: ${held.join(', ')}; end one with: ${next}`)
  return exitCodes.held
}
