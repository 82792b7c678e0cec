// The program `reprise`: a list of its commands. A command's file is loaded, with the library, only when the command is
// called or its help is printed, so that `--help` and `--version` answer at once.
import { existsSync } from 'node:fs'
import { Command as Program, CommanderError } from 'commander'
import { packageVersion as version } from '../studio/package-version.ts'
import { plain } from '../text/plain-text.ts'
import { fullName, type Command, type CommandGroup, type GlobalOptions, type Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { endWithReader, flush, openTerminal } from './output/terminal.ts'
import { commandPrefix, takesFile, writeCommands, type CrewLocation } from './write-command.ts'

interface Entry {
  readonly summary: string
  readonly load: () => Promise<Command<never> | CommandGroup>
}

interface Section {
  readonly title: string
  readonly commands: { readonly [name: string]: Entry }
}

export const sections: readonly Section[] = [
  {
    title: 'Begin:',
    commands: {
      demo: {
        summary: 'kill a crew with kill -9, resume it, replay a task, and count what each of these cost',
        load: async () => (await import('./commands/demo.ts')).demoCommand,
      },
      create: {
        summary: 'create a new project with a crew that runs at once',
        load: async () => (await import('./commands/create.ts')).createCommand,
      },
    },
  },
  {
    title: 'Execute:',
    commands: {
      run: {
        summary: 'start a run of a crew here, and print its result (enqueue leaves it to a worker)',
        load: async () => (await import('./commands/run.ts')).runCommand,
      },
      resume: {
        summary: 'continue a run after its last recorded step',
        load: async () => (await import('./commands/resume.ts')).resumeCommand,
      },
      plan: {
        summary: 'print what would be executed, and why; nothing is written',
        load: async () => (await import('./commands/plan.ts')).planCommand,
      },
      replay: {
        summary: 'fork a run: execute a task and all tasks after it',
        load: async () => (await import('./commands/fork.ts')).replayCommand,
      },
      fork: {
        summary: 'fork a run: execute the tasks that your inputs and outputs change',
        load: async () => (await import('./commands/fork.ts')).forkCommand,
      },
      refresh: {
        summary: 'fork a run: execute only what is stale',
        load: async () => (await import('./commands/fork.ts')).refreshCommand,
      },
      backtest: {
        summary: "try a task, with today's code, on the inputs of earlier runs",
        load: async () => (await import('./commands/backtest.ts')).backtestCommand,
      },
    },
  },
  {
    title: 'Queue:',
    commands: {
      enqueue: {
        summary: 'put a run into the queue, for a worker to execute',
        load: async () => (await import('./commands/enqueue.ts')).enqueueCommand,
      },
      worker: {
        summary: 'execute queued runs, and continue abandoned and answered ones, until it is stopped',
        load: async () => (await import('./commands/worker.ts')).workerCommand,
      },
      schedule: {
        summary: 'list schedules with their next runs; add and remove them',
        load: async () => (await import('./commands/schedule.ts')).scheduleCommands,
      },
    },
  },
  {
    title: 'Look:',
    commands: {
      studio: {
        summary: 'show and control all runs on a page in the browser, until it is stopped',
        load: async () => (await import('./commands/studio.ts')).studioCommand,
      },
      runs: {
        summary: 'list runs, newest first, or the questions that wait for an answer',
        load: async () => (await import('./commands/runs.ts')).runsCommand,
      },
      show: {
        summary: 'show one run: its tasks, outputs and open questions',
        load: async () => (await import('./commands/show.ts')).showCommand,
      },
      'log-tasks-outputs': {
        summary: "CrewAI's name for show --tasks",
        load: async () => (await import('./commands/show.ts')).logTasksOutputsCommand,
      },
      diff: {
        summary: 'show the differences between two runs',
        load: async () => (await import('./commands/diff.ts')).diffCommand,
      },
      tail: {
        summary: "print a run's entries as they are recorded, until it ends or suspends",
        load: async () => (await import('./commands/tail.ts')).tailCommand,
      },
      check: {
        summary: 'print what this code would do with every unfinished run; exit code 1 if it would strand one',
        load: async () => (await import('./commands/check.ts')).checkCommand,
      },
      doctor: {
        summary: 'check what a crew needs to run here; nothing is written',
        load: async () => (await import('./commands/doctor.ts')).doctorCommand,
      },
    },
  },
  {
    title: 'Decide:',
    commands: {
      answer: {
        summary: 'answer an open question of a run',
        load: async () => (await import('./commands/answer.ts')).answerCommand,
      },
      send: {
        summary: 'send an event to a run of a flow',
        load: async () => (await import('./commands/send.ts')).sendCommand,
      },
      edit: {
        summary: "replace a task's output in an unfinished run with your value",
        load: async () => (await import('./commands/edit.ts')).editCommand,
      },
      invalidate: {
        summary: 'execute a task of an unfinished run again when the run is resumed',
        load: async () => (await import('./commands/invalidate.ts')).invalidateCommand,
      },
      requeue: {
        summary: 'let a worker continue a run that was stopped or has failed',
        load: async () => (await import('./commands/requeue.ts')).requeueCommand,
      },
      cancel: {
        summary: 'end a run for good, whichever process executes it',
        load: async () => (await import('./commands/cancel.ts')).cancelCommand,
      },
    },
  },
  {
    title: 'Keep and remove:',
    commands: {
      prune: {
        summary: 'delete the runs that match all the given options',
        load: async () => (await import('./commands/prune.ts')).pruneCommand,
      },
      delete: {
        summary: 'delete a run for good',
        load: async () => (await import('./commands/delete.ts')).deleteCommand,
      },
      export: {
        summary: 'write a run, with everything that belongs to it, into one file',
        load: async () => (await import('./commands/export.ts')).exportCommand,
      },
      import: {
        summary: 'put an exported run into the store',
        load: async () => (await import('./commands/import.ts')).importCommand,
      },
      copy: {
        summary: 'copy runs from one store to another, to continue them there',
        load: async () => (await import('./commands/copy.ts')).copyCommand,
      },
      migrate: {
        summary: 'bring a store up to date with this version of reprise',
        load: async () => (await import('./commands/migrate.ts')).migrateCommand,
      },
    },
  },
]

/** Commands that no longer exist, each with the words of the command that replaces it, if any. */
const removedCommands: { readonly [name: string]: readonly string[] | undefined } = {
  tasks: ['show', '--tasks'],
  lineage: ['show', '--lineage'],
  verify: ['show', '--verify'],
  questions: ['runs', '--waiting'],
  reset: ['prune', '--all'],
  completion: undefined,
}

/**
 * Builds the program. `onExit` receives the exit code of the command. If `argv` names a command, only that one is
 * added, because adding all of them takes longer than many commands do. Otherwise all are listed, without their
 * options.
 */
export async function createProgram(onExit: (code: number) => void, argv: readonly string[]): Promise<Program> {
  const program = new Program('reprise')
  const [, script = '', ...words] = argv
  const runner = commandPrefix(script)
  program
    .description('Runs crews of AI agents whose every step is journaled, and resumes or replays them from any task.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .option(
      '--store <url>',
      "where journals are kept (default: the crew's own store, else REPRISE_STORE, else .reprise/runs.db beside package.json)",
    )
    .option('--json', 'print data as JSON, one object per line')
    .option('--quiet', 'print only data and errors: no progress and no advice')
    .option('--no-color', 'print without colours, as NO_COLOR does')
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    // errors quote the typed words, which may contain control characters
    .configureOutput({ writeErr: (text) => void process.stderr.write(plain(text)) })
    .showHelpAfterError(`(see: ${runner} --help)`)
    .exitOverride()
  addExamples(program, ['reprise run claims.ts --input notes="Water in the cellar"'])
  const isCalled = (name: string): boolean => words.includes(name)
  const isAnyCalled = sections.some(({ commands }) => Object.keys(commands).some(isCalled))
  for (const { title, commands } of sections) {
    program.commandsGroup(title)
    for (const [name, { summary, load }] of Object.entries(commands)) {
      if (isAnyCalled && !isCalled(name)) continue
      const command = program.command(name).description(summary)
      if (!isCalled(name)) continue
      addCommand(command, await load(), { onExit, runner, words })
    }
  }
  for (const name of Object.keys(removedCommands))
    if (words.includes(name)) addRemoved(program, name, { runner, words })
  return program
}

function addCommand(program: Program, loaded: Command<never> | CommandGroup, call: Call): void {
  program.showHelpAfterError(`(see: ${call.runner} ${fullName(program)} --help)`)
  if ('commands' in loaded) {
    for (const [name, { summary, command }] of Object.entries(loaded.commands))
      addCommand(program.command(name, { isDefault: name === loaded.usual }).description(summary), command, call)
    return
  }
  const { declare, examples, action } = loaded
  declare(program)
  addExamples(program, examples)
  program.action(actionFor(action, call))
}

function addExamples(command: Program, lines: readonly string[]): void {
  const heading = lines.length > 1 ? 'Examples' : 'Example'
  command.addHelpText('after', `\n${heading}:\n${lines.map((line) => `  ${line}`).join('\n')}`)
}

/** Adds a command that no longer exists. It fails, and names the command to use, with the words of this call. */
function addRemoved(program: Program, name: string, { runner, words }: Pick<Call, 'runner' | 'words'>): void {
  function refuse(): never {
    const command = removedCommands[name]
    const typed = words.filter((word) => word !== 'help')
    const replacing = typed.toSpliced(typed.indexOf(name), 1, ...(command ?? []))
    const { command: write } = writeCommands({ runner, words: replacing, inputs: [] })
    const advice = command ? `use ${write({ type: 'again', to: '', words: [] })}` : 'nothing replaces it'
    return program.showHelpAfterError(false).error(`error: reprise has no command ${name}; ${advice}`)
  }
  const command = program.command(name, { hidden: true })
  command.helpOption(false).allowUnknownOption().allowExcessArguments().action(refuse).on('beforeHelp', refuse)
}

/** Runs the command that argv names and exits, even if a crew's module left handles open. */
export async function main(argv: readonly string[]): Promise<void> {
  endWithReader()
  const code = await runCommand(argv)
  await flush()
  process.exit(code)
}

/** Runs the command that argv names and returns its exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  let code: number = exitCodes.done
  try {
    const program = await createProgram((ended) => (code = ended), argv)
    await program.parseAsync(argv)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    code = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    // commander has already printed it to standard error
    if (code !== exitCodes.done && argv.includes('--json')) recordUsageError(error)
  }
  return code
}

function recordUsageError({ code, message }: CommanderError): void {
  const facts = code === 'commander.help' ? 'no command is named' : message.replace(/^error: /, '')
  const terminal = openTerminal({ json: true, quiet: false, color: false })
  terminal.record({ error: { code: 'USAGE', message: facts.replaceAll('\n', ' ') } })
}

interface Call {
  readonly onExit: (code: number) => void
  readonly runner: string
  readonly words: readonly string[]
}

/** An action for commander, which calls the command with an Invocation and reports its failure. */
function actionFor(command: Command<never>['action'], { onExit, runner, words }: Call) {
  return async function action(this: Program, ...values: unknown[]): Promise<void> {
    const options: GlobalOptions & CrewLocation & { inputs?: string } = this.optsWithGlobals()
    // after the positional arguments commander passes the options and itself
    const args = values.slice(0, -2).flat() as (string | undefined)[]
    // `--crew <crew>` names the crew to load; `--crew <name>` of other commands only selects runs
    const loadsCrew = this.options.some(({ flags }) => flags === '--crew <crew>')
    // with several files, each printed command names the file of the run's own crew
    const files = takesFile(fullName(this)) ? args.filter((path) => path !== undefined) : []
    const file = files.length > 1 ? undefined : (files[0] ?? options.file)
    const location = { store: options.store, file, ...(loadsCrew ? { crew: options.crew } : {}) }
    const terminal = openTerminal({
      json: options.json ?? false,
      quiet: options.quiet ?? false,
      color: options.color,
    })
    const invocation: Invocation = {
      terminal,
      args,
      options,
      commands: writeCommands({ runner, words, inputs: inputWords(options), ...location }),
    }
    try {
      if (existsSync('.env')) process.loadEnvFile('.env')
      // commander has read the options that the command declares
      onExit(await command(invocation as Invocation<never>))
    } catch (error) {
      const { reportFailure } = await import('./failure.ts')
      onExit(reportFailure(error, invocation))
    }
  }
}

/** Returns the words that specify the crew's inputs. `--input` of `answer` is a single string, and not one of them. */
function inputWords({ input, inputs }: { readonly input?: unknown; readonly inputs?: string }): string[] {
  const pairs = Array.isArray(input) ? (input as string[]).flatMap((pair) => ['--input', pair]) : []
  return [...pairs, ...(inputs === undefined ? [] : ['--inputs', inputs])]
}
