// `reprise import`: puts an exported run into this store, where it can be shown, resumed and replayed like any other.
import { withStore } from '../options.ts'
import { existsSync } from 'node:fs'
import { exitCodes, UsageError } from '../exit-codes.ts'
import type { Command, Invocation } from '../command.ts'
import { openOrCreateStore } from '../find/open-runs.ts'
import { continuedWords } from '../output/run-words.ts'
import { entriesWord } from '../../text/words.ts'

export const importCommand: Command<{ readonly as?: string }> = {
  declare: (command) =>
    withStore(command)
      .argument('<file>', 'the file, or - for the standard input')
      .option('--as <id>', 'import the run under another id'),
  examples: ['reprise import claim-1.jsonl --as claim-1-copy'],
  action: importRun,
}

async function importRun(invocation: Invocation<{ readonly as?: string }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  const file = args[0] ?? '-'
  if (file !== '-' && !existsSync(file))
    throw new UsageError(`there is no file ${file}`, {
      next: { type: 'command', to: 'write one', words: ['export', 'latest', file], takes: 'nothing' },
    })
  await using runs = await openOrCreateStore(invocation)
  const renamed = options.as === undefined ? {} : { as: options.as }
  const imported =
    file === '-'
      ? await runs.import(process.stdin.setEncoding('utf8') as AsyncIterable<string>, renamed)
      : await runs.import(file, renamed)
  const { runId, crew, status, next, entries, existed } = imported
  if (terminal.json) terminal.record(imported)
  else terminal.out.line(runId)
  const words = existed ? 'was already there, unchanged' : `imported: ${status}, ${entriesWord(entries)}`
  terminal.err.line(
    `run ${runId} of crew ${crew}${continuedWords(next)} ${words}; ${commands.advice({ type: 'show', runId })}`,
  )
  return exitCodes.done
}
