// Inputs as they are typed: `name=text`, `name=@file` for a file's text, `name@=file` for the file itself, `name:=json`
// for other values.
import { readFileSync } from 'node:fs'
import { file as inputFile } from '../../crew/file.ts'
import { messageOf } from '../../base/errors.ts'
import { UsageError } from '../exit-codes.ts'

export interface InputOptions {
  readonly input?: readonly string[]
  readonly inputs?: string
}

/** Undefined without inputs: an existing run then keeps its own. */
export function readInputs({ input = [], inputs }: InputOptions): { readonly [name: string]: unknown } | undefined {
  if (inputs === undefined && input.length === 0) return undefined
  const fromFile = inputs === undefined ? {} : readObject(inputs)
  return Object.fromEntries([...Object.entries(fromFile), ...input.map(parsePair)])
}

/** A usage error that names the option if the text is not JSON. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new UsageError(`${what} is not JSON (${messageOf(error)}); a text is JSON in quotes: '"text"'`)
  }
}

const atHint = `a text that begins with @ is given as name:='"@…"'`

/** The name and value of `name=text` and its variants. */
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
  const value = parseJson(readText(file, '--inputs', 'name a file that is there'), `--inputs ${file}`)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError(`--inputs ${file} holds no object; write { "name": value, … } into it`)
}

/** A usage error that names the option if the file cannot be read. */
export function readText(file: string, what: string, hint: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${what} names a file that cannot be read: ${messageOf(error)}; ${hint}`)
  }
}
