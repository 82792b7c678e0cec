// `reprise run`: kicks off a crew. At a terminal, the person is asked for missing inputs.
import { fileArgument, fileGiven, wholeNumber, withCrew, withInputs } from '../options.ts'
import { defined } from '../../base/options.ts'
import type { KickoffOptions } from '../../crew/verbs/kickoff.ts'
import type { Run } from '../../crew/run.ts'
import { UsageError } from '../exit-codes.ts'
import { withMissingInputs } from '../input/ask-inputs.ts'
import { execute } from '../execute.ts'
import { findOptionalTask } from '../find/find-task.ts'
import { readInputs, type InputOptions } from '../input/inputs.ts'
import type { Command, Invocation } from '../command.ts'
import { loadCrewForId } from '../find/find-run.ts'

export interface RunOptions extends InputOptions {
  readonly crew?: string
  readonly file?: string
  readonly id?: string
  readonly through?: string
  readonly each?: string
  readonly concurrency?: number
}

export const runCommand: Command<RunOptions> = {
  declare: (command) =>
    withInputs(withCrew(command.argument('[file]', fileArgument)))
      .option('--id <id>', 'your own run id: an unfinished run continues, a completed one prints its result')
      .option('--through <task>', 'stop after this task')
      .option(
        '--each <file>',
        'start a run for each line of a JSON Lines file of inputs (- for stdin); repeat the command to do what is left',
      )
      .option('--concurrency <number>', 'how many runs at once, with --each (default: 4)', wholeNumber),
  examples: ['reprise run claims.ts --input notes=@notes.txt --input limit:=500'],
  action: run,
}

async function run(invocation: Invocation<RunOptions>): Promise<number> {
  const { args, options, terminal } = invocation
  if (options.each !== undefined) {
    const { runEach } = await import('../each/run-each.ts')
    return runEach(invocation, options.each)
  }
  if (options.concurrency !== undefined)
    throw new UsageError('--concurrency is for many runs; give their inputs with --each')
  const inputs = readInputs(options)
  const found = await loadCrewForId(fileGiven(args[0], options), options, options.id)
  return execute(invocation, found, async ({ crew, signal, asking }) => {
    const { id } = options
    const through = await findOptionalTask(crew, options.through)
    const given = { ...defined({ id, through }), ...asking, signal }
    return withMissingInputs(
      terminal,
      inputs,
      (all): Promise<Run> =>
        // only the crew's file knows the type of its inputs; the library checks them
        crew.kickoff({ ...given, ...defined({ inputs: all }) } as KickoffOptions).started,
    )
  })
}
