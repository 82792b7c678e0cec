// A person at a terminal, for tests of prompts.
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Person } from '../../src/cli/input/ask-line.ts'

export const keys = { up: '\u001b[A', down: '\u001b[B', enter: '\r', back: '\u007f', cancel: '\u0003' }

/** The keys are pressed when the screen shows the text. */
export type Press = readonly [screen: string, ...keys: string[]]

/** A terminal whose person presses these keys in order. */
export function person(...presses: readonly Press[]): Person & { shown(): string } {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input })
  let shown = ''
  let unseen = ''
  const left = [...presses]
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    unseen += text
    const [next] = left
    if (!next || !unseen.includes(next[0])) return
    left.shift()
    unseen = ''
    void press(next.slice(1))
  })
  const press = async (sequence: readonly string[]): Promise<void> => {
    for (const key of sequence) {
      // the next prompt listens only after the previous answer
      await setImmediate()
      input.write(key)
    }
  }
  return { input: input as never, output: output as never, shown: () => shown }
}
