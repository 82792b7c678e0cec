// The inputs of many runs, from a file or the standard input: JSON Lines, an object of inputs on each line. Empty lines
// are skipped, but counted.
import { messageOf } from '../../base/errors.ts'
import { UsageError } from '../exit-codes.ts'
import { readText } from '../input/inputs.ts'

export interface InputLine {
  /** From 1, as an editor shows it. */
  readonly number: number
  readonly inputs: { readonly [name: string]: unknown }
}

const mostNamed = 5

/** A usage error names the lines that are not objects. */
export async function readInputLines(file: string): Promise<InputLine[]> {
  const text = file === '-' ? await standardInput() : readText(file, '--each', 'name a file that is there')
  const lines = text.split('\n').map((line, index) => ({ number: index + 1, text: line.trim() }))
  const given = lines.filter((line) => line.text !== '')
  if (given.length === 0)
    throw new UsageError(`${sourceName(file)} has no line with inputs; write { "name": value, … } for each run`)
  const wrong: string[] = []
  const read = given.flatMap(({ number, text: line }): InputLine[] => {
    const value = parseLine(line)
    if (typeof value === 'object') return [{ number, inputs: value }]
    wrong.push(`line ${number} ${value}`)
    return []
  })
  if (wrong.length === 0) return read
  const more = wrong.length > mostNamed ? `; and ${wrong.length - mostNamed} more` : ''
  const words = `${sourceName(file)}: ${wrong.slice(0, mostNamed).join('; ')}${more}`
  throw new UsageError(`${words}; write one object of inputs on each line: { "name": value, … }`)
}

/** `claims.jsonl`, or `the standard input`. */
export function sourceName(file: string): string {
  return file === '-' ? 'the standard input' : file
}

/** The object, or the problem. */
function parseLine(line: string): { readonly [name: string]: unknown } | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    return `is not JSON (${messageOf(error)})`
  }
  if (typeof value !== 'object' || value === null) return `is ${JSON.stringify(value).slice(0, 40)}`
  return Array.isArray(value) ? 'is a list' : (value as { readonly [name: string]: unknown })
}

async function standardInput(): Promise<string> {
  const chunks: string[] = []
  for await (const chunk of process.stdin.setEncoding('utf8')) chunks.push(chunk as string)
  return chunks.join('')
}
