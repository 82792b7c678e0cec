// The width of text on a terminal. Free of Node, for the page.

/** The columns of a line: two for East Asian wide characters and emoji, one for any other character. */
export function columns(text: string): number {
  if (isAscii(text)) return text.length
  let count = 0
  for (const { segment } of segments(text)) count += columnsOf(segment)
  return count
}

/** The longest beginning of a text that fits into `width` columns. Characters are never split. */
export function cutToWidth(text: string, width: number): string {
  if (isAscii(text)) return text.slice(0, Math.max(0, width))
  let end = 0
  let used = 0
  for (const { segment } of segments(text)) {
    used += columnsOf(segment)
    if (used > width) break
    end += segment.length
  }
  return text.slice(0, end)
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /^[\u0000-\u007f]*$/.test(text)
}

/** Created when first needed, since that takes half as long as loading the whole command line. */
let segmenter: Intl.Segmenter | undefined
function segments(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u

function columnsOf(segment: string): number {
  return wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}
