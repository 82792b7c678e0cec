// Names and ids that are the same in every process. A task is known by its name; one without a name is known by its
// texts, and so becomes another task when they change.
import { createHash } from 'node:crypto'

/** A UUID (version 8: by our own rule) from words; equal words, equal id. */
export function stableId(...words: readonly string[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** A name for a task that was given none: its first words, and enough of its id to tell it from another. */
export function derivedName(description: string, id: string): string {
  const words = description.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const kept: string[] = []
  for (const word of words)
    if ([...kept, word].join('-').length <= 32) kept.push(word)
    else break
  return `${kept.join('-') || 'task'}-${id.slice(0, 4)}`
}
