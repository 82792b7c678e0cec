// Paths: where in a run something happened. `note#2` is the second attempt at the task note, `note#2/3` its third model
// turn, and `note#2/3.0` the first tool call of that turn. Delegated work nests: `note#2/3.0/analyst#1/1`.
import { describe, hiddenCharacters } from '../base/options.ts'

export function attemptPath(task: string, number: number, under?: string): string {
  return `${under === undefined ? '' : `${under}/`}${task}#${number}`
}

export function turnPath(attempt: string, turn: number): string {
  return `${attempt}/${turn}`
}

export function callPath(turn: string, index: number): string {
  return `${turn}.${index}`
}

/** The only call of a function task's attempt: the function itself. */
export function functionCallPath(attempt: string): string {
  return callPath(turnPath(attempt, 1), 0)
}

/** The attempt of a turn, or the turn of a call: `note#2` for `note#2/3`, `note#2/3` for `note#2/3.0`. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf('/')
  const dot = path.lastIndexOf('.')
  // task names may also contain dots
  if (dot > slash && /^\d+\.\d+$/.test(path.slice(slash + 1))) return path.slice(0, dot)
  return path.slice(0, Math.max(0, slash))
}

/** Whether an attempt is part of a step of another attempt: a delegation, a judge, a kickoff by a function. */
export function isNestedAttempt(attempt: string): boolean {
  return attempt.includes('/')
}

/** The outermost attempt: `note#2` for `note#2/3.0/analyst#1`. */
export function rootAttempt(path: string): string {
  const slash = path.indexOf('/')
  return slash < 0 ? path : path.slice(0, slash)
}

/** The attempts on a path, outermost first: `note#2` and `note#2/3.0/analyst#1`. */
export function attemptsOnPath(path: string): string[] {
  const parts = path.split('/')
  return parts.flatMap((part, index) => (part.includes('#') ? parts.slice(0, index + 1).join('/') : []))
}

/** The task at the root of a path. */
export function taskInPath(path: string): string {
  const first = rootAttempt(path)
  const hash = first.lastIndexOf('#')
  return hash < 0 ? first : first.slice(0, hash)
}

/** The number of an attempt, from its path. */
export function attemptNumber(path: string): number {
  return Number(path.slice(path.lastIndexOf('#') + 1))
}

/**
 * The address of a child run in its parent: `research` for `research#1`, `chapters/intro` for `chapters#2/1.0/intro#1`.
 */
export function childAddress(task: string, attempt: string): string {
  return [task, ...attemptsOnPath(attempt).slice(1).map(childName)].join('/')
}

/** The name of a kickoff by a function: `intro` for `chapters#2/1.0/intro#1`. */
export function childName(attempt: string): string {
  return attempt.slice(attempt.lastIndexOf('/') + 1, attempt.lastIndexOf('#'))
}

/**
 * The id of a child run: `claim-1/settle#1` for a nested crew, `book-1/chapters#1/1.0/intro#1` for a kickoff by a
 * function. It begins with its parent's id, so that a run tree stays together when it is copied or imported under
 * another id.
 */
export function childRunId(run: string, attempt: string): string {
  return `${run}/${attempt}`
}

/** The id of the run that continues the run of a flow: `chat~2` after `chat`, `chat~3` after `chat~2`. */
export function nextRunId(run: string): string {
  const [, base = run, number = '1'] = /^(.*)~(\d+)$/s.exec(run) ?? []
  return `${base}~${Number(number) + 1}`
}

/** The run that this one may continue: `chat` for `chat~2`. Undefined if its id is not that of a continuation. */
export function previousRunId(run: string): string | undefined {
  const [, base, number] = /^(.+)~(\d+)$/s.exec(run) ?? []
  if (base === undefined || Number(number) < 2) return undefined
  return Number(number) === 2 ? base : `${base}~${Number(number) - 1}`
}

/** The end of a child run's id: `/settle#1`, `/chapters#1/1.0/intro#1`. */
const childEnding = /\/[^/#]+#\d+(\/\d+\.\d+\/[^/#]+#\d+)*$/

/** The parent of a child run: `claim-1` for `claim-1/settle#1`. Undefined for a root. */
export function parentRunId(run: string): string | undefined {
  const ending = childEnding.exec(run)
  return ending && ending.index > 0 ? run.slice(0, ending.index) : undefined
}

/** The root of a run's tree: `claim-1` for `claim-1/settle#1/pay#2`. A root is its own root. */
export function rootRunId(run: string): string {
  const parent = parentRunId(run)
  return parent === undefined ? run : rootRunId(parent)
}

/** Whether a run is the other run or a descendant of it. */
export function isInTreeOf(run: string, other: string): boolean {
  if (run === other) return true
  const parent = parentRunId(run)
  return parent !== undefined && isInTreeOf(parent, other)
}

/** The name of an item of a task: `chapter[c7]`. */
export function itemName(task: string, key: string): string {
  return `${task}[${key}]`
}

/** The task in the name of an item: `chapter` for `chapter[c7]`. Undefined for other names. */
export function taskOfItem(name: string): string | undefined {
  return /^([^]+)\[[^[\]]+\]$/.exec(name)?.[1]
}

/** What is wrong with a name: it may contain no invisible characters, nor any with a meaning in paths. */
export function nameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'is empty'
  if (name.length > 100) return 'is longer than 100 characters'
  // stores use UTF-8, which has no lone surrogates: the name would be read back as another one
  if (!name.isWellFormed()) return 'contains a lone surrogate'
  const bad = /[/#]/.exec(name) ?? hiddenCharacters.exec(name)
  return bad ? `contains ${describe(bad[0])}` : undefined
}

/** The name of a step without its key. */
export function groupName(step: string): string {
  const bracket = step.indexOf('[')
  return bracket > 0 ? step.slice(0, bracket) : step
}

/** The key of a step as it is written in its name. Undefined for a step without one. */
export function keyOf(step: string): string | undefined {
  const group = groupName(step)
  return group === step ? undefined : step.slice(group.length + 1, -1)
}

/** Names of tasks and steps for a sentence, with one name for more than three keys: `list, pay (60 keys), save`. */
export function namesByGroup(names: readonly string[]): string[] {
  const groups = Map.groupBy(names, groupName)
  return [...groups].flatMap(([group, steps]) => (steps.length > 3 ? [`${group} (${steps.length} keys)`] : steps))
}

/** Joins successive rows that differ only in the key of a step or item. Their `label` says how many keys there are. */
export function joinKeys<Row extends { readonly name: string }>(
  rows: readonly Row[],
  wordsOf: (row: Row) => string,
): (Row & { readonly label: string })[] {
  const joined: { row: Row; words: string; names: string[] }[] = []
  for (const row of rows) {
    const words = `${groupName(row.name)} ${wordsOf(row)}`
    const last = joined.at(-1)
    if (last?.words === words) last.names.push(row.name)
    else joined.push({ row, words, names: [row.name] })
  }
  return joined.flatMap(({ row, names }) => namesByGroup(names).map((label) => ({ ...row, label })))
}
