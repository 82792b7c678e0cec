// Builds the statement for a group of appends, with its parameters.
import { appendSql, type Parts, type Tables } from './append-sql.ts'
import {
  numberParts,
  appendColumns,
  blobColumns,
  lineColumns,
  messageColumns,
  outputColumns,
  rootNameColumns,
  listingColumns,
  Parameters,
  type Append,
} from './columns.ts'
import type { Database } from './database.ts'

export interface Statement {
  readonly text: string
  readonly values: Parameters['values']
}

/**
 * The statement returns a row for each append that was written: `n`, its place in the group counted from 1, and how
 * many messages wait.
 */
export function appendStatements(database: Database): (group: readonly Append[]) => Statement {
  /** Texts by their shape: building one takes longer than the rest of the work for a step. */
  const texts = new Map<string, string>()
  return (group) => {
    const parameters = new Parameters(database.now())
    const parts = partsOf(group)
    const tables = tablesOf(group, parts, parameters)
    const { appends: asked, lines, messages, blobs, outputs } = tables
    const shape = [...Object.values(parts), ...[asked, lines, messages, blobs, outputs].map((table) => table?.isOne)]
    const key = shape.join()
    const text = texts.get(key) ?? appendSql(database, parts, tables)
    texts.set(key, text)
    return { text, values: parameters.values }
  }
}

function partsOf(group: readonly Append[]): Parts {
  return {
    children: group.some(({ run, lease }) => run !== lease.run),
    rows: group.some(({ batch }) => batch.row !== undefined),
    taken: group.some(({ batch }) => batch.taken !== undefined && batch.taken.length > 0),
    closing: group.some(({ run, lease, batch }) => run !== lease.run && batch.row?.status === 'cancelled'),
  }
}

function tablesOf(group: readonly Append[], parts: Parts, parameters: Parameters): Tables {
  const columns = {
    ...appendColumns,
    ...(parts.children ? rootNameColumns : {}),
    ...(parts.rows ? listingColumns : {}),
  }
  const [messages, blobs, outputs] = [
    numberParts(group, ({ batch }) => batch.taken ?? []),
    numberParts(group, ({ batch }) => batch.blobs ?? []),
    numberParts(group, ({ batch }) => batch.outputs ?? []),
  ]
  const lines = numberParts(group, ({ batch }) => batch.lines)
  return {
    appends: parameters.table(group, columns),
    count: group.length === 1 ? undefined : parameters.add(group.length, 'int8'),
    lines: parameters.table(lines, lineColumns),
    messages: messages.length === 0 ? undefined : parameters.table(messages, messageColumns),
    blobs: blobs.length === 0 ? undefined : parameters.table(blobs, blobColumns),
    outputs: outputs.length === 0 ? undefined : parameters.table(outputs, outputColumns),
  }
}
