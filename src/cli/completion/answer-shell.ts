// `reprise complete -- <words>`, which shells call while somebody types: it never says what went wrong, never asks, and
// makes no store.
import { createProgram } from '../program.ts'
import { plain } from '../../text/plain-text.ts'
import { complete } from './complete.ts'

/** One line for each candidate: its value, a tab, a note. */
export async function answerShell(words: readonly string[]): Promise<string> {
  const { write } = process.stdout
  try {
    // what a crew's file prints while it is loaded, for the store that it names, isn't a candidate
    process.stdout.write = () => true
    const found = await complete(await createProgram(() => {}), words)
    if (found === 'files') return ':files\n'
    // what cannot stand on a command line as it is cannot be typed either
    const typable = found.filter(({ value }) => plain(value) === value && !/[\n\t]/.test(value))
    return typable
      .map(({ value, note = '' }) => `${value}\t${plain(note).replaceAll(/\s+/g, ' ').slice(0, 80)}\n`)
      .join('')
  } catch {
    return ''
  } finally {
    process.stdout.write = write
  }
}
