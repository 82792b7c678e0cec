// The changed words of a line. Words are found by Unicode's rules, so that a line of Japanese isn't one word and a
// family emoji isn't split.
import { diffArrays } from './diff-arrays.ts'

export interface WordPart {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

const wordLimit = 400
// one locale for all, so that a diff is the same on every machine
const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

/** Undefined if too many words changed for it to be worth showing. */
export function wordParts(a: string, b: string): WordPart[] | undefined {
  return diffArrays(splitWords(a), splitWords(b), { maxEditLength: wordLimit })?.map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value.join(''),
  }))
}

/** From 0 (no words in common) to 1 (the same words). */
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
 * Words include the white space after them. As words of their own, spaces would match and tear apart the words around
 * them.
 */
function splitWords(line: string): string[] {
  const words: string[] = []
  for (const { segment } of segmenter.segment(line)) {
    if (segment.trim() === '' && words.length > 0) words.push(`${words.pop()}${segment}`)
    else words.push(segment)
  }
  return words
}
