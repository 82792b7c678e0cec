// The table of commands: names, arguments, options, examples. What a command does is in its own file, which is loaded with the
// library when the command is called, so that `--help` and `--version` answer at once.
import { existsSync, readFileSync } from 'node:fs'
import { Command as Program, CommanderError, InvalidArgumentError, Option } from 'commander'
import { exitCodes } from './exit-codes.ts'
import { completeCommands, type Command, type GlobalOptions, type Invocation, type Place } from './invocation.ts'
import { flush, openTerminal } from './terminal/terminal.ts'

const statuses = ['queued', 'running', 'abandoned', 'suspended', 'completed', 'failed', 'cancelled']

/** `finished` hears the exit code of the command that was called. */
export function createProgram(finished: (code: number) => void): Program {
  const program = new Program('reprise')
  const lazily = <Options extends object>(load: () => Promise<Command<Options>>) => actionOf(load, finished)
  program
    .description('Runs crews of AI agents whose every step is journaled, and resumes or replays them from any task.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option('--store <url>', 'where journals are kept (else REPRISE_STORE, else .reprise/runs.db beside package.json)')
    .option('--json', 'print data as JSON, one object per line')
    .option('--no-color', 'print without colours, as NO_COLOR does')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(see: reprise --help)')
    .exitOverride()
  example(program, 'reprise run claims.ts --input notes="Water in the cellar"')

  const run = program.command('run').description('start a run of a crew and print its result')
  run.argument('[file]', 'the module that exports the crew (else crew.ts, src/crew.ts or "reprise" in package.json)')
  run.option('--crew <export>', 'which export, where the file has several crews')
  withInputs(run)
    .option('--id <id>', 'your own run id: unfinished, the run goes on; completed, its result is printed')
    .option('--through <task>', 'stop after this task')
    .action(lazily(async () => (await import('./commands/run.ts')).run))
  example(run, 'reprise run claims.ts --input notes=@notes.txt --input limit:=500')

  const resume = program.command('resume').description('go on with a run behind its last recorded step')
  resume.argument('[run]', 'id, prefix of it, or latest (else the latest unfinished run of the crew)')
  withCrew(resume)
    .option('--through <task>', 'stop after this task')
    .addOption(
      new Option(
        '--changed <policy>',
        'what to do about a started task whose code has changed (default: restart)',
      ).choices(['restart', 'continue', 'refuse']),
    )
    .action(lazily(async () => (await import('./commands/resume.ts')).resume))
  example(resume, 'reprise resume latest --file claims.ts')

  const replay = program
    .command('replay')
    .description('make a new run from an old one: execute a task and all behind it')
  replay.requiredOption('-t, --task <task>', 'name or id of the task to start from')
  replay.option('--run <run>', 'id, prefix of it, or latest (else the latest run of the crew)')
  withInputs(withCrew(replay))
    .option('--through <task>', 'stop after this task')
    .addOption(
      new Option('--effects <policy>', 'the once calls that the old run made (default: reuse)').choices([
        'reuse',
        'again',
        'ask',
      ]),
    )
    .action(lazily(async () => (await import('./commands/replay.ts')).replay))
  example(replay, 'reprise replay -t note --input tone=kind')

  const runs = program.command('runs').description('list runs, newest first')
  runs
    .addOption(new Option('--status <status>', 'only runs of this status').choices(statuses))
    .option('--crew <name>', 'only runs of this crew')
    .option('--limit <number>', 'how many', wholeNumber, 20)
    .action(lazily(async () => (await import('./commands/runs.ts')).runs))
  example(runs, 'reprise runs --status suspended')

  const show = program.command('show').description('show one run: its tasks, outputs and open questions')
  show
    .argument('<run>', 'id, prefix of it, or latest')
    .option('--steps', 'list the entries of its journal')
    .action(lazily(async () => (await import('./commands/show.ts')).show))
  example(show, 'reprise show latest --steps')

  const tasks = program.command('tasks').alias('log-tasks-outputs').description("list a run's tasks with their ids")
  tasks
    .argument('[run]', 'id, prefix of it, or latest', 'latest')
    .action(lazily(async () => (await import('./commands/tasks.ts')).tasks))
  example(tasks, 'reprise tasks')

  const answer = program.command('answer').description('answer an open question of a run')
  answer
    .argument('<run>', 'id, prefix of it, or latest')
    .argument('<question>', 'id of the question, such as q1')
    .requiredOption('--decision <decision>', 'one of those that the question takes')
    .option('--reason <text>', 'why, for deny and fail')
    .option('--result <json>', 'what the tool gave, for happened and use')
    .option('--input <json>', 'what to call the tool with instead, for approve')
    .option('--feedback <text>', 'what to do better, for revise')
    .option('--output <json>', 'what to use instead, for replace')
    .option('--by <name>', 'who answers (default: your login name)')
    .option('--note <text>', 'kept with the answer')
    .action(lazily(async () => (await import('./commands/answer.ts')).answer))
  example(answer, `reprise answer latest q1 --decision happened --result '{"claim":"C-1"}'`)
  return program
}

/** Runs the command that argv names and ends the process: what a crew's module left open must not keep it. */
export async function main(argv: readonly string[]): Promise<void> {
  let code: number = exitCodes.done
  try {
    await createProgram((ended) => (code = ended)).parseAsync(argv)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    code = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  }
  await flush()
  process.exit(code)
}

function actionOf<Options extends object>(load: () => Promise<Command<Options>>, finished: (code: number) => void) {
  return async function action(this: Program, ...words: unknown[]): Promise<void> {
    const options: Options & GlobalOptions & Place = this.optsWithGlobals()
    // behind the positional arguments commander hands over the options and the command
    const args = words.slice(0, -2) as (string | undefined)[]
    const executes = this.name() === 'run' || this.name() === 'resume' || this.name() === 'replay'
    const file = this.name() === 'run' ? args[0] : options.file
    const place = { store: options.store, ...(executes ? { file, crew: options.crew } : {}) }
    const terminal = openTerminal({ json: options.json ?? false, color: options.color })
    const invocation: Invocation<Options> = {
      terminal,
      args,
      options,
      complete: (text) => completeCommands(text, place),
    }
    try {
      if (existsSync('.env')) process.loadEnvFile('.env')
      const command = await load()
      finished(await command(invocation))
    } catch (error) {
      const { reportFailure } = await import('./failure.ts')
      finished(reportFailure(error, invocation))
    }
  }
}

function withCrew(command: Program): Program {
  return command
    .option(
      '--file <file>',
      'the module that exports the crew (else crew.ts, src/crew.ts or "reprise" in package.json)',
    )
    .option('--crew <export>', 'which export, where the file has several crews')
}

function withInputs(command: Program): Program {
  return command
    .option('--input <pair>', 'name=text, name=@file or name:=json; once for each input', collect)
    .option('--inputs <file>', 'a JSON file with an object of inputs; --input goes over it')
}

function example(command: Program, line: string): void {
  command.addHelpText('after', `\nExample:\n  ${line}`)
  if (command.name() !== 'reprise') command.showHelpAfterError(`(see: reprise ${command.name()} --help)`)
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

function wholeNumber(value: string): number {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('Give a whole number from 1.')
}

function version(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}
