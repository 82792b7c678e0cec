// Writes next steps as commands that work as printed: they begin with the words that started this program, and repeat
// the options by which this call found its store and crew.
import { environment } from '../base/environment.ts'
import { existsSync, realpathSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { projectFolder } from '../crew/open-crew.ts'
import type { CrewModule } from '../journal/entries.ts'
import { purpose, type NextAction, type NextStep } from '../base/next.ts'
import { ownMember } from '../base/options.ts'
import { usualFile } from './find/usual-file.ts'
import { shellWord } from '../text/words.ts'

/** A next step: of the library, or of the command line alone (this call with other words, or any command). */
export type CommandNext =
  | NextStep
  /**
   * This call with more words. `instead`: an option of this call that is left out. By default the option in `words`, if
   * they are one option and its value: it replaces an earlier one.
   */
  | { readonly type: 'again'; readonly to: string; readonly words: readonly string[]; readonly instead?: string }
  /** This call with the crew of the run. */
  | { readonly type: 'module'; readonly to: string; readonly module: CrewModule }
  | ({ readonly type: 'command'; readonly to: string } & CommandWords)

interface CommandWords {
  /** The command's name and its options. */
  readonly words: readonly string[]
  /** Its positional arguments. */
  readonly values?: readonly string[]
  /**
   * Which options of this call the command repeats. `crew`: file, crew and store. `file`: file and store, for commands
   * about all crews of the file. `store`, the default: the store alone.
   */
  readonly takes?: 'crew' | 'file' | 'store' | 'nothing'
}

/** The options that locate a crew and its store, as they were given. */
export interface CrewLocation {
  readonly file?: string | undefined
  readonly crew?: string | undefined
  readonly store?: string | undefined
}

export interface Call extends CrewLocation {
  /** How commands begin here: `npx reprise`. */
  readonly runner: string
  /** The words of this call, the command's name first. */
  readonly words: readonly string[]
  /** The words that specify inputs. */
  readonly inputs: readonly string[]
}

/** Where runs are kept: at a URL, in the store that the crew's file names, or in the memory of this process. */
export type StoreLocation = { readonly store: string } | 'file' | 'memory'

export interface Commands {
  /** `npx reprise resume claim-1` */
  command(next: CommandNext): string
  /** `continue with: npx reprise resume claim-1` */
  advice(next: CommandNext): string
  /** Whether the step is about a run that ends with this process, since its store is in memory. */
  isGone(next: CommandNext): boolean
  /** The file of the crew that this call was given. */
  readonly file: string | undefined
  /** Sets where the runs of this call's crew are, if commands that load no crew would look elsewhere. */
  setStore(location: StoreLocation | undefined): void
  /** Sets the crew of the run that this call is about. Undefined if the run has not recorded it. */
  setCrew(module: CrewModule | undefined): void
  /** Returns both functions for a run of another crew. */
  forCrew(module: CrewModule | undefined): Pick<Commands, 'command' | 'advice'>
}

export function writeCommands(typedCall: Call): Commands {
  const call = withoutPassword(typedCall)
  let storeLocation: StoreLocation | undefined
  let crewModule: CrewModule | undefined
  function again(
    more: readonly string[],
    instead?: string,
    words = instead === undefined ? call.words : withoutOption(call.words, instead),
  ): string {
    const bar = words.indexOf('--')
    return [call.runner, ...words.toSpliced(bar < 0 ? words.length : bar, 0, ...more).map(shellWord)].join(' ')
  }

  /** Returns this call with a new word for each of these inputs: `name=value`, or `name:=json` if it isn't a string. */
  function give({ inputs, types = {} }: NextStep<'give'>): string {
    const typed = new Map(call.inputs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair]))
    const words = inputs.reduce((left, name) => withoutInput(left, typed.get(name)), call.words)
    const pairs = inputs.map((name) => {
      const type = ownMember(types, name)
      if (type === undefined) return `${name}=value`
      const text = typed.get(name)?.slice(name.length + 1)
      return `${name}:=${text !== undefined && isJson(text) ? text : (examples[type] ?? '…')}`
    })
    return again(
      pairs.flatMap((pair) => ['--input', pair]),
      undefined,
      words,
    )
  }

  function write({ words, values = [], takes = 'store' }: CommandWords): string {
    const [name = '', ...rest] = words
    const { file, crew: named } = crewLocation()
    const full = name === 'schedule' ? `${name} ${rest[0]}` : name
    const module = takes === 'crew' || takes === 'file' ? fileWords(full, file) : []
    const crew = takes === 'crew' ? flag('--crew', named) : []
    const options = [...rest.map(shellWord), ...module, ...crew, ...storeWords(full, takes)]
    const given = values.map(shellWord)
    // a value that begins with a dash would be read as an option
    const after = values.some((value) => value.startsWith('-')) ? [...options, '--', ...given] : [...given, ...options]
    return [call.runner, name, ...after].join(' ')
  }

  /** Returns the options of this call, or else where the run's own crew is, if its file still exists. */
  function crewLocation(): Pick<CrewLocation, 'file' | 'crew'> {
    if (call.file !== undefined || call.crew !== undefined || !crewModule) return call
    return locateCrew(crewModule) ?? call
  }

  function storeWords(name: string, takes: CommandWords['takes']): string[] {
    if (takes === 'nothing') return []
    // the crew's file locates its runs
    const hasFile = takes === 'crew' || takes === 'file'
    if (call.store !== undefined || hasFile || storeLocation === undefined || storeLocation === 'memory')
      return flag('--store', call.store)
    return storeLocation === 'file' ? fileWords(name, call.file) : flag('--store', storeLocation.store)
  }

  function command(next: CommandNext): string {
    switch (next.type) {
      case 'command':
        return write(next)
      case 'again':
        return again(next.words, next.instead ?? (next.words.length === 2 ? next.words[0] : undefined))
      case 'give':
        return give(next)
      case 'module': {
        const { file, crew } = locateCrew(next.module) ?? {}
        const words = withoutOption(withoutOption(call.words, '--file'), '--crew')
        return again([...optionWords('--file', file), ...optionWords('--crew', crew)], undefined, words)
      }
      case 'rename':
        return again(Object.entries(next.renamed).flatMap(([old, now]) => ['--renamed', `${old}=${now}`]))
      case 'import':
        return again(['--as', next.as])
      case 'fork':
        return write({ words: ['fork', '--run', next.runId, ...call.inputs], takes: 'crew' })
      default:
        return write(wordsForStep(next))
    }
  }

  function isGone(next: CommandNext): boolean {
    return 'runId' in next && (call.store === undefined ? storeLocation === 'memory' : isMemory(call.store))
  }

  return {
    file: call.file,
    command,
    isGone,
    advice: (next) => (isGone(next) ? goneWords : `${'to' in next ? next.to : purpose(next)} with: ${command(next)}`),
    setStore: (location) => void (storeLocation = location),
    setCrew: (module) => void (crewModule = module),
    forCrew(module) {
      const commands = writeCommands(call)
      commands.setStore(storeLocation)
      commands.setCrew(module)
      return commands
    },
  }
}

