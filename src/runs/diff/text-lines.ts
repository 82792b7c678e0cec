// Changed texts and values as lines with - and +. Long equal stretches are cut, between lines and within them.
import { columns, cutToWidth } from '../../text/columns.ts'
import { plural } from '../../text/words.ts'
import { markedLines, noteLines, sameLine, type DiffLine } from './diff-lines.ts'
import { type TextDiff, type TextPart, textDiff, type WordPart } from './text-diff.ts'
import type { JsonChange } from './json-changes.ts'

/** The most added or removed lines of a stretch, and printed lines of a text. `RunDiff` has the rest. */
const stretchLimit = 20
const textLimit = 120

/** The lines of a text diff, with `context` equal lines around each change. */
export function textLines({ parts, coarse }: TextDiff, context: number, limit: number = stretchLimit): DiffLine[] {
  const lines: DiffLine[] = coarse ? noteLines('too many changes to compare line by line') : []
  for (const [index, part] of parts.entries()) {
    if (lines.length > textLimit) {
      const left = parts.slice(index).filter(({ kind }) => kind !== 'same').length
      return left === 0 ? lines : [...lines, ...noteLines(`⋮ ${plural(left, 'more change')}`)]
    }
    lines.push(...partLines(part, limit, index === 0 ? 0 : context, index === parts.length - 1 ? 0 : context))
  }
  return lines
}

function partLines(part: TextPart, limit: number, before: number, after: number): DiffLine[] {
  switch (part.kind) {
    case 'same':
      return sameLines(part.lines, before, after)
    case 'changed':
      return [
        ...markedLines('removed', changedLine(part.words, 'removed')),
        ...markedLines('added', changedLine(part.words, 'added')),
      ]
    case 'removed':
    case 'added': {
      const { kind, lines } = part
      const left = lines.length - limit
      const shown = lines.slice(0, limit).flatMap((line) => markedLines(kind, line))
      return left > 0 ? [...shown, ...noteLines(`⋮ ${plural(left, `more ${kind} line`)}`)] : shown
    }
  }
}

function sameLines(lines: readonly string[], before: number, after: number): DiffLine[] {
  const left = lines.length - before - after
  // the note takes a line too
  if (left <= 1) return lines.map(sameLine)
  const end = lines.slice(lines.length - after)
  return [...lines.slice(0, before).map(sameLine), ...noteLines(`⋮ ${left} equal lines`), ...end.map(sameLine)]
}

/** One side of a changed line: all of it if it is short, or else each change with the words around it. */
function changedLine(words: readonly WordPart[], kind: 'removed' | 'added'): string {
  const parts = words.filter((part) => part.kind === 'same' || part.kind === kind)
  const whole = parts.map((part) => part.text).join('')
  if (columns(whole) <= 150) return whole
  return words
    .map((part, index) => {
      if (part.kind !== 'same') return part.kind === kind ? part.text : ''
      const [start, end] = [index > 0 ? firstPart(part.text) : '', index < words.length - 1 ? lastPart(part.text) : '']
      // a non-breaking space, so that no line starts with a lone …
      return start.length + end.length + 10 >= part.text.length
        ? part.text
        : `${start.replace(/ $/, '\u00a0')}…${end.replace(/^ /, '\u00a0')}`
    })
    .join('')
}

const wordsAround = 40
const segmenter = new Intl.Segmenter('en')

function firstPart(text: string): string {
  const start = cutToWidth(text.slice(0, wordsAround * 4), wordsAround)
  const space = start.lastIndexOf(' ')
  return space > 0 ? start.slice(0, space + 1) : start
}

function lastPart(text: string): string {
  const end = [...segmenter.segment(text.slice(-wordsAround * 4))].slice(-wordsAround).map(({ segment }) => segment)
  const tail = end.join('')
  const space = tail.indexOf(' ')
  return space >= 0 && space < tail.length - 1 ? tail.slice(space) : tail
}

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
  // long texts are compared, so that their common parts aren't shown twice
  const text = isLong(a) && isLong(b) ? textDiff(a, b) : undefined
  return text ? [...noteLines(path), ...textLines(text, context)] : [...line('removed', a), ...line('added', b)]
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && (value.length > 60 || value.includes('\n'))
}
