// What the tables of commands share: options that several commands have, and how their words are read.
import { InvalidArgumentError, Option, type Command as Program } from 'commander'
import type { Command } from '../invocation.ts'

/** Makes the action of a command from what loads its file. */
export type Lazily = <Options extends object>(
  load: () => Promise<Command<Options>>,
) => (this: Program, ...words: unknown[]) => Promise<void>

export const runArgument = 'id, prefix of it, or latest'

export const taskArgument = 'name or id of the task'

export const fileArgument =
  'the module that exports the crew (else "reprise.crew" in package.json, crew.ts or src/crew.ts)'

export function withCrew(command: Program): Program {
  return command
    .option('--file <file>', fileArgument)
    .option('--crew <crew>', 'which of several crews in the file, by its export or its name')
}

/** Of commands that need a crew's store and not its code. */
export function withStoreOf(command: Program): Program {
  return command.option('--file <file>', 'the module that exports the crew: its store is used')
}

export function withInputs(command: Program): Program {
  return command
    .option(
      '--input <pair>',
      'name=text, name=@file (its text), name@=file (the file itself) or name:=json; once for each input',
      collect,
    )
    .option('--inputs <file>', 'a JSON file with an object of inputs; --input goes over it')
}

/** Of the commands that make a new run from an old one. */
export function withMaking(command: Program): Program {
  withDecisions(withInputs(withCrew(command.option('--run <run>', `${runArgument} (else the latest run of the crew)`))))
  return command
    .option('--through <task>', 'stop after this task')
    .addOption(effectsOption())
    .option('--id <id>', 'your own id for the new run; when it is there, it continues')
    .option('--dry-run', 'print the plan and stop')
    .option('--yes', 'do not ask before anything is spent')
}

export function effectsOption(): Option {
  const words = 'the once calls that the old run made (default: reuse)'
  return new Option('--effects <policy>', words).choices(['reuse', 'again', 'ask'])
}

export function onlyOption(): Option {
  return new Option('--only <which>', 'execute just what depends on the task').choices(['descendants'])
}

export function retryOption(): Option {
  const words = 'execute tasks that failed, those skipped because of them, and what depends on either'
  return new Option('--retry <which>', words).choices(['failed'])
}

export function staleOption(fallback: string): Option {
  const words = `restored outputs that were made from something else (default: ${fallback})`
  return new Option('--stale <policy>', words).choices(['keep', 'rerun', 'refuse'])
}

export function changedOption(): Option {
  const words = 'what to do about a started task whose code has changed (default: continue)'
  return new Option('--changed <policy>', words).choices(['restart', 'continue', 'refuse'])
}

/** What becomes of recorded work that the crew has no task for. */
export function withDecisions(program: Program): Program {
  return program
    .option('--renamed <old=new>', 'a task that goes by another name now; once for each', collect)
    .option('--removed <task>', 'a task that is given up, with its questions and nested runs; once for each', collect)
}

/**
 * An option that was removed; `instead` names its replacement. Refused as soon as it is read, before unknown options
 * beside it.
 */
export function withRemoved(command: Program, flags: string, instead: string): Program {
  const option = new Option(flags).hideHelp()
  const words = `error: ${command.name()} has no option ${option.long}: ${instead}`
  return command.addOption(option).on(`option:${option.name()}`, () => command.error(words))
}

export function example(command: Program, line: string): void {
  command.addHelpText('after', `\nExample:\n  ${line}`)
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

export function wholeNumber(value: string): number {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('Give a whole number from 1.')
}

export function wholeNumberOrZero(value: string): number {
  return value === '0' ? 0 : wholeNumber(value)
}
