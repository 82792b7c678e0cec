// Inside of a line: which words changed. Words are found as Unicode has them, so that a line of Japanese is not one
// word and a family of emoji is not torn apart.
import { diffArrays } from './diff-arrays.ts'

export interface WordPart {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

const wordLimit = 400
// one language for all, so that a diff is the same on every machine
const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

/** Undefined when too many words changed for it to be worth showing. */
export function wordParts(a: string, b: string): WordPart[] | undefined {
  return diffArrays(splitWords(a), splitWords(b), { maxEditLength: wordLimit })?.map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value.join(''),
  }))
}

/** From 0, no word in common, to 1, the same words. */
export function likeness(a: string, b: string): number {
  const [wordsA, wordsB] = [plainWords(a), plainWords(b)]
  const left = new Map<string, number>()
  for (const word of wordsA) left.set(word, (left.get(word) ?? 0) + 1)
  let common = 0
  for (const word of wordsB) {
    const count = left.get(word) ?? 0
    if (count > 0) common++
    left.set(word, count - 1)
  }
  return (2 * common) / Math.max(1, wordsA.length + wordsB.length)
}

/** Without punctuation and white space. */
function plainWords(line: string): string[] {
  return Array.from(segmenter.segment(line)).flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []))
}

/**
 * With the white space behind them: as words of their own, spaces would be kept and the words around them torn apart.
 */
function splitWords(line: string): string[] {
  const words: string[] = []
  for (const { segment } of segmenter.segment(line)) {
    if (segment.trim() === '' && words.length > 0) words.push(`${words.pop()}${segment}`)
    else words.push(segment)
  }
  return words
}
