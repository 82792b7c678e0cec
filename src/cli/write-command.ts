// What can be done next, as commands that work as printed: with what this program was started by, and the options that
// this call needed to find its store and crew.
import { environment } from '../base/environment.ts'
import { existsSync, realpathSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { projectFolder } from '../crew/verbs/default-store.ts'
import type { CrewModule } from '../journal/entries.ts'
import { purposes, type NextAction, type NextStep } from '../base/next.ts'
import { ownMember } from '../base/options.ts'
import { usualFile } from './find/usual-file.ts'
import { shellWord } from '../text/shell-word.ts'

/** What only the command line can say: the same command with more words, or any other. */
export type CommandNext =
  | NextStep
  /** `instead`: an option of this call that is left out, or given again in `words`. */
  | { readonly act: 'again'; readonly to: string; readonly words: readonly string[]; readonly instead?: string }
  /** The same command with the crew of the run that it is about. */
  | { readonly act: 'module'; readonly to: string; readonly module: CrewModule }
  | ({ readonly act: 'command'; readonly to: string } & Typed)

/** For those who name no task, or one that isn't there. */
export const seeTasks: CommandNext = { act: 'command', to: 'see them', words: ['show', '--tasks'], values: ['latest'] }

interface Typed {
  /** The command's name, and options. */
  readonly words: readonly string[]
  /** What it is called on. */
  readonly values?: readonly string[]
  /**
   * Which of this call's options it takes: those of its crew and its store, of its file with all crews and its store,
   * of its store alone (the default), or none.
   */
  readonly takes?: 'crew' | 'file' | 'store' | 'nothing'
}

/** The options that say where a crew and its store are, as they were given. */
export interface Place {
  readonly file?: string | undefined
  readonly crew?: string | undefined
  readonly store?: string | undefined
}

export interface Call extends Place {
  /** What commands begin with here: `npx reprise`. */
  readonly runner: string
  /** The words of this call, the command's name first. */
  readonly words: readonly string[]
  /** Those of them that give inputs. */
  readonly inputs: readonly string[]
}

/** What says where runs are: the URL of their store, or, for one that has none that can be opened, the crew's file. */
export type Kept = { readonly store: string } | 'file'

export interface Commands {
  /** `npx reprise resume claim-1` */
  command(next: CommandNext): string
  /** `continue with: npx reprise resume claim-1` */
  advice(next: CommandNext): string
  /** The file of the crew that this call was given. */
  readonly file: string | undefined
  /** Where the runs of this call's crew are, when that isn't where commands look that load no crew. */
  keptIn(kept: Kept | undefined): void
  /** Where the crew is that made the run which this call is about. Undefined where nobody has noted it. */
  madeIn(module: CrewModule | undefined): void
  /** What can be done with another run than the one that this call is about. */
  about(module: CrewModule | undefined): Pick<Commands, 'command' | 'advice'>
}

export function writeCommands(typedCall: Call): Commands {
  const call = withoutPassword(typedCall)
  let kept: Kept | undefined
  let made: CrewModule | undefined
  /** `instead`: the option whose value is another one this time. */
  function again(
    more: readonly string[],
    instead?: string,
    words = instead === undefined ? call.words : without(call.words, instead),
  ): string {
    const bar = words.indexOf('--')
    return [call.runner, ...words.toSpliced(bar < 0 ? words.length : bar, 0, ...more).map(shellWord)].join(' ')
  }

  /** What was typed for these inputs is left out: a text that the crew doesn't take is given as JSON. */
  function give({ inputs, types = {} }: NextStep<'give'>): string {
    const typed = new Map(call.inputs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair]))
    const words = inputs.reduce((left, name) => withoutPair(left, typed.get(name)), call.words)
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

  function whole({ words, values = [], takes = 'store' }: Typed): string {
    const [name = '', ...rest] = words
    const { file, crew: named } = crewPlace()
    const module = takes === 'crew' || takes === 'file' ? fileWords(name, file) : []
    const crew = takes === 'crew' ? flag('--crew', named) : []
    const options = [...rest.map(shellWord), ...module, ...crew, ...storeWords(name, takes)]
    const given = values.map(shellWord)
    // a name that begins with a dash is no option
    const after = values.some((value) => value.startsWith('-')) ? [...options, '--', ...given] : [...given, ...options]
    return [call.runner, name, ...after].join(' ')
  }

  /** What this call was given, or else where the run's own crew is, if it is still there. */
  function crewPlace(): Pick<Place, 'file' | 'crew'> {
    if (call.file !== undefined || call.crew !== undefined || !made) return call
    return placeOf(made) ?? call
  }

  function storeWords(name: string, takes: Typed['takes']): string[] {
    if (takes === 'nothing') return []
    // the crew's own file says where its runs are
    const hasFile = takes === 'crew' || takes === 'file'
    if (call.store !== undefined || hasFile || kept === undefined) return flag('--store', call.store)
    return kept === 'file' ? fileWords(name, call.file) : flag('--store', kept.store)
  }

  function command(next: CommandNext): string {
    switch (next.act) {
      case 'command':
        return whole(next)
      case 'again':
        return again(next.words, next.instead ?? (next.words.length === 2 ? next.words[0] : undefined))
      case 'give':
        return give(next)
      case 'module': {
        const { file, crew } = placeOf(next.module) ?? {}
        const words = without(without(call.words, '--file'), '--crew')
        return again([...wordsFor('--file', file), ...wordsFor('--crew', crew)], undefined, words)
      }
      case 'import':
        return again(['--as', next.as])
      case 'fork':
        return whole({ words: ['fork', '--run', next.runId, ...call.inputs], takes: 'crew' })
      default:
        return whole(typedFor(next))
    }
  }

  return {
    file: call.file,
    command,
    advice: (next) => `${'to' in next ? next.to : purposes[next.act]} with: ${command(next)}`,
    keptIn: (place) => void (kept = place),
    madeIn: (module) => void (made = module),
    about(module) {
      const commands = writeCommands(call)
      commands.keptIn(kept)
      commands.madeIn(module)
      return commands
    },
  }
}

