// Text from models, tools and inputs may hold anything, also what moves a terminal's cursor, renames its window or writes its
// clipboard. Everything that is printed passes through `plain`.
import { stripVTControlCharacters } from 'node:util'

/** Without escape sequences, control characters (but line feed and tab) and the marks that turn the direction of a text. */
export function plain(text: string): string {
  const stripped = stripVTControlCharacters(text.replaceAll('\r\n', '\n'))
  // oxlint-disable-next-line no-control-regex
  return stripped.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
}

/** On one line of at most `width` columns. */
export function shorten(text: string, width: number): string {
  const line = plain(text).replaceAll(/\s+/g, ' ').trim()
  if (columns(line) <= width) return line
  let kept = ''
  let used = 0
  for (const { segment } of segmenter.segment(line)) {
    used += columnsOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** How many columns a line takes on a terminal: two for East Asian wide characters and for pictures. */
export function columns(text: string): number {
  // oxlint-disable-next-line no-control-regex
  if (/^[\u0000-\u007f]*$/.test(text)) return text.length
  let count = 0
  for (const { segment } of segmenter.segment(text)) count += columnsOf(segment)
  return count
}

const segmenter = new Intl.Segmenter()
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u

function columnsOf(segment: string): number {
  return wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}
