// `reprise export`: writes one run as text into a file or a pipe.
import { runArgument, withStore } from '../options.ts'
import { existsSync } from 'node:fs'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { findRun } from '../find/find-run.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'
import { continuedWords } from '../output/run-words.ts'
import { readRunChain } from '../../read/chain.ts'

export const exportCommand: Command<{ readonly force?: boolean }> = {
  declare: (command) =>
    withStore(command)
      .argument('<run>', runArgument)
      .argument('<file>', 'the file, or - for the standard output')
      .option('--force', 'overwrite an existing file'),
  examples: ['reprise export latest claim-1.jsonl'],
  action: exportRun,
}

async function exportRun(invocation: Invocation<{ readonly force?: boolean }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using runs = await openRuns(invocation)
  const { run } = await findRun(runs.store, args[0] ?? '')
  const file = args[1] ?? '-'
  if (file === '-') {
    for await (const line of runs.run(run).exported()) terminal.out.raw(line)
    return exitCodes.done
  }
  if (!options.force && existsSync(file))
    throw new UsageError(`${file} exists; name another file, or give --force to overwrite it`)
  await runs.run(run).export(file)
  const [runId, ...continued] = await readRunChain(runs.store, run)
  if (terminal.json) terminal.record({ runId, next: continued, file })
  const next = { type: 'command', to: 'import it', words: ['import', file], takes: 'nothing' } as const
  terminal.err.line(`exported run ${runId}${continuedWords(continued).replace(/,$/, '')}; ${commands.advice(next)}`)
  return exitCodes.done
}
