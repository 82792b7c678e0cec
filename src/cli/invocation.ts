// One call of one command: its words, and where it prints. Commands get it instead of reading argv or streams themselves.
import { shellWord } from '../engine/people/commands.ts'
import type { Terminal } from './terminal/terminal.ts'

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
  /** Commands named in a text with the options added that this call needed to find its store and crew. */
  complete(text: string): string
}

export type Command<Options> = (invocation: Invocation<Options>) => Promise<number>

/** The options that say where a crew and its store are, as they were given. */
export interface Place {
  readonly file?: string | undefined
  readonly crew?: string | undefined
  readonly store?: string | undefined
}

/**
 * The library's messages say `reprise resume <run>`; after `reprise run other.ts --store …` that alone would find nothing. `reprise …` stands
 * for the command as it was typed: `typed` are its words.
 */
export function completeCommands(text: string, { file, crew, store }: Place, typed: readonly string[] = []): string {
  const forStore = flag('store', store)
  const forCrew = flag('file', file) + flag('crew', crew)
  const completed = text.replaceAll(commands, (command, name: string) => {
    return command + (takesFile.includes(name) ? forCrew : '') + forStore
  })
  return completed.replaceAll('reprise …', () => ['reprise', ...typed.map(shellWord)].join(' '))
}

/** Those that find a crew by --file and --crew. */
const takesFile = ['resume', 'replay', 'fork', 'refresh', 'plan', 'backtest', 'edit', 'doctor']
const takesStore = ['answer', 'show', 'tasks', 'runs', 'diff', 'lineage', 'tail', 'verify', 'invalidate', 'cancel']
const keeps = ['prune', 'reset', 'delete', 'export', 'import']
const commands = new RegExp(String.raw`\breprise (${[...takesFile, ...takesStore, ...keeps].join('|')})\b`, 'g')

function flag(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` --${name} ${shellWord(value)}`
}
