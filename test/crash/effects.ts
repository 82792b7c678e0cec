// What a crew's code did, as lines in a file: counted outside of the process that may be killed.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export function leaveTrace(run: string, what: string): void {
  appendFileSync(ledgerIn(process.env['EFFECTS_FOLDER'] ?? '.'), `${run} ${what}\n`)
}

/** What was done for a run, in its order. */
export function effects(run: string, folder = process.env['EFFECTS_FOLDER'] ?? '.'): string[] {
  const file = ledgerIn(folder)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
  return lines.filter((line) => line.startsWith(`${run} `)).map((line) => line.slice(run.length + 1))
}

/** Whether any run has left this behind. */
export function wasDone(what: string): boolean {
  const file = ledgerIn(process.env['EFFECTS_FOLDER'] ?? '.')
  return existsSync(file) && readFileSync(file, 'utf8').includes(` ${what}\n`)
}

function ledgerIn(folder: string): string {
  return join(folder, 'effects.log')
}
