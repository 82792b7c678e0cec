// The parameters of a group of appends. Each column becomes one array, so a statement has as many parameters for a
// hundred runs as for one.
import { lastEntry } from '../rules/run-record.ts'
import type { Batch, Lease, RunId } from '../store.ts'
import type { Value } from './connection.ts'
import { noticeText } from './database.ts'

// Arrays are encoded in PostgreSQL's binary format: journal lines go over the wire as they are, while a text array
// would write each byte as two characters.
const oids = { text: 25, int8: 20, bool: 16, bytea: 17 } as const
const arrayHeader = 20

type ElementType = keyof typeof oids
type Element = string | number | boolean | Uint8Array | null | undefined

export function binaryArray(type: ElementType, elements: readonly Element[]): Buffer {
  return binaryColumn(type, elements, (element) => element)
}

/** Encodes an array with one value of each item. */
export function binaryColumn<T>(type: ElementType, items: readonly T[], valueOf: (item: T) => Element): Buffer {
  const values = items.map(valueOf)
  const lengths = values.map(lengthOf)
  const array = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), arrayHeader))
  array.writeInt32BE(1, 0) // dimensions
  array.writeInt32BE(lengths.includes(nullLength) ? 1 : 0, 4)
  array.writeInt32BE(oids[type], 8)
  array.writeInt32BE(values.length, 12)
  array.writeInt32BE(1, 16) // the first index
  let at = arrayHeader
  for (const [index, value] of values.entries()) {
    const length = lengths[index] ?? nullLength
    at = array.writeInt32BE(length, at)
    if (length === nullLength) continue
    write(array, at, value)
    at += length
  }
  return array
}

/** The length that marks a null. */
const nullLength = -1

function lengthOf(element: Element): number {
  switch (typeof element) {
    case 'string':
      return Buffer.byteLength(element)
    case 'number':
      return 8
    case 'boolean':
      return 1
    default:
      return element?.length ?? nullLength
  }
}

function write(array: Buffer, at: number, element: Element): void {
  switch (typeof element) {
    case 'string':
      array.write(element, at)
      break
    case 'number': {
      const high = Math.floor(element / 2 ** 32)
      array.writeInt32BE(high, at)
      array.writeUInt32BE(element - high * 2 ** 32, at + 4)
      break
    }
    case 'boolean':
      array[at] = element ? 1 : 0
      break
    default:
      array.set(element ?? [], at)
  }
}

export interface Append {
  readonly lease: Lease
  readonly run: RunId
  readonly after: number
  readonly batch: Batch
}

type Columns<T> = { readonly [name: string]: readonly [type: ElementType, value: (item: T) => Element] }
type Part<T> = readonly [batch: number, part: T]

export const appendColumns: Columns<Append> = {
  run: ['text', ({ run }) => run],
  token: ['int8', ({ lease }) => lease.token],
  lease: ['text', ({ lease }) => lease.id],
  after: ['int8', ({ after }) => after],
  last: ['int8', ({ after, batch }) => after + batch.lines.length],
  hash: ['text', ({ batch }) => lastEntry(batch).hash],
  progress: ['bool', ({ batch }) => batch.progress ?? false],
}

export const rootNameColumns: Columns<Append> = {
  root: ['text', ({ lease }) => lease.run],
}

/** The status is null if the batch has no row. */
export const listingColumns: Columns<Append> = {
  status: ['text', ({ batch }) => batch.row?.status],
  due: ['int8', ({ batch }) => (typeof batch.due === 'number' ? Math.ceil(batch.due) : undefined)],
  due_now: ['bool', ({ batch }) => batch.due === 'now'],
  crew: ['text', ({ batch }) => batch.row?.crew],
  version: ['text', ({ batch }) => batch.row?.version],
  format: ['int8', ({ batch }) => batch.row?.format],
  priority: ['int8', ({ batch }) => batch.row?.priority],
  created_at: ['text', ({ batch }) => batch.row?.createdAt],
  updated_at: ['text', ({ batch }) => batch.row?.updatedAt],
  forked_from: ['text', ({ batch }) => batch.row?.forkedFrom],
  inputs: ['text', ({ batch }) => batch.row?.inputs],
  summary: ['text', ({ batch }) => batch.row?.summary],
  notice: ['text', ({ run, batch }) => (stopsRunning(batch) ? noticeText(run) : undefined)],
}

export const lineColumns: Columns<Part<Batch['lines'][number]>> = {
  batch: ['int8', ([batch]) => batch],
  seq: ['int8', ([, { seq }]) => seq],
  line: ['bytea', ([, { bytes }]) => bytes],
}

export const messageColumns: Columns<Part<string>> = {
  batch: ['int8', ([batch]) => batch],
  message: ['text', ([, message]) => message],
}

export const blobColumns: Columns<Part<NonNullable<Batch['blobs']>[number]>> = {
  batch: ['int8', ([batch]) => batch],
  hash: ['text', ([, { hash }]) => hash],
  bytes: ['bytea', ([, { bytes }]) => bytes],
}

export const outputColumns: Columns<Part<NonNullable<Batch['outputs']>[number]>> = {
  batch: ['int8', ([batch]) => batch],
  task: ['text', ([, { task }]) => task],
  fingerprint: ['text', ([, { fingerprint }]) => fingerprint],
  seq: ['int8', ([, { seq }]) => seq],
  completed_at: ['int8', ([, { completedAt }]) => completedAt],
}

/** Watchers poll for steps; they are notified only when a run stops being executed. */
function stopsRunning({ row }: Batch): boolean {
  return row !== undefined && row.status !== 'running' && row.status !== 'queued'
}

export function numberParts<Item, T>(group: readonly Item[], parts: (item: Item) => readonly T[]): Part<T>[] {
  return group.flatMap((item, index) => parts(item).map((part): Part<T> => [index + 1, part]))
}

/** Collects the values of a statement. The first is the clock (`nowSql`). */
export class StatementValues {
  readonly values: Value[]

  constructor(now: number | null) {
    this.values = [now]
  }

  add(value: Value, type: string): string {
    return `$${this.values.push(value)}::${type}`
  }

  /** Adds the items as a table with these columns, and with `n`, their position from 1. */
  table<T>(items: readonly T[], columns: Columns<T>): Table {
    const first = this.values.length + 1
    const [only] = items
    // the server reads plain values in half the time of arrays with one element
    const isOne = only !== undefined && items.length === 1
    for (const [type, value] of Object.values(columns))
      this.values.push(isOne ? (value(only) ?? null) : binaryColumn(type, items, value))
    return { isOne, sql: () => tableSql(columns, first, isOne) }
  }
}

/** A table whose rows are parameters. */
export interface Table {
  readonly isOne: boolean
  /** Returns the same text for the same columns, parameter numbers and `isOne`. */
  sql(): string
}

function tableSql(columns: Columns<never>, first: number, isOne: boolean): string {
  const names = Object.keys(columns)
  const values = Object.values(columns).map(([type], index) => `$${first + index}::${type}${isOne ? '' : '[]'}`)
  if (isOne) return `(select ${values.map((value, index) => `${value} as ${names[index]}`).join()}, 1::int8 as n)`
  return `(select * from unnest(${values.join()}) with ordinality as given(${[...names, 'n'].join()}))`
}
