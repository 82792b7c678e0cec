// The effects of a crew's code, as lines in files: counted outside the process that may be killed.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logged } from '../tools/mcp-support.ts'

/** Effects of a child run count for its root run. */
export function leaveTrace(run: string, what: string): void {
  appendFileSync(ledger(), `${run.split('/')[0]} ${what}\n`)
}

/** The effects of a run, in order: those of user code and those of its MCP server. */
export function effects(run: string): string[] {
  const own = linesOf(ledger()).filter((line) => line.startsWith(`${run} `))
  const calls = servers(run).flatMap(({ method, params }) =>
    method === 'tools/call' && params ? params.arguments : [],
  )
  return [...own.map((line) => line.slice(run.length + 1)), ...calls.map((input) => (input as { text: string }).text)]
}

/** Whether any run has this effect. */
export function wasDone(what: string): boolean {
  return linesOf(ledger()).some((line) => line.endsWith(` ${what}`))
}

/** The log lines of a run's MCP servers. */
export function servers(run: string): Logged[] {
  return linesOf(serverLog(run)).map((line) => JSON.parse(line) as Logged)
}

export function serverLog(run: string): string {
  return join(folder(), run, 'mcp.log')
}

function ledger(): string {
  return join(folder(), 'effects.log')
}

function folder(): string {
  return process.env['EFFECTS_FOLDER'] ?? '.'
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}
