// Names and ids that are equal in every process. The identity of a task is its name; without a name, its texts, so that
// it becomes another task when they change.
import { createHash } from 'node:crypto'

/** A UUID, version 8 (custom rule), computed from words. */
export function stableId(...words: readonly string[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Name of an unnamed task: its first words, and enough of its id to make it unique. */
export function derivedName(description: string, id: string): string {
  const words = description.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const kept: string[] = []
  for (const word of words)
    if ([...kept, word].join('-').length <= 32) kept.push(word)
    else break
  return `${kept.join('-') || 'task'}-${id.slice(0, 4)}`
}
