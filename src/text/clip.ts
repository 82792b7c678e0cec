// Shortens texts to a number of characters.

/** Keeps the beginning and the end of a text that is too long, and notes how much was left out. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text
  const head = Math.max(0, Math.floor((characters * 2) / 3))
  const tail = Math.max(0, Math.floor(characters) - head)
  const missing = ` … (${text.length - head - tail} characters left out) … `
  // toWellFormed: the cut may split a surrogate pair
  return `${text.slice(0, head).toWellFormed()}${missing}${text.slice(text.length - tail).toWellFormed()}`
}

/** Returns the limit to which each text is cut so that all fit into `characters`. Only the longest texts exceed it. */
export function longestThatFits(lengths: readonly number[], characters: number): number {
  const ascending = lengths.toSorted((a, b) => a - b)
  let remaining = characters
  for (const [index, length] of ascending.entries()) {
    const share = remaining / (ascending.length - index)
    if (length > share) return Math.max(0, Math.floor(share))
    remaining -= length
  }
  return Number.POSITIVE_INFINITY
}
