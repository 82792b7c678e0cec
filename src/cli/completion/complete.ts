// What may stand in place of the last of some words: commands and options from the table, runs, tasks, questions and
// crews from the store.
import type { Argument, Command as Program, Option } from 'commander'
import { storedValues } from './complete-stored.ts'

export interface Candidate {
  readonly value: string
  readonly note?: string
}

/** What stands before the word that is typed. */
export interface Typed {
  readonly command: Program
  /** By the long name of the option. */
  readonly given: ReadonlyMap<string, string>
  readonly positionals: readonly string[]
  /** The long name of the option whose value it is. */
  readonly option?: string | undefined
}

/**
 * `words` are those behind `reprise`; the last one is being typed, and may be empty. `files`: the shell knows these
 * best.
 */
export async function complete(program: Program, words: readonly string[]): Promise<readonly Candidate[] | 'files'> {
  const { option, ...typed } = walk(program, words.slice(0, -1))
  const word = words.at(-1) ?? ''
  const [, flag = '', value = word] = /^(--[^=]+=)(.*)$/s.exec(option ? '' : word) ?? []
  const taker =
    option ?? (flag === '' ? argumentOf(program, typed, word) : optionOf(program, typed.command, flag.slice(0, -1)))
  const found = taker ? await valuesOf(taker, typed) : namesOf(program, typed, word)
  if (found === 'files') return found
  return found.filter((one) => one.value.startsWith(value)).map((one) => ({ ...one, value: flag + one.value }))
}

function walk(
  program: Program,
  words: readonly string[],
): Omit<Typed, 'option'> & { readonly option: Option | undefined } {
  let command = program
  let option: Option | undefined
  const given = new Map<string, string>()
  const positionals: string[] = []
  for (const word of words) {
    if (option) {
      given.set(option.long ?? '', word)
      option = undefined
    } else if (word.startsWith('-')) {
      const [flag = '', value] = word.split(/=(.*)/s)
      const named = optionOf(program, command, flag)
      if (value === undefined) option = named
      else if (named) given.set(named.long ?? '', value)
    } else {
      const named = program.commands.find((one) => one.name() === word || one.aliases().includes(word))
      if (command === program && named) command = named
      else positionals.push(word)
    }
  }
  return { command, option, given, positionals }
}

/** Only one that takes a value. */
function optionOf(program: Program, command: Program, flag: string): Option | undefined {
  const option = [...command.options, ...program.options].find(({ long, short }) => long === flag || short === flag)
  return option?.required ? option : undefined
}

function argumentOf(program: Program, { command, positionals }: Typed, word: string): Argument | undefined {
  if (command === program || word.startsWith('-')) return undefined
  const last = command.registeredArguments.at(-1)
  return command.registeredArguments[positionals.length] ?? (last?.variadic ? last : undefined)
}

/** Of options, or of commands. */
function namesOf(program: Program, { command, positionals }: Typed, word: string): Candidate[] {
  if (word.startsWith('-')) {
    const shown = [...command.options, ...program.options].filter(({ hidden }) => !hidden)
    const options = shown.map(({ long, description }) => ({
      value: long ?? '',
      note: description,
    }))
    return [...options, { value: '--help', note: 'print its options and an example' }]
  }
  // a word that is no command leaves nothing to say
  return command === program && positionals.length === 0
    ? program.commands.map((one) => ({ value: one.name(), note: one.description() }))
    : []
}

/** The table's choices, else by the name that it gives to the value: `<run>`, `<task>`. */
async function valuesOf(taker: Option | Argument, typed: Typed): Promise<readonly Candidate[] | 'files'> {
  if (taker.argChoices) return taker.argChoices.map((value) => ({ value }))
  const kind = 'flags' in taker ? (/<(.+)>/.exec(taker.flags)?.[1] ?? '') : taker.name()
  return kind === 'file' ? 'files' : storedValues(kind, { ...typed, option: 'long' in taker ? taker.long : undefined })
}
