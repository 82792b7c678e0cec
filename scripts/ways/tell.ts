// Prints for a person who watches. Only results are wrapped.
import { styleText } from 'node:util'

export function heading(text: string): void {
  console.log(`\n${styleText('bold', text)}`)
}

export function say(text: string): void {
  console.log(`   ${text}`)
}

export function aside(text: string): void {
  say(styleText('dim', `  ${text}`))
}

/** Prints a command as a user would type it, with a remark. */
export function typed(command: string, about = ''): void {
  say(styleText('cyan', `$ ${command}`))
  if (about !== '') aside(about)
}

/** Prints a result, wrapped, with its rows aligned below the first word. */
export function sayResult(text: string): void {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + word.length >= 68) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  say(`result: ${lines.join(`\n${' '.repeat(11)}`)}`)
}

/** Formats a table: numbers are right-aligned, a rule is below the head, and the last column is text. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        const isRight = column < head.length - 1 && /^[\d.]+$/.test(rows[0]?.[column] ?? '')
        return isRight ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2))
  return [line(head), rule, ...rows.map(line)].map((text) => `   ${text}`).join('\n')
}
