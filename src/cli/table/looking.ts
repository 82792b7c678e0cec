// Commands that look at runs. They need a store and no code.
import { Option, type Command as Program } from 'commander'
import { runViewStatuses } from '../../runs/status.ts'
import {
  collect,
  example,
  fileArgument,
  runArgument,
  wholeNumber,
  wholeNumberOrZero,
  withCrew,
  withStoreOf,
  type Lazily,
} from './shared-options.ts'

export function addLooking(program: Program, lazily: Lazily): void {
  const studio = program
    .command('studio')
    .description('show all runs on a page in the browser, and act on them there, until it is stopped')
  studio
    .argument(
      '[file...]',
      'the modules that export the crews, to start, replay and fork runs (else as for run, if there)',
    )
    .option('--no-crews', 'use no code: look, answer, cancel, and leave the rest to workers')
    .option('--port <number>', 'where to serve it; 0 takes a free port (default: 4400)', wholeNumberOrZero)
    .option('--host <address>', 'where to serve it (default: 127.0.0.1, which is only this machine)')
    .option(
      '--token <[role=]token>',
      'whoever has it may look, answer or act (the default); once for each (else REPRISE_STUDIO_TOKEN)',
      collect,
    )
    .option(
      '--allow-host <name>',
      'a name that it is reached by, beside localhost and addresses; once for each',
      collect,
    )
    .option('--base <path>', 'the path that it is reached under: /studio')
    .option('--by <name>', 'who acts where the page says nothing (default: your login name)')
    .option('--open', 'open it in the browser')
    .action(lazily(async () => (await import('../commands/looking/studio.ts')).studio))
  example(studio, 'reprise studio claims.ts --open')
  example(studio, 'reprise studio --store postgres://me@db/claims --host 0.0.0.0 --token "answer=$TOKEN"')

  const runs = program.command('runs').description('list runs, newest first')
  withStoreOf(runs)
    .addOption(new Option('--status <status>', 'only runs of this status').choices(Object.keys(runViewStatuses)))
    .option('--crew <name>', 'only runs of this crew')
    .option('--parent <run>', `only runs that were made from this one: ${runArgument}`)
    .option('--since <time>', 'created then or later: 2026-01-31, 2026-01-31T12:00, or an age such as 12h or 30d')
    .option('--until <time>', 'created before then')
    .option('--backtests', 'the runs of backtests instead of the others')
    .option('--within', 'also the runs of tasks that are crews')
    .addOption(
      new Option('--waiting', 'list the open questions instead, the one that has waited longest first').conflicts([
        'status',
        'parent',
        'since',
        'until',
        'backtests',
        'within',
        'cost',
        'limit',
      ]),
    )
    .option('--cost', 'also what each has cost, in dollars')
    .option('--limit <number>', 'how many', wholeNumber, 20)
    .action(lazily(async () => (await import('../commands/looking/runs.ts')).runs))
  example(runs, 'reprise runs --status failed')
  example(runs, 'reprise runs --waiting')

  const whole = ['task', 'steps', 'prompts']
  const show = program.command('show').description('show one run: its tasks, outputs and open questions')
  withStoreOf(show)
    .argument('[run]', runArgument)
    .option('--task <task>', 'one task as a whole: name or id')
    .option('--steps', 'list the entries of its journal')
    .option('--prompts', 'what was sent to the model, step by step')
    .addOption(
      new Option('--tasks', 'instead, list its tasks with their ids').conflicts([...whole, 'lineage', 'verify']),
    )
    .addOption(
      new Option('--lineage', 'instead, show the runs that it was forked from, and those forked from it').conflicts([
        ...whole,
        'verify',
      ]),
    )
    .addOption(new Option('--verify', 'instead, check its journal against its hashes').conflicts(whole))
    .action(lazily(async () => (await import('../commands/looking/show.ts')).show))
  example(show, 'reprise show latest --task note --prompts')

  const log = program.command('log-tasks-outputs').description('the same as show --tasks, under its name in CrewAI')
  withStoreOf(log)
    .argument('[run]', runArgument, 'latest')
    .action(lazily(async () => (await import('../commands/looking/show.ts')).logTasksOutputs))
  example(log, 'reprise log-tasks-outputs')

  const diff = program.command('diff').description('show what differs between two runs')
  withStoreOf(diff)
    .argument('[a]', runArgument)
    .argument('[b]', runArgument)
    .action(lazily(async () => (await import('../commands/looking/diff.ts')).diff))
  example(diff, 'reprise diff claim-1 latest')

  const tail = program.command('tail').description("print a run's entries as they come, until it ends or suspends")
  withStoreOf(tail)
    .argument('[run]', runArgument)
    .option('--after <entry>', 'only entries after this one', wholeNumberOrZero, 0)
    .action(lazily(async () => (await import('../commands/looking/tail.ts')).tail))
  example(tail, 'reprise tail latest')

  const check = program
    .command('check')
    .description('say what the code at hand would do with every unfinished run; exit code 1 if it would strand one')
  check
    .argument('[file...]', 'the modules that export the crews (else as for run)')
    .action(lazily(async () => (await import('../commands/looking/check.ts')).check))
  example(check, 'reprise check claims.ts letters.ts')

  const doctor = program.command('doctor').description('check what a crew needs to run here; nothing is written')
  doctor.argument('[file]', fileArgument)
  withCrew(doctor).action(lazily(async () => (await import('../doctor/doctor.ts')).doctor))
  example(doctor, 'reprise doctor')
}
