// The changes between two texts: by lines, and by words within similar lines. The work is limited, since comparing two
// large texts with nothing in common must not take minutes.
import { diffArrays } from './diff-arrays.ts'

export interface TextDiff {
  /** In order. `same` and `removed` have lines of a, `added` has lines of b, and `changed` has both. */
  readonly parts: readonly TextPart[]
  /**
   * There were too many changes to compare by lines: everything between the equal start and the equal end counts as
   * replaced.
   */
  readonly coarse?: true
}

export type TextPart =
  | { readonly kind: 'same' | 'removed' | 'added'; readonly lines: readonly string[] }
  /** A line of a that became a line of b. */
  | { readonly kind: 'changed'; readonly words: readonly WordPart[] }

/** The most added and removed lines. Comparing takes quadratic time: a tenth of a second at this limit. */
const lineLimit = 1_000
/**
 * The limits of a stretch that is searched for pairs of similar lines: removed times added lines up to the square of
 * `pairLimit`, and this many characters.
 */
const pairLimit = 40
const pairedLength = 50_000

/**
 * Compares two texts. Undefined if they are equal. A carriage return belongs to its line; a final line feed adds an
 * empty last line.
 */
export function textDiff(a: string, b: string): TextDiff | undefined {
  if (a === b) return undefined
  const [linesA, linesB] = [splitLines(a), splitLines(b)]
  const found = diffArrays(linesA, linesB, { maxEditLength: lineLimit })
  if (!found) return { parts: replacedLines(linesA, linesB), coarse: true }
  const parts: TextPart[] = []
  const [removed, added]: [string[], string[]] = [[], []]
  const close = (): void => void parts.push(...pairLines(removed.splice(0), added.splice(0)))
  for (const part of found) {
    if (part.removed) removed.push(...part.value)
    else if (part.added) added.push(...part.value)
    else {
      close()
      parts.push({ kind: 'same', lines: part.value })
    }
  }
  close()
  return { parts }
}

/** An empty text has no lines, so that all lines of the other text are added or removed. */
function splitLines(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}

/** Pairs each removed line with the next added line that is similar. */
function pairLines(removed: readonly string[], added: readonly string[]): TextPart[] {
  const length = [...removed, ...added].reduce((sum, line) => sum + line.length, 0)
  if (removed.length * added.length > pairLimit ** 2 || length > pairedLength) return block(removed, added)
  const parts: TextPart[] = []
  let [fromA, fromB] = [0, 0]
  for (const [index, line] of removed.entries()) {
    const found = added.findIndex((candidate, place) => place >= fromB && likeness(line, candidate) >= 0.5)
    const words = found < 0 ? undefined : wordParts(line, added[found] as string)
    if (!words) continue
    parts.push(...block(removed.slice(fromA, index), added.slice(fromB, found)), { kind: 'changed', words })
    fromA = index + 1
    fromB = found + 1
  }
  return [...parts, ...block(removed.slice(fromA), added.slice(fromB))]
}

function replacedLines(a: readonly string[], b: readonly string[]): TextPart[] {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const same = (lines: readonly string[]): TextPart[] => (lines.length > 0 ? [{ kind: 'same', lines }] : [])
  const middle = block(a.slice(start, a.length - end), b.slice(start, b.length - end))
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))]
}

function block(removed: readonly string[], added: readonly string[]): TextPart[] {
  return [
    ...(removed.length > 0 ? [{ kind: 'removed', lines: removed } as const] : []),
    ...(added.length > 0 ? [{ kind: 'added', lines: added } as const] : []),
  ]
}

export interface WordPart {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

const wordLimit = 400
// a fixed locale, so that a diff is the same on every machine
const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

/** Undefined if too many words changed. */
function wordParts(a: string, b: string): WordPart[] | undefined {
  return diffArrays(splitWords(a), splitWords(b), { maxEditLength: wordLimit })?.map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value.join(''),
  }))
}

/** From 0 (no words in common) to 1 (the same words). */
function likeness(a: string, b: string): number {
  const [wordsA, wordsB] = [plainWords(a), plainWords(b)]
  const unmatched = new Map<string, number>()
  for (const word of wordsA) unmatched.set(word, (unmatched.get(word) ?? 0) + 1)
  let common = 0
  for (const word of wordsB) {
    const count = unmatched.get(word) ?? 0
    if (count > 0) common++
    unmatched.set(word, count - 1)
  }
  return (2 * common) / Math.max(1, wordsA.length + wordsB.length)
}

/** The words of a line, without punctuation and white space. */
function plainWords(line: string): string[] {
  return Array.from(segmenter.segment(line)).flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []))
}

/**
 * Splits a line into words, each with the white space after it. Separate spaces would match one another, and break up
 * changed phrases.
 */
function splitWords(line: string): string[] {
  const words: string[] = []
  for (const { segment } of segmenter.segment(line)) {
    if (segment.trim() === '' && words.length > 0) words.push(`${words.pop()}${segment}`)
    else words.push(segment)
  }
  return words
}