const goneWords = 'its store is in memory, so the run ends with this process: name another store with --store'

export function isMemory(url: string): boolean {
  return /^memory:/i.test(url)
}

/** Returns where a crew is; undefined if its file no longer exists. Without `file`, it is in the usual file. */
export function locateCrew(module: CrewModule): Pick<CrewLocation, 'file' | 'crew'> | undefined {
  const path = resolve(projectFolder(process.cwd()), module.file)
  if (!existsSync(path)) return undefined
  return { file: usualFileHere() === path ? undefined : relative(process.cwd(), path), crew: module.export }
}

/** Printed commands may be seen by others, so a password in the URL is replaced. */
function withoutPassword(call: Call): Call {
  const { store } = call
  const clean = (url: string): string => url.replace(/^([a-z][a-z+.-]*:\/\/[^:@/]*):[^/]*@/i, '$1:<password>@')
  if (store === undefined || clean(store) === store) return call
  return { ...call, store: clean(store), words: call.words.map((word) => word.replace(store, clean)) }
}

function withoutOption(words: readonly string[], option: string): string[] {
  return words.filter((word, index) => word !== option && words[index - 1] !== option && !word.startsWith(`${option}=`))
}

function withoutInput(words: readonly string[], pair: string | undefined): readonly string[] {
  return pair === undefined
    ? words
    : words.filter((word, at) => word !== pair && words[at + 1] !== pair && word !== `--input=${pair}`)
}

