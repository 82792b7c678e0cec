// `reprise plan`: what a fork, a resume or a kickoff would execute, and why. Nothing is written and no model is called.
import { InvalidArgumentError, Option } from 'commander'
import {
  changedOption,
  collect,
  effectsOption,
  onlyOption,
  retryOption,
  runArgument,
  staleOption,
  withCrew,
  withDecisions,
  withInputs,
  readTaskDecisions,
} from '../options.ts'
import type { PlanOptions } from '../../crew/verbs/plan.ts'
import type { ForkOptions } from '../../crew/verbs/fork.ts'
import type { ResumeOptions } from '../../crew/verbs/resume.ts'
import { withCrewStore } from '../execute.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { findRun, loadCrewOfRun } from '../find/find-run.ts'
import { defined } from '../../base/options.ts'
import { findOptionalTask, findOutputTarget } from '../find/find-task.ts'
import { readInputs, readOutputs } from '../input/inputs.ts'
import type { Command, Invocation } from '../command.ts'
import { loadCrew } from '../find/load-crew.ts'
import { type NewRunOptions, printPlan } from './fork.ts'

interface PlanCommandOptions extends Omit<NewRunOptions, 'id' | 'dryRun' | 'yes'> {
  readonly of?: 'fork' | 'resume' | 'kickoff' | 'replay' | 'refresh'
  readonly from?: string
  readonly retry?: ForkOptions['retry']
  readonly output?: readonly string[]
  readonly changed?: ResumeOptions['changed']
}

export const planCommand: Command<PlanCommandOptions> = {
  declare: (command) =>
    withDecisions(withInputs(withCrew(command)))
      .addOption(ofOption())
      .option('--run <run>', `${runArgument} (default: the latest run of the crew)`)
      .option('-t, --from <task>', 'name or id of the task to start from')
      .addOption(retryOption())
      .addOption(onlyOption())
      .addOption(staleOption('keep with --from or --retry, else rerun'))
      .option('--output <pair>', "your value in place of a task's output, written as for fork", collect)
      .option('--through <task>', 'stop after this task')
      .addOption(effectsOption())
      .addOption(changedOption()),
  examples: ['reprise plan --from note --input tone=kind'],
  action: plan,
}

/** `replay` and `refresh` are refused later, with the command that plans them. */
function ofOption(): Option {
  const kinds = ['fork', 'resume', 'kickoff']
  const option = new Option('--of <kind>', 'what to plan (default: fork, or kickoff if the crew has no run)')
  return option.choices(kinds).argParser((kind) => {
    if ([...kinds, 'replay', 'refresh'].includes(kind)) return kind
    throw new InvalidArgumentError(`Allowed choices are ${kinds.join(', ')}.`)
  })
}

function refusePreset(of: 'replay' | 'refresh', { run, from }: PlanCommandOptions): never {
  const named = run === undefined ? [] : ['--run', run]
  const task = of === 'refresh' || from === undefined ? [] : ['-t', from]
  throw new UsageError(`--of is ${of}, which is a fork`, {
    next: { type: 'command', to: 'plan it', words: [of, '--dry-run', ...named, ...task], takes: 'crew' },
  })
}

async function plan(invocation: Invocation<PlanCommandOptions>): Promise<number> {
  const { options, terminal, commands } = invocation
  const { of } = options
  if (of === 'replay' || of === 'refresh') return refusePreset(of, options)
  const inputs = readInputs(options) as PlanOptions['inputs']
  const { crew: found, name } =
    of === 'kickoff'
      ? { crew: await loadCrew(options.file, options.crew), name: options.run }
      : await loadCrewOfRun(options, options.run)
  return withCrewStore(invocation, found, async ({ crew, store }) => {
    const { only, retry, stale, effects, changed } = options
    const from = await findOptionalTask(crew, options.from)
    const through = await findOptionalTask(crew, options.through)
    const runId = name === undefined ? undefined : (await findRun(store, name, crew.name)).run
    const sourceRun = async () => runId ?? (await findRun(store, 'latest', crew.name)).run
    const find = (reference: string) => findOutputTarget(crew, store, sourceRun, reference)
    const outputs = options.output && Object.fromEntries(await readOutputs(find, options.output))
    const given = { of, runId, inputs, from, retry, only, stale, through, effects, changed, outputs }
    const planned = await crew.plan({ ...defined(given), ...readTaskDecisions(options) })
    if (terminal.json) terminal.record(planned)
    else printPlan(terminal.out, planned, commands)
    return exitCodes.done
  })
}
