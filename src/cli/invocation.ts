// One call of one command: its words, and where it prints. Commands get it instead of reading argv or streams
// themselves.
import type { Terminal } from './terminal/terminal.ts'
import type { Commands } from './write-command.ts'

export interface GlobalOptions {
  readonly store?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly color: boolean
}

export interface Invocation<Options = object> {
  readonly terminal: Terminal
  /** The positional arguments. */
  readonly args: readonly (string | undefined)[]
  readonly options: Options & GlobalOptions
  /** What to type next, as it works here. */
  readonly commands: Commands
}

export type Command<Options> = (invocation: Invocation<Options>) => Promise<number>
