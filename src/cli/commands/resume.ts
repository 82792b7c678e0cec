// `reprise resume`: continues a run in this process.
import { changedOption, collect, runArgument, withCrew, withDecisions, readTaskDecisions } from '../options.ts'
import { defined } from '../../base/options.ts'
import type { ResumeOptions } from '../../crew/verbs/resume.ts'
import { isUnfinished } from '../../runs/find.ts'
import { execute } from '../execute.ts'
import { findRun, pickUnfinished, loadCrewOfRun } from '../find/find-run.ts'
import { findOptionalTask } from '../find/find-task.ts'
import type { Command, CrewOptions, Invocation } from '../command.ts'
import { readLimit } from '../input/inputs.ts'
import { checkRuns } from '../find/open-runs.ts'

interface ResumeCommandOptions extends CrewOptions {
  readonly through?: string
  readonly changed?: ResumeOptions['changed']
  readonly renamed?: readonly string[]
  readonly removed?: readonly string[]
  readonly budget?: string
  readonly retry?: readonly string[]
}

export const resumeCommand: Command<ResumeCommandOptions> = {
  declare: (command) =>
    withDecisions(withCrew(command))
      .argument('[run]', `${runArgument} (default: the latest unfinished run of the crew; at a terminal, you pick one)`)
      .option('--through <task>', 'stop after this task')
      .addOption(changedOption())
      .option(
        '--retry <step>',
        'execute a failed step of a flow again, or failed for all of them (repeatable)',
        collect,
      )
      .option('--budget <limits>', 'replaces a budget that is used up: tokens=50000,cost=2.5,seconds=600,steps=20000'),
  examples: ['reprise resume latest --file claims.ts'],
  action: resume,
}

async function resume(invocation: Invocation<ResumeCommandOptions>): Promise<number> {
  const { args, options } = invocation
  const budget = options.budget === undefined ? undefined : readLimit('--budget', options.budget)
  const { crew: found, name } = await loadCrewOfRun(options, args[0], isUnfinished)
  await checkRuns(options.store ?? found.store)
  return execute(invocation, found, async ({ crew, store, signal, asking }) => {
    const { changed } = options
    const through = await findOptionalTask(crew, options.through)
    const run =
      name === undefined ? await pickUnfinished(store, crew.name) : (await findRun(store, name, crew.name)).run
    const retry = options.retry?.includes('failed') ? 'failed' : options.retry
    const given = { ...defined({ through, changed, budget, retry }), ...readTaskDecisions(options) }
    return crew.resume(run, { ...given, ...asking, signal }).started
  })
}
