// The program `reprise`. Names, arguments, options and examples of its commands are in table/. What a command does is
// in its own file, which is loaded with the library when the command is called, so that `--help` and `--version` answer
// at once.
import { existsSync } from 'node:fs'
import { Command as Program, CommanderError } from 'commander'
import { exitCodes } from './exit-codes.ts'
import type { Command, GlobalOptions, Invocation } from './invocation.ts'
import { runnerOf } from './runner.ts'
import { example, type Lazily } from './table/shared-options.ts'
import { plain } from '../text/plain-text.ts'
import { endWithReader, flush, openTerminal } from './terminal/terminal.ts'
import { packageVersion as version } from '../studio/package-version.ts'
import { takesFile, writeCommands, type Place } from './write-command.ts'

interface Group {
  readonly title: string
  /** Of its commands, also their other names: a test holds them to the table. */
  readonly names: readonly string[]
  readonly load: () => Promise<(program: Program, lazily: Lazily) => void>
}

export const groups: readonly Group[] = [
  {
    title: 'Begin:',
    names: ['create'],
    load: async () => (await import('./table/creating.ts')).addCreating,
  },
  {
    title: 'Execute:',
    names: ['run', 'resume', 'plan', 'replay', 'fork', 'refresh', 'backtest'],
    load: async () => (await import('./table/executing.ts')).addExecuting,
  },
  {
    title: 'Queue:',
    names: ['enqueue', 'worker', 'schedule'],
    load: async () => (await import('./table/queueing.ts')).addQueueing,
  },
  {
    title: 'Look:',
    names: ['studio', 'runs', 'show', 'log-tasks-outputs', 'diff', 'tail', 'check', 'doctor'],
    load: async () => (await import('./table/looking.ts')).addLooking,
  },
  {
    title: 'Decide:',
    names: ['answer', 'edit', 'invalidate', 'requeue', 'cancel'],
    load: async () => (await import('./table/changing.ts')).addChanging,
  },
  {
    title: 'Keep and remove:',
    names: ['prune', 'delete', 'export', 'import', 'copy', 'migrate'],
    load: async () => (await import('./table/changing.ts')).addKeeping,
  },
]

/** Commands of earlier versions, with the words of the command that replaces them. */
const replaced: { readonly [name: string]: readonly string[] | undefined } = {
  tasks: ['show', '--tasks'],
  lineage: ['show', '--lineage'],
  verify: ['show', '--verify'],
  questions: ['runs', '--waiting'],
  reset: ['prune', '--all'],
  completion: undefined,
}

/**
 * `finished` hears the exit code of the command that was called. Of the command that `argv` names, only its own group
 * is there: making all of them takes longer than many a command.
 */
export async function createProgram(
  finished: (code: number) => void,
  argv: readonly string[] = ['node', 'reprise'],
): Promise<Program> {
  const program = new Program('reprise')
  const [, script = '', ...words] = argv
  const [wanted] = words
  const runner = runnerOf(script)
  const lazily: Lazily = (load) => actionOf(load, { finished, runner, words })
  program
    .description('Runs crews of AI agents whose every step is journaled, and resumes or replays them from any task.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .option(
      '--store <url>',
      "where journals are kept (else the crew's own, else REPRISE_STORE, else .reprise/runs.db beside package.json)",
    )
    .option('--json', 'print data as JSON, one object per line')
    .option('--quiet', 'print data and errors alone: no progress and no advice')
    .option('--no-color', 'print without colours, as NO_COLOR does')
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    // what cannot be understood is quoted, and may hold anything
    .configureOutput({ writeErr: (text) => void process.stderr.write(plain(text)) })
    .showHelpAfterError(`(see: ${runner} --help)`)
    .exitOverride()
  example(program, 'reprise run claims.ts --input notes="Water in the cellar"')
  const called = groups.filter(({ names }) => wanted !== undefined && names.includes(wanted))
  for (const { title, load } of called.length > 0 ? called : groups) {
    program.commandsGroup(title)
    const add = await load()
    add(program, lazily)
  }
  for (const command of program.commands) command.showHelpAfterError(`(see: ${runner} ${command.name()} --help)`)
  for (const name of Object.keys(replaced)) if (words.includes(name)) addReplaced(program, name, { runner, words })
  return program
}

/** Its message names the command that replaces it, with the words of this call. */
function addReplaced(program: Program, name: string, { runner, words }: Pick<Started, 'runner' | 'words'>): void {
  program
    .command(name, { hidden: true })
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      const command = replaced[name]
      const typed = command && words.toSpliced(words.indexOf(name), 1, ...command)
      const { command: write } = writeCommands({ runner, words: typed ?? [], inputs: [] })
      const advice = typed ? `use ${write({ act: 'again', to: '', words: [] })}` : 'nothing replaces it'
      program.showHelpAfterError(false).error(`error: reprise has no command ${name}; ${advice}`)
    })
}

/** Runs the command that argv names and ends the process: what a crew's module left open must not keep it. */
export async function main(argv: readonly string[]): Promise<void> {
  endWithReader()
  const code = await runCommand(argv)
  await flush()
  process.exit(code)
}

/** Runs the command that argv names and gives its exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  let code: number = exitCodes.done
  try {
    const program = await createProgram((ended) => (code = ended), argv)
    await program.parseAsync(argv)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    code = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    // people have read it on the standard error output
    if (code !== exitCodes.done && argv.includes('--json')) recordUsageError(error)
  }
  return code
}

function recordUsageError({ code, message }: CommanderError): void {
  const said = code === 'commander.help' ? 'no command is named' : message.replace(/^error: /, '')
  const terminal = openTerminal({ json: true, quiet: false, color: false })
  terminal.record({ error: { code: 'USAGE', message: said.replaceAll('\n', ' ') } })
}

interface Started {
  readonly finished: (code: number) => void
  readonly runner: string
  readonly words: readonly string[]
}

function actionOf<Options extends object>(load: () => Promise<Command<Options>>, { finished, runner, words }: Started) {
  return async function action(this: Program, ...given: unknown[]): Promise<void> {
    const options: Options & GlobalOptions & Place & { inputs?: string } = this.optsWithGlobals()
    // behind the positional arguments commander hands over the options and the command
    const args = given.slice(0, -2).flat() as (string | undefined)[]
    // commands that need only a store take the name of a crew, and load none
    const loads = this.options.some(({ flags }) => flags === '--crew <crew>')
    // of several files, each command has its own
    const named = takesFile(this.name()) ? args.filter((path) => path !== undefined) : []
    const file = named.length > 1 ? undefined : (named[0] ?? options.file)
    const place = { store: options.store, file, ...(loads ? { crew: options.crew } : {}) }
    const terminal = openTerminal({
      json: options.json ?? false,
      quiet: options.quiet ?? false,
      color: options.color,
    })
    const invocation: Invocation<Options> = {
      terminal,
      args,
      options,
      commands: writeCommands({ runner, words, inputs: inputWords(options), ...place }),
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

/** Those of a crew, as they were typed; the one of an answer is a text. */
function inputWords({ input, inputs }: { readonly input?: unknown; readonly inputs?: string }): string[] {
  const pairs = Array.isArray(input) ? (input as string[]).flatMap((pair) => ['--input', pair]) : []
  return [...pairs, ...(inputs === undefined ? [] : ['--inputs', inputs])]
}
