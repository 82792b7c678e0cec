// A program in a pseudo terminal, and what a person sees there: rows that are drawn over and erased, without colours.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface Terminal {
  /** The text on the screen, without blank lines at its ends. */
  screen(): string
  press(keys: string): void
  /** The exit code; undefined while the program runs. */
  readonly code: number | undefined
  /** Resolves when there is more on the screen, or the program has ended. */
  changed(): Promise<void>
  /** Ends the program as Ctrl-C does, or, if it doesn't listen, as closing the window does. */
  close(): Promise<void>
}

/** Requires `script` of util-linux, which every Debian has. */
export function openTerminal(
  command: string,
  cwd: string,
  env: { readonly [name: string]: string | undefined },
  columns: number,
): Terminal {
  const child: ChildProcess = spawn('script', ['-qefc', `stty cols ${columns} rows 60\n${command}`, '/dev/null'], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  let code: number | undefined
  let listeners: (() => void)[] = []
  const notify = (): void => {
    const all = listeners
    listeners = []
    for (const listener of all) listener()
  }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
    notify()
  })
  // the program may have ended before the keys arrive
  child.stdin?.on('error', () => undefined)
  const ended = once(child, 'close')
  child.once('close', (status) => {
    code = status ?? -1
    notify()
  })
  return {
    screen: () => draw(output),
    press: (keys) => void child.stdin?.write(keys),
    get code() {
      return code
    },
    changed: () => new Promise<void>((resolve) => (code === undefined ? listeners.push(resolve) : resolve())),
    async close() {
      if (code !== undefined) return
      child.stdin?.write('\u0003')
      const closing = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await ended
      clearTimeout(closing)
    },
  }
}

// eslint-disable-next-line no-control-regex
const sequence = /\u001b\[([?\d;]*)([A-Za-z])|([^])/gu

function draw(output: string): string {
  const rows: string[] = ['']
  let row = 0
  let column = 0
  const current = (): string => rows[row] ?? ''
  for (const [, parameters = '', command, character] of output.matchAll(sequence)) {
    const count = Number(parameters) || 1
    if (character === '\n') row += 1
    else if (character === '\r') column = 0
    else if (character !== undefined) {
      rows[row] = current().slice(0, column).padEnd(column) + character + current().slice(column + 1)
      column += 1
    } else if (command === 'A') row = Math.max(0, row - count)
    else if (command === 'B') row += count
    else if (command === 'C') column += count
    else if (command === 'D') column = Math.max(0, column - count)
    else if (command === 'G') column = count - 1
    else if (command === 'K') rows[row] = parameters === '2' ? '' : current().slice(0, column)
    else if (command === 'J') {
      rows[row] = current().slice(0, column)
      rows.length = row + 1
    }
  }
  return Array.from(rows, (text: string | undefined) => text?.trimEnd() ?? '')
    .join('\n')
    .replace(/^\n+|\n+$/g, '')
}
