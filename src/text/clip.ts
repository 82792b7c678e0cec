// Shortens texts, and says how much was left out.

/** Keeps the beginning and the end of a text that is too long. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text
  const head = Math.max(0, Math.floor((characters * 2) / 3))
  const tail = Math.max(0, Math.floor(characters) - head)
  const missing = ` … (${text.length - head - tail} characters left out) … `
  // toWellFormed: the cut may split a surrogate pair
  return `${text.slice(0, head).toWellFormed()}${missing}${text.slice(text.length - tail).toWellFormed()}`
}

/** The maximum length of each text with which all of them fit together. Only the longest texts are shortened. */
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
