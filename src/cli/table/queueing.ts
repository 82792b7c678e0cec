// Commands for runs that wait for a worker, and for the worker.
import { Option, type Command as Program } from 'commander'
import { scheduleInCode } from '../../crew/queue/schedule-in-code.ts'
import {
  changedOption,
  example,
  fileArgument,
  wholeNumber,
  wholeNumberOrZero,
  withInputs,
  withRemoved,
  type Lazily,
} from './shared-options.ts'

export function addQueueing(program: Program, lazily: Lazily): void {
  const enqueue = program.command('enqueue').description('put a run into the queue, for a worker to execute')
  enqueue.argument('[file]', fileArgument)
  enqueue.option('--crew <crew>', 'which of several crews in the file, by its export or its name')
  withInputs(enqueue)
    .option('--id <id>', 'your own run id: given again with the same inputs, it is the same run')
    .addOption(
      new Option('--priority <priority>', 'which of the runs that wait come first (default: normal)').choices([
        'low',
        'normal',
        'high',
      ]),
    )
    .option('--delay <time>', 'start it only when this time has passed: 90s, 10m, 2h, 1d')
    .action(lazily(async () => (await import('../commands/queueing/enqueue.ts')).enqueue))
  withRemoved(enqueue, '--cron <expression>', scheduleInCode)
  example(enqueue, 'reprise enqueue claims.ts --input notes=@notes.txt --delay 10m')

  const worker = program
    .command('worker')
    .description('execute queued runs, and continue those that were left or answered, until it is stopped')
  worker.argument('[file...]', 'the modules that export the crews, all of which are served (else as for run)')
  worker
    .option('--name <name>', 'what it is called where people see who has a run: for containers, with "$HOSTNAME"')
    .option('--concurrency <number>', 'how many runs at once (default: 10)', wholeNumber)
    .option('--once', 'execute what is ready, then exit')
    .addOption(changedOption())
    .option('--slice <time>', 'hand a run back after this time (10s), between two steps, so that others get their turn')
    .option('--grace <time>', 'how long a stop waits for the steps in progress (default: 30s)')
    .addOption(
      new Option(
        '--dispatcher <name>',
        'who decides what it executes: restate (RESTATE_INGRESS_URL, RESTATE_ADMIN_URL), or http, which calls --url (default: the store)',
      ).choices(['restate', 'http']),
    )
    .option('--listen <[host:]port>', 'where it is called by Restate (default: 127.0.0.1:9080)')
    .option('--url <url>', 'with restate, where that reaches it; with http, the function that advances runs')
    .option('--port <number>', 'serve /health and /metrics there; 0 takes a free port', wholeNumberOrZero)
    .option('--host <address>', 'where to serve them (default: 127.0.0.1, which is only this machine)')
    .action(lazily(async () => (await import('../commands/queueing/worker.ts')).worker))
  example(worker, 'reprise worker claims.ts letters.ts --concurrency 20 --port 9464')
  example(worker, 'reprise worker claims.ts --dispatcher restate')

  const schedule = program.command('schedule').description("list the schedules of a file's crews, and their next runs")
  schedule.argument('[file]', fileArgument)
  schedule
    .option('--enqueue', 'put the next run of each into the queue, as a worker does')
    .action(lazily(async () => (await import('../commands/queueing/schedule.ts')).schedule))
  withRemoved(schedule, '--end <name>', `${scheduleInCode}; to end one, remove that call and cancel its next run`)
  example(schedule, 'reprise schedule claims.ts')
}
