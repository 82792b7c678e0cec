// How wide a text is on a terminal, counted in what a reader sees as one character. Free of Node: the page prints too.

/** How many columns a line takes on a terminal: two for East Asian wide characters and for pictures. */
export function columns(text: string): number {
  // oxlint-disable-next-line no-control-regex
  if (/^[\u0000-\u007f]*$/.test(text)) return text.length
  let count = 0
  for (const { segment } of segmenter.segment(text)) count += columnsOf(segment)
  return count
}

/** The longest beginning of a text that fits into `width` columns; no character is cut in two. */
export function cutToWidth(text: string, width: number): string {
  let end = 0
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    used += columnsOf(segment)
    if (used > width) break
    end += segment.length
  }
  return text.slice(0, end)
}

const segmenter = new Intl.Segmenter()
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u

function columnsOf(segment: string): number {
  return wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}