/** Placeholders for JSON values. */
const examples: { readonly [type: string]: string } = { array: '[…]', object: '{…}' }

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

type SimpleAction = Exclude<NextAction, 'give' | 'rename' | 'import' | 'fork'>

const wordsByAction: { readonly [A in SimpleAction]: (next: NextStep<A>) => CommandWords } = {
  resume: ({ runId, changed, renamed = {}, removed = [] }) => ({
    words: [
      'resume',
      ...(changed === undefined ? [] : ['--changed', changed]),
      ...Object.entries(renamed).flatMap(([old, now]) => ['--renamed', `${old}=${now}`]),
      ...removed.flatMap((task) => ['--removed', task]),
    ],
    values: [runId],
    takes: 'crew',
  }),
  replay: ({ runId, task }) => ({ words: ['replay', '--run', runId, '-t', task], takes: 'crew' }),
  refresh: ({ runId }) => ({ words: ['refresh', '--run', runId], takes: 'crew' }),
  retry: ({ runId }) => ({ words: ['fork', '--run', runId, '--retry', 'failed'], takes: 'crew' }),
  // the command asks for the decision: a printed one would likely be copied without reading the question
  answer: ({ runId, question }) => ({ words: ['answer'], values: [runId, question] }),
  invalidate: ({ runId, task }) => ({ words: ['invalidate'], values: [runId, task] }),
  cancel: ({ runId }) => ({ words: ['cancel'], values: [runId] }),
  delete: ({ runId }) => ({ words: ['delete'], values: [runId] }),
  requeue: ({ runId }) => ({ words: ['requeue'], values: [runId] }),
  show: ({ runId }) => ({ words: ['show'], values: [runId] }),
  runs: () => ({ words: ['runs'] }),
  kickoff: () => ({ words: ['run'], takes: 'crew' }),
  backtest: ({ task, id }) => ({ words: ['backtest', '-t', task, '--id', id], takes: 'crew' }),
  // prints the SQL, for a role that may change tables
  migrate: () => ({ words: ['migrate', '--print'] }),
}

function wordsForStep<A extends SimpleAction>(next: NextStep<A>): CommandWords {
  return wordsByAction[next.type](next)
}

/** Without a given or usual file, the command gets a placeholder. */
function fileWords(command: string, given: string | undefined): string[] {
  if (given === undefined && hasUsualFile()) return []
  const file = given === undefined ? '<file>' : shellWord(given)
  return takesFile(command) ? [file] : ['--file', file]
}

/** Whether the crew's file is an argument of the command; other commands take --file. */
export function takesFile(command: string): boolean {
  return ['run', 'enqueue', 'worker', 'schedule list', 'check', 'doctor', 'studio'].includes(command)
}

function hasUsualFile(): boolean {
  return usualFileHere() !== undefined
}

/** Returns the usual file's absolute path; an empty string if package.json is invalid (the command reports that). */
function usualFileHere(): string | undefined {
  try {
    const file = usualFile()
    return file === undefined ? undefined : resolve(file)
  } catch {
    return ''
  }
}

function flag(name: string, value: string | undefined): string[] {
  return optionWords(name, value).map(shellWord)
}

function optionWords(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value]
}

/**
 * Returns the words that start this program again. `script`: the path that Node was started with, links not resolved,
 * or the name of the installed command.
 */
export function commandPrefix(script: string): string {
  if (!script.includes(sep)) return script
  if (script.split(sep).includes('node_modules')) return 'npx reprise'
  // a link in a folder of PATH
  if (realpathSync(script) !== resolve(script)) return 'reprise'
  // a checkout of this project
  if (environment().npmScript === 'reprise') return 'npm run -s reprise --'
  return ['node', ...process.execArgv, script].map(shellWord).join(' ')
}
