// A list at a terminal, from which a person picks one row: with the arrow keys, by typing a part of it, or by its
// number. Esc and Ctrl-C pick none. The list fits the terminal, and is cleared afterwards.
import { emitKeypressEvents, type Interface } from 'node:readline'
import { styleText } from 'node:util'
import type { Person } from './ask-line.ts'
import { eraseRows } from '../output/block.ts'
import { columns, plain, shorten } from '../../text/plain-text.ts'

export interface Choice<Value> {
  readonly value: Value
  readonly label: string
  /** Shown next to the label; typing matches it too. */
  readonly note?: string
}

interface Key {
  readonly name?: string
  readonly ctrl?: boolean
  readonly meta?: boolean
  readonly sequence?: string
}

const maxRows = 12
/** How many ms to wait after an Esc, which may begin an arrow key. `emitKeypressEvents` reads no other field. */
const quickEscape = { escapeCodeTimeout: 50 } as unknown as Interface

export async function pick<Value>(
  title: string,
  choices: readonly Choice<Value>[],
  { input, output, signal }: Person,
): Promise<Value | undefined> {
  if (signal?.aborted) return undefined
  const labelWidth = Math.min(48, Math.max(0, ...choices.map((choice) => columns(plain(choice.label)))))
  const numberWidth = String(choices.length).length
  let typed = ''
  let selected = 0
  let drawnRows = 0

  const draw = (rows: readonly string[]): void => {
    output.write(`${eraseRows(drawnRows)}${rows.map((row) => `${row}\n`).join('')}`)
    drawnRows = rows.length
  }
  const list = (): void => {
    const width = Math.max(40, output.columns || 80) - 1
    const height = Math.max(3, Math.min(maxRows, (output.rows || 24) - 4))
    const found = matchChoices(choices, typed)
    const first = Math.max(0, Math.min(selected - Math.floor(height / 2), found.length - height))
    const rows = found.slice(first, first + height).map(({ index, choice }, row) => {
      const label = shorten(choice.label, labelWidth)
      const head = `${String(index + 1).padStart(numberWidth)}  ${label}${' '.repeat(labelWidth - columns(label))}`
      const note = shorten(choice.note ?? '', width - columns(head) - 4)
      const chosen = first + row === selected
      const text = `${chosen ? '>' : ' '} ${head}  ${note}`.trimEnd()
      return chosen ? styleText('cyan', text, { stream: output }) : text
    })
    const more = found.length > height ? `; ${found.length} matches` : ''
    const hint =
      found.length === 0 ? 'no match' : `arrow keys, part of a row or its number, then Enter; Esc for none${more}`
    const heading = shorten(`${title} ${typed}`, width)
    draw([heading, ...rows, styleText('dim', shorten(hint, width), { stream: output })])
  }

  return new Promise((resolve) => {
    const end = (value: Value | undefined, words: string): void => {
      input.off('keypress', onKey)
      signal?.removeEventListener('abort', cancel)
      input.setRawMode(false)
      input.pause()
      draw([shorten(`${title} ${words}`, Math.max(40, output.columns || 80) - 1)])
      resolve(value)
    }
    const cancel = (): void => end(undefined, '(none)')
    const onKey = (text: string | undefined, key: Key): void => {
      const found = matchChoices(choices, typed)
      const rows = found.length
      if (key.name === 'escape' || (key.ctrl && (key.name === 'c' || key.name === 'd'))) return cancel()
      if (key.name === 'return' || key.name === 'enter') {
        const chosen = found[selected]
        if (chosen) return end(chosen.choice.value, chosen.choice.label)
      } else if (key.name === 'up' || (key.ctrl && key.name === 'p'))
        selected = rows === 0 ? 0 : (selected + rows - 1) % rows
      else if (key.name === 'down' || (key.ctrl && key.name === 'n')) selected = rows === 0 ? 0 : (selected + 1) % rows
      else if (key.name === 'backspace') filterBy(typed.slice(0, -1))
      else if (text !== undefined && !key.ctrl && !key.meta && plain(text) !== '') filterBy(typed + plain(text))
      list()
    }
    const filterBy = (words: string): void => {
      typed = words
      // a typed number selects the row of that number, even if other rows contain it
      const numbered = matchChoices(choices, typed).findIndex(({ index }) => String(index + 1) === typed.trim())
      selected = Math.max(0, numbered)
    }
    emitKeypressEvents(input, quickEscape)
    input.setRawMode(true)
    input.on('keypress', onKey)
    signal?.addEventListener('abort', cancel)
    input.resume()
    list()
  })
}

function matchChoices<Value>(
  choices: readonly Choice<Value>[],
  typed: string,
): { readonly index: number; readonly choice: Choice<Value> }[] {
  const words = typed.trim().toLowerCase()
  const fits = ({ label, note = '' }: Choice<Value>): boolean => `${label} ${note}`.toLowerCase().includes(words)
  return choices
    .map((choice, index) => ({ index, choice }))
    .filter(({ index, choice }) => fits(choice) || String(index + 1) === words)
}
