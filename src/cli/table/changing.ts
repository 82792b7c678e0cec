// Commands with which people change a run from outside, and those that keep or remove whole runs.
import { InvalidArgumentError, Option, type Command as Program } from 'commander'
import { runViewStatuses } from '../../runs/status.ts'
import {
  collect,
  example,
  runArgument,
  wholeNumber,
  wholeNumberOrZero,
  withCrew,
  withStoreOf,
  type Lazily,
} from './shared-options.ts'

const statuses = Object.keys(runViewStatuses)
const taskArgument = 'name or id of the task'
const signed = 'who does it (default: your login name)'

export function addChanging(program: Program, lazily: Lazily): void {
  const answer = program.command('answer').description('answer an open question of a run')
  withStoreOf(answer)
    .argument('[run]', runArgument)
    .argument('[question]', 'id of the question, such as q1')
    .option('--decision <decision>', 'one of those that the question takes (else asked for, on a terminal)')
    .option('--reason <text>', 'why, for deny and fail')
    .option('--result <json>', 'what the tool gave, for happened and use')
    .option('--input <json>', 'what to call the tool with instead, for approve')
    .option('--feedback <text>', 'what to do better, for revise')
    .option('--output <json>', 'what to use instead, for replace')
    .option('--to <limits>', 'the new limit, for raise: tokens=50000,cost=2.5,seconds=600')
    .option('--by <name>', 'who answers (default: your login name)')
    .option('--note <text>', 'kept with the answer')
    .action(lazily(async () => (await import('../commands/changing/answer.ts')).answer))
  example(answer, `reprise answer latest q1 --decision happened --result '{"claim":"C-1"}'`)

  const edit = program.command('edit').description("put your value in place of a task's output in an unfinished run")
  edit.argument('[run]', runArgument).argument('[task]', taskArgument)
  withCrew(edit)
    .option('--output <value>', 'the value: text (JSON for a task with a schema), or @file (else $EDITOR is opened)')
    .option('--by <name>', signed)
    .action(lazily(async () => (await import('../commands/changing/edit.ts')).edit))
  example(edit, `reprise edit latest facts --output '{"policy":"P-77","issue":"fire"}'`)

  const invalidate = program
    .command('invalidate')
    .description('have a task of an unfinished run executed again by its resume')
  withStoreOf(invalidate)
    .argument('[run]', runArgument)
    .argument('[task]', taskArgument)
    .option('--by <name>', signed)
    .action(lazily(async () => (await import('../commands/changing/invalidate.ts')).invalidate))
  example(invalidate, 'reprise invalidate latest facts')

  const requeue = program.command('requeue').description('have a worker continue a run that was stopped or has failed')
  withStoreOf(requeue)
    .argument('[run]', runArgument)
    .option('--by <name>', signed)
    .action(lazily(async () => (await import('../commands/changing/requeue.ts')).requeueRun))
  example(requeue, 'reprise requeue latest')

  const cancel = program.command('cancel').description('end a run for good, in whatever process it is executed')
  withStoreOf(cancel)
    .argument('[run]', runArgument)
    .option('--by <name>', signed)
    .option('--yes', 'do not ask')
    .action(lazily(async () => (await import('../commands/changing/cancel.ts')).cancel))
  example(cancel, 'reprise cancel latest')
}

export function addKeeping(program: Program, lazily: Lazily): void {
  const prune = program.command('prune').description('delete the runs that match all the given options')
  withStoreOf(prune)
    .addOption(new Option('--all', 'all runs, whatever their status').conflicts(['olderThan', 'keep', 'status']))
    .option('--older-than <age>', 'not touched for that long: 30d, 12h, 2w; or since a time: 2026-01-31')
    .option('--keep <number>', 'spare so many of the newest runs of each crew', wholeNumberOrZero)
    .option(
      '--status <status>',
      `one of ${statuses.join(', ')}; once for each (default: completed, cancelled and failed)`,
      collectStatus,
    )
    .option('--crew <name>', 'only runs of this crew, and its backtests')
    .option('--dry-run', 'say what would go, and delete nothing')
    .option('--yes', 'do not ask')
    .action(lazily(async () => (await import('../commands/keeping/prune.ts')).prune))
  example(prune, 'reprise prune --older-than 30d --keep 20')
  example(prune, 'reprise prune --all --crew claims')

  const remove = program.command('delete').description('delete a run for good')
  withStoreOf(remove)
    .argument('[run]', runArgument)
    .option('--yes', 'do not ask')
    .action(lazily(async () => (await import('../commands/keeping/delete.ts')).deleteRun))
  example(remove, 'reprise delete claim-1')

  const exports = program.command('export').description('write a run, with all that belongs to it, into one file')
  withStoreOf(exports)
    .argument('<run>', runArgument)
    .argument('<file>', 'the file, or - for the standard output')
    .option('--force', 'put it in place of a file that is there')
    .action(lazily(async () => (await import('../commands/keeping/export.ts')).exportRun))
  example(exports, 'reprise export latest claim-1.jsonl')

  const imports = program.command('import').description('put an exported run into the store')
  withStoreOf(imports)
    .argument('<file>', 'the file, or - for the standard input')
    .option('--as <id>', 'another id than the one that it had')
    .action(lazily(async () => (await import('../commands/keeping/import.ts')).importRun))
  example(imports, 'reprise import claim-1.jsonl --as claim-1-copy')

  const copy = program.command('copy').description('copy runs from one store to another, to continue them there')
  copy
    .argument('<from>', 'the URL of the store that they are in')
    .argument('<to>', 'the URL of the store to copy them to')
    .argument('[runs...]', `${runArgument}; all runs that fit the options, if none is named`)
    .option('--crew <name>', 'only runs of this crew, and its backtests')
    .option('--status <status>', `one of ${statuses.join(', ')}; once for each`, collectStatus)
    .option('--since <time>', 'created then or later: 2026-01-31, 2026-01-31T12:00, or an age such as 12h or 30d')
    .option('--until <time>', 'created before then')
    .option('--concurrency <number>', 'how many runs at once (default: 4)', wholeNumber)
    .option('--dry-run', 'say what would be copied, and write nothing')
    .action(lazily(async () => (await import('../commands/keeping/copy.ts')).copy))
  example(copy, 'reprise copy sqlite:.reprise/runs.db file:./state')

  const migrate = program.command('migrate').description('bring a store up to date with this version of reprise')
  withStoreOf(migrate)
    .option('--print', 'print the SQL for a PostgreSQL store instead, and change nothing')
    .action(lazily(async () => (await import('../commands/keeping/migrate.ts')).migrate))
  example(migrate, 'reprise migrate --store postgres://me@localhost/claims --print > migrate.sql')
}

function collectStatus(value: string, before?: readonly string[]): readonly string[] {
  if (statuses.includes(value)) return collect(value, before)
  throw new InvalidArgumentError(`Allowed choices are ${statuses.join(', ')}.`)
}