/** Where a run's crew is, if it is still there. Without a file: where commands look by themselves. */
export function placeOf(module: CrewModule): Pick<Place, 'file' | 'crew'> | undefined {
  const path = resolve(projectFolder(process.cwd()), module.file)
  if (!existsSync(path)) return undefined
  return { file: usualFileHere() === path ? undefined : relative(process.cwd(), path), crew: module.export }
}

/** A command is printed where others may read it: whoever uses it puts the password in again. */
function withoutPassword(call: Call): Call {
  const { store } = call
  const clean = (url: string): string => url.replace(/^([a-z][a-z+.-]*:\/\/[^:@/]*):[^/]*@/i, '$1:<password>@')
  if (store === undefined || clean(store) === store) return call
  return { ...call, store: clean(store), words: call.words.map((word) => word.replace(store, clean)) }
}

function without(words: readonly string[], option: string): string[] {
  return words.filter((word, index) => word !== option && words[index - 1] !== option && !word.startsWith(`${option}=`))
}

function withoutPair(words: readonly string[], pair: string | undefined): readonly string[] {
  return pair === undefined
    ? words
    : words.filter((word, at) => word !== pair && words[at + 1] !== pair && word !== `--input=${pair}`)
}

/** Of values that are JSON. */
const examples: { readonly [type: string]: string } = { array: '[…]', object: '{…}' }

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

type Plain = Exclude<NextAction, 'give' | 'import' | 'fork'>

const typed: { readonly [A in Plain]: (next: NextStep<A>) => Typed } = {
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
  // asks at a terminal; with one of the decisions in it, somebody would give that as the answer
  answer: ({ runId, question }) => ({ words: ['answer'], values: [runId, question] }),
  invalidate: ({ runId, task }) => ({ words: ['invalidate'], values: [runId, task] }),
  cancel: ({ runId }) => ({ words: ['cancel'], values: [runId] }),
  delete: ({ runId }) => ({ words: ['delete'], values: [runId] }),
  requeue: ({ runId }) => ({ words: ['requeue'], values: [runId] }),
  show: ({ runId }) => ({ words: ['show'], values: [runId] }),
  runs: () => ({ words: ['runs'] }),
  kickoff: () => ({ words: ['run'], takes: 'crew' }),
  backtest: ({ task, id }) => ({ words: ['backtest', '-t', task, '--id', id], takes: 'crew' }),
  // for whoever may run it
  migrate: () => ({ words: ['migrate', '--print'] }),
}

function typedFor<A extends Plain>(next: NextStep<A>): Typed {
  return typed[next.act](next)
}

/** Where nobody has said it and no usual place has one, a file has to be put in. */
function fileWords(command: string, given: string | undefined): string[] {
  if (given === undefined && hasUsualFile()) return []
  const file = given === undefined ? '<file>' : shellWord(given)
  return takesFile(command) ? [file] : ['--file', file]
}

/** Whether the file of the crew is an argument of the command; of others it is an option. */
export function takesFile(command: string): boolean {
  return ['run', 'enqueue', 'worker', 'schedule', 'check', 'doctor', 'studio'].includes(command)
}

function hasUsualFile(): boolean {
  return usualFileHere() !== undefined
}

/** Its whole path; empty when package.json is wrong, which is said by the command that needs it. */
function usualFileHere(): string | undefined {
  try {
    const file = usualFile()
    return file === undefined ? undefined : resolve(file)
  } catch {
    return ''
  }
}

function flag(name: string, value: string | undefined): string[] {
  return wordsFor(name, value).map(shellWord)
}

function wordsFor(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value]
}

/** `script`: what Node was given to run, links not followed; a name alone stands for the installed command. */
export function runnerOf(script: string): string {
  if (!script.includes(sep)) return script
  if (script.split(sep).includes('node_modules')) return 'npx reprise'
  // a link in a folder of commands
  if (realpathSync(script) !== resolve(script)) return 'reprise'
  // a checkout of this project
  if (environment().npmScript === 'reprise') return 'npm run -s reprise --'
  return ['node', ...process.execArgv, script].map(shellWord).join(' ')
}
