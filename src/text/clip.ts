// Shortening texts so that they fit, with a word on what is missing.

/** The beginning and the end of a text that is too long. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text
  const head = Math.max(0, Math.floor((characters * 2) / 3))
  const tail = Math.max(0, Math.floor(characters) - head)
  const missing = ` … (${text.length - head - tail} characters left out) … `
  // not in the middle of a surrogate pair
  return `${text.slice(0, head).toWellFormed()}${missing}${text.slice(text.length - tail).toWellFormed()}`
}

/** How long each text may be so that all of them fit together: only the longest are shortened. */
export function longestThatFits(lengths: readonly number[], characters: number): number {
  const ascending = lengths.toSorted((a, b) => a - b)
  let left = characters
  for (const [index, length] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (length > share) return Math.max(0, Math.floor(share))
    left -= length
  }
  return Number.POSITIVE_INFINITY
}
