// Parses the inputs, outputs and limits of the command line: `name=text`, `name=@file` for a file's text, `name@=file`
// for the file itself, `name:=json` for other values. The output of a task with a schema is JSON, any other is text.
import { readFileSync } from 'node:fs'
import { file as inputFile } from '../../crew/file.ts'
import { messageOf } from '../../base/errors.ts'
import { UsageError } from '../exit-codes.ts'
import type { Json } from '../../journal/json.ts'
import { limitProblem } from '../../read/questions.ts'
import type { Limit } from '../../journal/entries.ts'

export interface InputOptions {
  readonly input?: readonly string[]
  readonly inputs?: string
}

/** Returns undefined if no inputs were given: an existing run then keeps its own. */
export function readInputs({ input = [], inputs }: InputOptions): { readonly [name: string]: unknown } | undefined {
  if (inputs === undefined && input.length === 0) return undefined
  const fromFile = inputs === undefined ? {} : readObject(inputs)
  return Object.fromEntries([...Object.entries(fromFile), ...input.map(parsePair)])
}

/** Throws a UsageError that names the option if the text is not JSON. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new UsageError(`${what} is not JSON (${messageOf(error)}); put text in quotes: '"text"'`)
  }
}

/** Parses JSON. Returns other text unchanged, but throws a UsageError if it begins like JSON. */
export function parseValue(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    if (!/^\s*[[{"]/.test(text)) return text
    throw new UsageError(`${what} is not JSON: ${messageOf(error)}`)
  }
}

const atHint = `write text that begins with @ as name:='"@…"'`

/** Parses `name=text` and its variants into name and value. */
export function parsePair(pair: string): [string, unknown] {
  const [, name = '', sign = '', value = ''] = /^([^=]*?)([:@]?=)(.*)$/s.exec(pair) ?? []
  if (name === '' || sign === '') {
    throw new UsageError(
      `--input is ${JSON.stringify(pair)}; write it as name=text, name=@file, name@=file or name:=json`,
    )
  }
  if (sign === ':=') return [name, parseJson(value, `--input ${name}`)]
  if (sign === '@=') return [name, inputFile(value)]
  return [name, value.startsWith('@') ? readText(value.slice(1), `--input ${name}`, atHint) : value]
}

function readObject(file: string): object {
  const value = parseJson(readText(file, '--inputs', 'name an existing file'), `--inputs ${file}`)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError(`--inputs ${file} contains no object; write { "name": value, … } into it`)
}

/** Throws a UsageError that names the option if the file cannot be read. */
export function readText(file: string, what: string, hint: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${what} names a file that cannot be read: ${messageOf(error)}; ${hint}`)
  }
}

/**
 * Parses `task=text`, `task=@file` and `task:=json` into outputs by task name. Rejects with TASK_NOT_FOUND, or with a
 * UsageError if a task is given twice.
 */
export async function readOutputs(
  find: (reference: string) => Promise<OutputTarget>,
  pairs: readonly string[] = [],
): Promise<Map<string, unknown>> {
  const outputs = new Map<string, unknown>()
  for (const pair of pairs) {
    const [, name = '', sign = '', value = ''] = /^([^=]*?)(:?=)(.*)$/s.exec(pair) ?? []
    if (name === '' || sign === '') {
      throw new UsageError(`--output is ${JSON.stringify(pair)}; write it as task=text, task=@file or task:=json`)
    }
    const task = await find(name)
    if (outputs.has(task.name)) throw new UsageError(`--output ${task.name} is given twice; give it once`)
    const what = `--output ${task.name}`
    outputs.set(task.name, sign === ':=' ? parseJson(value, what) : readOutput(task, value, what))
  }
  return outputs
}

/** A task, or a step of a flow, whose schema only the function of the flow knows. */
export interface OutputTarget {
  readonly name: string
  /** Where its present output is, if not in the run that is edited under its name. */
  readonly recorded?: { readonly run: string; readonly task: string }
  readonly schema?: unknown
  readonly forEach?: unknown
  readonly isStep?: boolean
}

/** Parses the typed text, or for `@file` the text of that file. */
export function readOutput(task: OutputTarget, typed: string, what: string): unknown {
  const hint = `put text that begins with @ into a file`
  return parseOutput(task, typed.startsWith('@') ? readText(typed.slice(1), what, hint) : typed, what)
}

export function parseOutput(task: OutputTarget, text: string, what: string): unknown {
  if (task.isStep) return parseValue(text, what)
  // the output of a task with forEach is a list
  if (!task.schema && !task.forEach) return text
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const words = `${what} is not JSON (${(error as Error).message}); task ${task.name} has a schema, so give JSON that fits it`
    throw new UsageError(words)
  }
}

/** Parses `tokens=50000,cost=2.5,seconds=600,steps=20000`, or some of these. Throws a UsageError with the option. */
export function readLimit(what: string, text: string): Limit {
  const pairs = text.split(',').map((pair): [string, number | string] => {
    const [, name = pair, value = ''] = /^([^=]*)=(.*)$/.exec(pair.trim()) ?? []
    // `limitProblem` refuses what is not a number
    return [name, value.trim() === '' || Number.isNaN(Number(value)) ? value : Number(value)]
  })
  const limit = Object.fromEntries(pairs)
  const problem = limitProblem(limit)
  if (problem === undefined) return limit
  throw new UsageError(
    `${what} ${problem}; write it as tokens=50000,cost=2.5,seconds=600,steps=20000, or some of these`,
  )
}
