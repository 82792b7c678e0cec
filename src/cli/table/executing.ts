// Commands that execute tasks, or say what would be executed.
import { InvalidArgumentError, Option, type Command as Program } from 'commander'
import {
  changedOption,
  collect,
  effectsOption,
  example,
  fileArgument,
  onlyOption,
  retryOption,
  runArgument,
  staleOption,
  taskArgument,
  wholeNumber,
  withCrew,
  withDecisions,
  withInputs,
  withMaking,
  type Lazily,
} from './shared-options.ts'

export function addExecuting(program: Program, lazily: Lazily): void {
  const run = program
    .command('run')
    .description('start a run of a crew here, and print its result (enqueue leaves it to a worker)')
  run.argument('[file]', fileArgument)
  run.option('--crew <crew>', 'which of several crews in the file, by its export or its name')
  withInputs(run)
    .option('--id <id>', 'your own run id: unfinished, the run continues; completed, its result is printed')
    .option('--through <task>', 'stop after this task')
    .option(
      '--each <file>',
      'a run for each line of a file (or -) of JSON objects of inputs; again, it does what is left',
    )
    .option('--concurrency <number>', 'how many runs at once, with --each (default: 4)', wholeNumber)
    .action(lazily(async () => (await import('../commands/executing/run.ts')).run))
  example(run, 'reprise run claims.ts --input notes=@notes.txt --input limit:=500')

  const resume = program.command('resume').description('continue a run after its last recorded step')
  resume.argument(
    '[run]',
    `${runArgument} (else the latest unfinished run of the crew, or picked from several on a terminal)`,
  )
  withDecisions(withCrew(resume))
    .option('--through <task>', 'stop after this task')
    .addOption(changedOption())
    .option('--budget <limits>', 'in place of one that is used up: tokens=50000,cost=2.5,seconds=600')
    .action(lazily(async () => (await import('../commands/executing/resume.ts')).resume))
  example(resume, 'reprise resume latest --file claims.ts')

  const plan = program.command('plan').description('say what would be executed, and why; nothing is written')
  const kinds = ['fork', 'resume', 'kickoff']
  plan.addOption(
    new Option('--of <kind>', 'of what (default: fork, or kickoff where the crew has no run)')
      .choices(kinds)
      .argParser((kind) => {
        if (kinds.includes(kind)) return kind
        const presets = kind === 'replay' || kind === 'refresh' ? ` For a ${kind}: reprise ${kind} --dry-run.` : ''
        throw new InvalidArgumentError(`Allowed choices are ${kinds.join(', ')}.${presets}`)
      }),
  )
  plan.option('--run <run>', `${runArgument} (else the latest run of the crew)`)
  withDecisions(withInputs(withCrew(plan)))
    .option('-t, --from <task>', 'name or id of the task to start from')
    .addOption(retryOption())
    .addOption(onlyOption())
    .addOption(staleOption('keep with --from or --retry, else rerun'))
    .option('--output <pair>', "your value in place of a task's output, as fork takes it", collect)
    .option('--through <task>', 'stop after this task')
    .addOption(effectsOption())
    .addOption(changedOption())
    .action(lazily(async () => (await import('../commands/executing/plan.ts')).plan))
  example(plan, 'reprise plan --from note --input tone=kind')

  const replay = program
    .command('replay')
    .description('make a new run from an old one: execute a task and all after it')
  replay
    .argument('[task]', `${taskArgument} to start from`)
    .option('-t, --task <task>', 'the same')
    .addOption(new Option('--task-id <task>', 'the same, as CrewAI calls it').conflicts('task'))
  withMaking(replay)
    .addOption(onlyOption())
    .addOption(staleOption('keep'))
    .action(lazily(async () => (await import('../commands/executing/replay.ts')).replay))
  example(replay, 'reprise replay note --input tone=kind')

  const fork = program
    .command('fork')
    .description('make a new run from an old one: execute what your inputs and outputs change')
  withMaking(fork)
    .option('-t, --from <task>', 'execute this task and all after it as well')
    .addOption(retryOption())
    .option('--output <pair>', "your value in place of a task's output: task=text, task=@file or task:=json", collect)
    .option('--edit <task>', "edit the task's output in $EDITOR; once for each task", collect)
    .option('--by <name>', 'who gives these outputs (default: your login name)')
    .addOption(onlyOption())
    .addOption(staleOption('keep with --from or --retry, else rerun'))
    .action(lazily(async () => (await import('../commands/executing/fork.ts')).fork))
  example(fork, `reprise fork --output facts='{"policy":"P-77","issue":"fire"}'`)

  const refresh = program.command('refresh').description('make a new run from an old one: execute only what is stale')
  withMaking(refresh).action(lazily(async () => (await import('../commands/executing/refresh.ts')).refresh))
  example(refresh, 'reprise refresh --dry-run')

  const backtest = program
    .command('backtest')
    .description("try a task, with the code as it is now, on earlier runs' inputs")
  backtest.argument('[task]', taskArgument).option('-t, --task <task>', 'the same')
  withCrew(backtest)
    .option('--runs <number>', 'how many of the latest runs (default: 20)', wholeNumber)
    .option('--run <run>', `this run, ${runArgument}; once for each, instead of the latest ones`, collect)
    .option('--id <id>', 'of the backtest: give it again to continue one that was cut off')
    .option('--yes', 'do not ask before anything is spent')
    .action(lazily(async () => (await import('../commands/executing/backtest.ts')).backtest))
  example(backtest, 'reprise backtest note --runs 10')
}
