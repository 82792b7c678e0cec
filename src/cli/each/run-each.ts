// `reprise run --each`: a run for each line of a file. Repeating the command does what is left: without --id, the id of
// a run is derived from its crew and inputs, so that lines can move; with --id, from the number of its line.
import type { Crew } from '../../crew/crew.ts'
import type { InputValue } from '../../crew/arguments/run-inputs.ts'
import { openCrewStore, setAdvice } from '../../crew/open-crew.ts'
import type { ForEachResult } from '../../crew/verbs/for-each.ts'
import { defined } from '../../base/options.ts'
import { fileGiven } from '../options.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import { exitCodes, type ExitCode, UsageError } from '../exit-codes.ts'
import { findOptionalTask } from '../find/find-task.ts'
import { loadCrew } from '../find/load-crew.ts'
import { locateStore } from '../find/open-runs.ts'
import { readInputs, readText } from '../input/inputs.ts'
import type { Invocation } from '../command.ts'
import { openBatch } from './batch.ts'
import {
  countWord,
  printRunOutcome,
  recordOutcome,
  recordPending,
  printSum,
  outcomeWord,
  type Counts,
} from './batch-end.ts'
import { observeStore } from '../live/progress.ts'
import { stopOnInterrupt } from '../execute.ts'
import type { RunOptions } from '../commands/run.ts'
import { messageOf } from '../../base/errors.ts'

export async function runEach(invocation: Invocation<RunOptions>, file: string): Promise<ExitCode> {
  const { terminal, args, options, commands } = invocation
  const lines = await readInputLines(file)
  const found = await loadCrew(fileGiven(args[0], options), options.crew)
  const list = usedInputs(invocation, found, lines, sourceName(file)).map(inputsWith(options))
  const through = await findOptionalTask(found, options.through)
  commands.setStore(locateStore(found.store, commands.file))
  setAdvice(commands.advice)
  const store = await openCrewStore(options.store ?? found.store)
  const ids = runIds(found, lines, options.id)
  using interrupt = stopOnInterrupt(terminal.err)
  const counts: Counts = new Map()
  let sum
  try {
    using batch = openBatch(terminal, { store, prices: found.prices, total: lines.length, findName: ids.nameOf })
    const observed = observeStore(store, (entry, run) => batch.onEntry(entry, run))
    const onResult = async (result: ForEachResult, index: number): Promise<void> => {
      await observed.delivered()
      const run = batch.onEnd(result.runId)
      const line = { number: lines[index]?.number ?? 0, widths: ids.widths(), run }
      countWord(counts, outcomeWord(result, run))
      printRunOutcome(terminal, line, result)
      if (terminal.json) await recordOutcome(terminal, store, line, result)
    }
    const { concurrency } = options
    const nameOf = (index: number): string => `line ${lines[index]?.number} of ${sourceName(file)}`
    const given = { id: ids.make, signal: interrupt.signal, nameOf, onResult, ...defined({ concurrency, through }) }
    const results = await found.with({ store: observed.store }).kickoffForEach(list, given)
    for (const [index, result] of results.entries()) {
      if (result.status !== 'pending') continue
      countWord(counts, 'not started')
      if (terminal.json) recordPending(terminal, lines[index]?.number ?? 0, result)
    }
    sum = batch.sum()
  } finally {
    await store.close()
  }
  printSum(invocation, counts, sum)
  return batchExitCode(counts)
}

/** A line's own inputs override those of --inputs, and --input overrides both. */
function inputsWith({ inputs, input }: RunOptions): (line: InputLine['inputs']) => InputLine['inputs'] {
  const shared = readInputs(defined({ inputs }))
  const typed = readInputs(defined({ input }))
  return (line) => ({ ...shared, ...line, ...typed }) as InputLine['inputs']
}

/** Leaves out, with a warning, inputs that the crew doesn't use: files from elsewhere often have more fields. */
function usedInputs(
  { terminal }: Invocation<RunOptions>,
  crew: Crew,
  lines: readonly InputLine[],
  place: string,
): InputLine['inputs'][] {
  const { inputs: names, anyInput } = crew.describe()
  if (anyInput) return lines.map(({ inputs }) => inputs)
  const unused = [...new Set(lines.flatMap(({ inputs }) => Object.keys(inputs)))].filter(
    (name) => !names.includes(name),
  )
  if (unused.length > 0)
    terminal.err.line(`warning: crew ${crew.name} has no input ${unused.join(', ')}; left out of the lines of ${place}`)
  return lines.map(({ inputs }) => Object.fromEntries(Object.entries(inputs).filter(([name]) => names.includes(name))))
}

/** Makes the ids of the runs, and finds the line of an id. */
function runIds(crew: Crew, lines: readonly InputLine[], id: string | undefined) {
  const names = new Map<string, string>()
  const repeats = new Map<string, number>()
  let widest = 0
  const derivedId = (inputs: { readonly [name: string]: Json }): string => {
    const hash = digest([crew.name, inputs]).replaceAll(/[-_]/g, '').toLowerCase().slice(0, 12)
    const count = (repeats.get(hash) ?? 0) + 1
    repeats.set(hash, count)
    return `each-${hash}${count === 1 ? '' : `-${count}`}`
  }
  return {
    nameOf: (runId: string) => names.get(runId),
    widths: () => ({
      number: String(lines.at(-1)?.number).length,
      id: widest,
    }),
    make(inputs: { readonly [name: string]: Json }, index: number): string {
      const number = lines[index]?.number ?? 0
      const runId = id === undefined ? derivedId(inputs) : `${id}-${number}`
      names.set(runId, `line ${number}`)
      widest = Math.max(widest, runId.length)
      return runId
    },
  }
}

/** The most urgent outcome decides. */
function batchExitCode(counts: Counts): ExitCode {
  const any = (...words: readonly string[]): boolean => words.some((word) => counts.has(word))
  if (any('failed', 'cancelled')) return exitCodes.failed
  if (any('held')) return exitCodes.held
  return any('waiting', 'stopped', 'not started') ? exitCodes.suspended : exitCodes.done
}

interface InputLine {
  /** From 1, as an editor shows it. */
  readonly number: number
  readonly inputs: { readonly [name: string]: InputValue }
}

const maxNamed = 5

/** Rejects with a UsageError that names the lines that are not objects. */
async function readInputLines(file: string): Promise<InputLine[]> {
  const text = file === '-' ? await standardInput() : readText(file, '--each', 'name an existing file')
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
  const more = wrong.length > maxNamed ? `; and ${wrong.length - maxNamed} more` : ''
  const words = `${sourceName(file)}: ${wrong.slice(0, maxNamed).join('; ')}${more}`
  throw new UsageError(`${words}; write one object of inputs on each line: { "name": value, … }`)
}

/** `claims.jsonl`, or `the standard input`. */
function sourceName(file: string): string {
  return file === '-' ? 'the standard input' : file
}

/** Returns the object, or what is wrong with the line. */
function parseLine(line: string): InputLine['inputs'] | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    return `is not JSON (${messageOf(error)})`
  }
  if (typeof value !== 'object' || value === null) return `is ${JSON.stringify(value).slice(0, 40)}`
  return Array.isArray(value) ? 'is a list' : (value as InputLine['inputs'])
}

async function standardInput(): Promise<string> {
  const chunks: string[] = []
  for await (const chunk of process.stdin.setEncoding('utf8')) chunks.push(chunk as string)
  return chunks.join('')
}
