// Options that several commands share, and the parsers of their values.
import { InvalidArgumentError, Option, type Command as Program } from 'commander'
import { runViewStatuses } from '../runs/status.ts'
import { userInfo } from 'node:os'
import { defined } from '../base/options.ts'
import type { TaskDecisionOptions } from '../crew/verbs/shared-options.ts'
import { fullName } from './command.ts'
import { UsageError } from './exit-codes.ts'

export const runArgument = 'id of the run, the beginning of its id, or latest'
export const taskArgument = 'name or id of the task'
export const fileArgument =
  'the module that exports the crew (default: "reprise.crew" in package.json, crew.ts or src/crew.ts)'
export const crewOption = 'which of several crews in the file, by its export or its name'
export const signerOption = 'who signs this (default: your login name)'
export const timeOption = 'created at this time or later: 2026-01-31, 2026-01-31T12:00, or an age such as 12h or 30d'
export const statuses: readonly string[] = Object.keys(runViewStatuses)

export function withCrew(command: Program): Program {
  return command.option('--file <file>', fileArgument).option('--crew <crew>', crewOption)
}

/** Returns the file of the crew, for commands that take it as their argument or as `--file`. */
export function fileGiven(argument: string | undefined, { file }: { readonly file?: string }): string | undefined {
  if (argument !== undefined && file !== undefined)
    throw new UsageError(`the file of the crew is given twice, ${argument} and --file ${file}; give one`)
  return argument ?? file
}

export const storeFileArgument = 'the module that exports the crew, whose store is used'

/** For commands that need a crew's store but not its code. */
export function withStore(command: Program): Program {
  const stored = command.option('--file <file>', storeFileArgument)
  return withRemoved(stored, '--crew <name>', 'it needs no crew; leave it out')
}

export function withInputs(command: Program): Program {
  return command
    .option(
      '--input <pair>',
      'name=text, name=@file (its text), name@=file (the file itself) or name:=json (repeatable)',
      collect,
    )
    .option('--inputs <file>', 'a JSON file with an object of inputs; --input overrides it')
}

/** Adds the options that decide about recorded tasks that the crew no longer has. */
export function withDecisions(command: Program): Program {
  return command
    .option('--renamed <old=new>', 'a task was renamed (repeatable)', collect)
    .option('--removed <task>', 'give up a task, with its questions and child runs (repeatable)', collect)
}

export function effectsOption(): Option {
  const words = 'what to do with the once calls of the old run (default: reuse)'
  return new Option('--effects <policy>', words).choices(['reuse', 'again', 'ask'])
}

export function onlyOption(): Option {
  return new Option('--only <which>', 'execute only the tasks that depend on the task').choices(['descendants'])
}

export function retryOption(): Option {
  const words = 'execute failed tasks, tasks skipped because of them, and the tasks that depend on either'
  return new Option('--retry <which>', words).choices(['failed'])
}

export function staleOption(fallback: string): Option {
  const words = `what to do with outdated outputs (default: ${fallback})`
  return new Option('--stale <policy>', words).choices(['keep', 'rerun', 'refuse'])
}

export function changedOption(): Option {
  const words = 'what to do with a started task whose code has changed (default: continue)'
  return new Option('--changed <policy>', words).choices(['restart', 'continue', 'refuse'])
}

/** `--status`, repeatable. */
export function statusesOption(fallback?: string): Option {
  const words = `one of ${statuses.join(', ')}; repeatable${fallback === undefined ? '' : ` (${fallback})`}`
  return new Option('--status <status>', words).argParser((value, before?: readonly string[]) => {
    if (statuses.includes(value)) return collect(value, before)
    throw new InvalidArgumentError(`Allowed choices are ${statuses.join(', ')}.`)
  })
}

/**
 * Adds an option that the command no longer has, to refuse it with advice: `instead`. It is refused before options that
 * the command never had.
 */
export function withRemoved(command: Program, flags: string, instead: string): Program {
  const option = new Option(flags).hideHelp()
  const words = `error: ${fullName(command)} has no option ${option.long}: ${instead}`
  return command.addOption(option).on(`option:${option.name()}`, () => command.showHelpAfterError(false).error(words))
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

export function wholeNumber(value: string): number {
  return readWholeNumber(value, 1)
}

export function wholeNumberOrZero(value: string): number {
  return readWholeNumber(value, 0)
}

function readWholeNumber(value: string, least: number): number {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : -1
  if (number >= least) return number
  throw new InvalidArgumentError(`Give a whole number, ${least} or higher.`)
}

function loginName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    // the user id of a container may have no name
    return undefined
  }
}

/** Returns the library's option `by`: the given name, else the login name. Empty without either. */
export function readSigner(by: string | undefined): { readonly by?: string } {
  const name = by ?? loginName()
  return name === undefined ? {} : { by: name }
}

interface TypedDecisions {
  readonly renamed?: readonly string[]
  readonly removed?: readonly string[]
}

export function readTaskDecisions({ renamed, removed }: TypedDecisions): TaskDecisionOptions {
  const names = renamed && Object.fromEntries(renamed.map(parseRename))
  return defined({ renamed: names, removed })
}

function parseRename(typed: string): [string, string] {
  const [old = '', now = '', ...more] = typed.split('=')
  if (old !== '' && now !== '' && more.length === 0) return [old, now]
  throw new UsageError(`--renamed ${typed} is not a pair; write --renamed old=new`)
}

const secondsPerUnit: { readonly [unit: string]: number } = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/**
 * Parses an age (`90m`, `12h`, `30d`, `2w`), a day, or a day with a time. A time without a zone is local, like every
 * printed time. Returns the time in ISO 8601, as stores compare it. Throws a UsageError that names the option.
 */
export function readMoment(option: string, text: string, now: Date = new Date()): string {
  const time = parseMoment(text.trim(), now)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new UsageError(
    `${option} is ${JSON.stringify(text)}; give an age such as 90m, 12h, 30d or 2w, or a time such as 2026-01-31 or 2026-01-31T12:00`,
  )
}

function parseMoment(text: string, now: Date): Date {
  const [, count = '', unit = ''] = /^(\d+)([mhdw])$/.exec(text) ?? []
  if (unit !== '') return new Date(now.getTime() - Number(count) * (secondsPerUnit[unit] ?? 0) * 1_000)
  // `new Date` would read a day alone as midnight in UTC
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return new Date(`${text}T00:00`)
  return new Date(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*$/.test(text) ? text : Number.NaN)
}

/** Parses a time such as `500ms`, `90s`, `2h` or `1d` into seconds. Throws a UsageError that names the option. */
export function readDuration(option: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9}(?:\.\d+)?)\s?(ms|[smhdw])$/.exec(text.trim()) ?? []
  if (unit !== '') return Number(count) * (secondsPerUnit[unit] ?? 0)
  throw new UsageError(`${option} is ${JSON.stringify(text)}; give a time such as 500ms, 90s, 10m, 2h or 1d`)
}
