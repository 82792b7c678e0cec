// One line of a journal file, readable for people. A JSON entry is written as is. The store's own data on a batch is
// spliced in as "$store", before the last brace of the batch's last line, and the lines before it get "$more", so that
// a batch cut short by a crash is recognised. The first batch of a file cannot be cut short, since the file gets its
// name only afterwards: its "$store" is in the first line, so that a person may remove any other line. Removing the
// splice restores the exact bytes. An entry that isn't a JSON object in one line is written as base64.
import { runStatuses } from '../../journal/entries.ts'
import { parseObject } from '../../journal/json.ts'
import type { Batch, Line, RunRow } from '../store.ts'

/** The store's data on a batch. In `row`, null removes a field. */
export interface StoreData {
  /**
   * The number of the batch's first line, if it has several. If the earlier lines are missing, it shows that the last
   * line isn't the whole batch.
   */
  readonly from?: number
  readonly row?: { readonly [field in keyof RunRow]?: RunRow[field] | null }
  /** When the run next needs a worker, in ms by the store's clock; null: not before a message. */
  readonly due?: number | null
  readonly outputs?: readonly FileOutput[]
  readonly taken?: readonly string[]
}

export interface FileOutput {
  readonly task: string
  readonly fingerprint: string
  readonly seq: number
  /** Completion time in ms, by the store's clock unless the run was imported. */
  readonly at: number
}

export interface FileLine {
  readonly seq: number
  /** More lines of the same batch follow. */
  readonly more: boolean
  readonly store: StoreData | undefined
  readonly bytes: () => Uint8Array
}

type JsonObject = { readonly [key: string]: unknown }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The lines of a batch, each with its newline. */
export function encodeBatch(batch: Batch, store: StoreData | undefined): Buffer[] {
  const isFirst = batch.lines[0]?.seq === 1
  const carrier = isFirst ? 0 : batch.lines.length - 1
  const splice = store === undefined ? '' : `,"$store":${JSON.stringify(store)}`
  const others = isFirst ? '' : ',"$more":true'
  return batch.lines.map((line, index) => {
    const text = isPlain(line) ? line.bytes : Buffer.from(base64Form(line))
    return Buffer.concat([text.subarray(0, -1), Buffer.from(`${index === carrier ? splice : others}}\n`)])
  })
}

/** Parses a line, without its newline. Undefined for a torn or damaged line. */
export function decodeLine(bytes: Uint8Array): FileLine | undefined {
  try {
    const text = utf8.decode(bytes).trim()
    const value = parseObject(text)
    if (value === undefined || !Number.isSafeInteger(value['seq']) || Number(value['seq']) < 1) return undefined
    const store = value['$store']
    if (store !== undefined && !isStoreData(store)) return undefined
    return {
      seq: Number(value['seq']),
      more: value['$more'] === true,
      store,
      bytes: () => originalBytes(text, value),
    }
  } catch {
    return undefined
  }
}

function isStoreData(value: unknown): value is StoreData {
  if (!isObject(value)) return false
  const { from = 1, row = {}, due = null, outputs = [], taken = [] } = value
  if (!isObject(row) || !Array.isArray(outputs) || !Array.isArray(taken)) return false
  const { status = 'running', format = 1, priority = 0, ...texts } = row
  return (
    Number.isSafeInteger(from) &&
    runStatuses.some((known) => known === status) &&
    Number.isSafeInteger(format) &&
    [-1, 0, 1].some((known) => known === priority) &&
    (due === null || Number.isFinite(due)) &&
    Object.values(texts).every((text) => text === null || typeof text === 'string') &&
    outputs.every(isFileOutput) &&
    taken.every((id) => typeof id === 'string')
  )
}

function isFileOutput(value: unknown): value is FileOutput {
  if (!isObject(value)) return false
  const { task, fingerprint, seq, at } = value
  return typeof task === 'string' && typeof fingerprint === 'string' && Number.isFinite(seq) && Number.isFinite(at)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function originalBytes(text: string, value: JsonObject): Uint8Array {
  const { $store: _store, $more: _more, ...rest } = value
  if (isBase64Form(rest)) return Buffer.from(String(rest['base64']), 'base64')
  if (!hasMarkers(value)) return Buffer.from(text)
  for (const key of ['$store', '$more']) {
    const at = text.lastIndexOf(`,"${key}":`)
    if (at === -1) continue
    // the entry itself may contain the key at a deeper level: only the one at the end of the line is the splice
    const tail = parseObject(`{${text.slice(at + 1)}`)
    if (tail !== undefined && Object.keys(tail).join() === key) return Buffer.from(`${text.slice(0, at)}}`)
  }
  // a person has reformatted the line, so its exact bytes are lost anyway
  return Buffer.from(JSON.stringify(rest))
}

/** Whether the bytes can be written to the file as they are, and be read back unchanged. */
function isPlain({ seq, bytes }: Line): boolean {
  if (bytes[0] !== 0x7b || bytes.at(-1) !== 0x7d || bytes.includes(0x0a)) return false
  try {
    const value = parseObject(utf8.decode(bytes))
    return value !== undefined && value['seq'] === seq && !hasMarkers(value) && !isBase64Form(value)
  } catch {
    return false
  }
}

function base64Form({ seq, bytes }: Line): string {
  return `{"seq":${seq},"base64":"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"}`
}

function isBase64Form(value: JsonObject): boolean {
  return Object.keys(value).join() === 'seq,base64' && typeof value['base64'] === 'string'
}

function hasMarkers(value: JsonObject): boolean {
  return Object.hasOwn(value, '$store') || Object.hasOwn(value, '$more')
}
