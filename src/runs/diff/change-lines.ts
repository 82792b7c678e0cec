// Changed JSON values as lines: the path, and the value before and after.
import { plural } from '../../text/words.ts'
import { markedLines, noteLines, type DiffLine } from './diff-lines.ts'
import type { JsonChange } from './json-changes.ts'
import { textDiff } from './text-diff.ts'
import { textLines } from './text-lines.ts'

const changeLimit = 20

export function changeLines(changes: readonly JsonChange[], context: number): DiffLine[] {
  const left = changes.length - changeLimit
  const shown = changes.slice(0, changeLimit).flatMap((change) => oneChangeLines(change, context))
  return left > 0 ? [...shown, ...noteLines(`⋮ ${plural(left, 'more change')}`)] : shown
}

function oneChangeLines(change: JsonChange, context: number): DiffLine[] {
  const { path, kind } = change
  const line = (mark: 'removed' | 'added', value: unknown): DiffLine[] =>
    markedLines(mark, `${path}: ${JSON.stringify(value)}`)
  if (kind === 'added') return line('added', change.b)
  if (kind === 'removed') return line('removed', change.a)
  const { a, b } = change
  // a long text gets a text diff, so that its beginning isn't shown twice
  const text = isLong(a) && isLong(b) ? textDiff(a, b) : undefined
  return text ? [...noteLines(path), ...textLines(text, context)] : [...line('removed', a), ...line('added', b)]
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && (value.length > 60 || value.includes('\n'))
}
