// A command: its options, and what it does. It receives an Invocation, and reads neither argv nor streams itself.
import type { Command as Program } from 'commander'
import type { Terminal } from './output/terminal.ts'
import type { Commands } from './write-command.ts'

export interface Command<Options = object> {
  /** Adds its arguments and options. */
  readonly declare: (command: Program) => Program
  /** Lines at the end of its help. */
  readonly examples: readonly string[]
  /** Returns the exit code. */
  readonly action: (invocation: Invocation<Options>) => Promise<number>
}

/** Commands under one word: `schedule add`, `schedule list`. */
export interface CommandGroup {
  readonly commands: { readonly [name: string]: { readonly summary: string; readonly command: Command<never> } }
  /** The command that is called if none of them is named. */
  readonly usual: string
}

export interface GlobalOptions {
  readonly store?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly color: boolean
}

/** The options that locate a crew. */
export interface CrewOptions {
  readonly file?: string
  readonly crew?: string
}

export interface Invocation<Options = object> {
  readonly terminal: Terminal
  /** The positional arguments. */
  readonly args: readonly (string | undefined)[]
  readonly options: Options & GlobalOptions
  /** Writes next steps as commands that work in this folder. */
  readonly commands: Commands
}

/** `run`, or `schedule add` for a command of a group. */
export function fullName(program: Program): string {
  const { parent } = program
  return parent?.parent ? `${fullName(parent)} ${program.name()}` : program.name()
}
