// Reads an exported run without trusting it: every line must be whole, every entry must follow the previous one, every
// stored value must match its hash, and the last line must match the counts and the hash of everything before it.
import { parseObject } from '../../journal/json.ts'
import { createHash } from 'node:crypto'
import type { Entry } from '../../journal/entries.ts'
import { hashBytes } from '../../journal/hash.ts'
import { isInTreeOf, nextRunId } from '../../journal/paths.ts'
import { otherFormat } from '../../journal/check/check-entry.ts'
import { describe } from '../../base/options.ts'
import { damaged } from '../../read/read-run.ts'
import type { Blob, Line, Message } from '../../stores/store.ts'
import {
  exportFormat,
  exportVersion,
  followChain,
  type Chain,
  type ExportHeader,
  type ExportTrailer,
} from './export-format.ts'

export interface ExportedRun {
  readonly run: string
  readonly lines: readonly Line[]
  readonly blobs: readonly Blob[]
  /** Unrecorded messages. */
  readonly messages: readonly Message[]
}

/** A root, then its child runs. */
export type ExportedTree = readonly [ExportedRun, ...ExportedRun[]]

type JsonObject = { readonly [key: string]: unknown }
const advice = 'export the run again, or use another copy'
const importThere = 'import it with the build of Reprise that wrote it'

/**
 * Returns the runs that continue one another, oldest first, each followed by its child runs. The text comes in pieces
 * of any size. Rejects with JOURNAL_DAMAGED, naming the first fault; the message calls the text `name`.
 */
export async function readExport(
  chunks: AsyncIterable<string> | Iterable<string>,
  name: string,
): Promise<[ExportedTree, ...ExportedTree[]]> {
  const hash = createHash('sha256')
  const runs: PartialRun[] = []
  const trees: [PartialRun, ...PartialRun[]][] = []
  let header: ExportHeader | undefined
  let trailer: ExportTrailer | undefined
  for await (const { text, number, whole } of textLines(chunks)) {
    const where = `line ${number} of ${name}`
    if (trailer) throw damaged(`${where} comes after its last line`, advice)
    const value = parseObject(text)
    if (!value) throw damaged(whole ? `${where} is not JSON` : `${name} is cut off in line ${number}`, advice)
    const current = runs.at(-1)
    const tree = trees.at(-1)
    if (!header || !current || !tree) {
      header = readHeader(value, name)
      const first = emptyRun(header.run, name)
      runs.push(first)
      trees.push([first])
    } else if ('seq' in value) {
      if (current.blobs.length > 0) throw damaged(`${where} is an entry after the stored values`, advice)
      const bytes = Buffer.from(text)
      current.chain.next(value as unknown as Entry, bytes)
      current.lines.push({ seq: Number(value['seq']), bytes })
    } else if ('blob' in value) current.blobs.push(readBlob(value, where))
    else if ('message' in value) current.messages.push(readMessage(value, where))
    else if ('within' in value) {
      const child = readWithin(value, tree[0].run, runs, where)
      runs.push(child)
      tree.push(child)
    } else if ('next' in value) {
      const next = readNext(value, tree[0].run, where)
      runs.push(next)
      trees.push([next])
    } else if ('sha256' in value) trailer = value as unknown as ExportTrailer
    else throw damaged(`${where} is neither an entry, a stored value nor a message`, advice)
    if (!trailer) hash.update(`${text}\n`)
  }
  const [first, ...others] = trees
  if (!first) throw damaged(`${name} is empty`, advice)
  const entries = runs.reduce((sum, one) => sum + one.lines.length, 0)
  if (!trailer) throw damaged(`${name} is cut off after entry ${entries}: its last line is missing`, advice)
  const empty = runs.find((one) => one.chain.end() === 0)
  if (empty) throw damaged(`${name} has no entries of run ${empty.run}`, advice)
  checkCount(name, 'runs', trailer.runs, runs.length)
  checkCount(name, 'entries', trailer.entries, entries)
  checkCount(
    name,
    'stored values',
    trailer.blobs,
    runs.reduce((sum, one) => sum + one.blobs.length, 0),
  )
  const sha256 = hash.digest('hex')
  if (trailer.sha256 !== sha256) {
    throw damaged(`${name} was changed: its SHA-256 is ${sha256}, but its last line says ${trailer.sha256}`, advice)
  }
  return [first, ...others]
}

/** A run while it is being read. */
interface PartialRun extends ExportedRun {
  readonly lines: Line[]
  readonly blobs: Blob[]
  readonly messages: Message[]
  readonly chain: Chain
}

function emptyRun(run: string, name: string): PartialRun {
  return { run, lines: [], blobs: [], messages: [], chain: followChain(name, advice) }
}

function readWithin({ within }: JsonObject, root: string, runs: readonly PartialRun[], where: string): PartialRun {
  const fits = typeof within === 'string' && within !== root && isInTreeOf(within, root)
  if (!fits) throw damaged(`${where} names ${describe(within)}, which is not a child run of run ${root}`, advice)
  if (runs.some(({ run }) => run === within)) throw damaged(`${where} names run ${within} a second time`, advice)
  return emptyRun(within, `run ${within} in it`)
}

function readNext({ next }: JsonObject, before: string, where: string): PartialRun {
  if (typeof next === 'string' && next === nextRunId(before)) return emptyRun(next, `run ${next} in it`)
  throw damaged(`${where} names ${describe(next)}, which does not continue run ${before}`, advice)
}

function readHeader(value: JsonObject, name: string): ExportHeader {
  const { format, version, run, crew } = value
  if (format !== exportFormat)
    throw damaged(`${name} isn't an exported run of Reprise`, 'give a file written by export')
  if (version !== exportVersion) throw otherFormat(name, version, exportVersion, importThere)
  const named = typeof run === 'string' && run !== '' && !/[\u0000-\u001f\u007f]/.test(run)
  if (!named || typeof crew !== 'string') throw damaged(`line 1 of ${name} does not name its run`, advice)
  return value as unknown as ExportHeader
}

function readBlob({ blob, base64 }: JsonObject, where: string): Blob {
  const bytes = Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64')
  const hash = hashBytes(bytes)
  if (hash !== blob) throw damaged(`the stored value in ${where} does not match its hash`, advice)
  return { hash, bytes }
}

function readMessage({ message }: JsonObject, where: string): Message {
  const { id, at, body } = (message ?? {}) as JsonObject
  if (typeof id === 'string' && typeof at === 'string' && typeof body === 'string') return { id, at, body }
  throw damaged(`the message in ${where} lacks its id, time or body`, advice)
}

function checkCount(name: string, what: string, expected: number, found: number): void {
  if (expected !== found) throw damaged(`${name} has ${found} ${what}, but its last line says ${expected}`, advice)
}

interface TextLine {
  readonly text: string
  /** Counted from 1. */
  readonly number: number
  /** It ends with a newline. */
  readonly whole: boolean
}

async function* textLines(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<TextLine> {
  let number = 0
  let unfinished: string[] = []
  for await (const chunk of chunks) {
    const parts = chunk.split('\n')
    // pieces are joined once, at the end of the line: there may be thousands
    unfinished.push(parts[0] as string)
    for (const part of parts.slice(1)) {
      yield { text: unfinished.join(''), number: ++number, whole: true }
      unfinished = [part]
    }
  }
  const rest = unfinished.join('')
  if (rest !== '') yield { text: rest, number: ++number, whole: false }
}
