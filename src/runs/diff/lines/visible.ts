// Foreign text on a terminal or in a log. Unlike the command line's `plain`, which drops what could steer a terminal,
// this shows it: in a diff, a character that nobody sees may be the difference.

const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\p{Surrogate}]/gu

/** On one line, with nothing that moves a cursor, starts an escape sequence or turns the direction of a text. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => {
    const code = character.charCodeAt(0)
    if (character === '\t') return '→   '
    // the pictures that Unicode has for control characters: ␛, ␍
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
