// Formats the figures of the benches as one table, with the machine and the versions.
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'

export interface Figure {
  readonly name: string
  readonly value: number
  /** Printed after the number. Default: a ratio. */
  readonly unit?: string
  /** A figure without a target is only shown. */
  readonly target?: { readonly most: number } | { readonly least: number }
  readonly note?: string
}

export function machine(): string {
  const [cpu] = cpus()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return [
    `${new Date().toISOString().slice(0, 10)} · reprise ${version} · node ${process.versions.node} · sqlite ${process.versions['sqlite']}`,
    `${type()} ${release()} · ${cpus().length} × ${cpu?.model ?? 'unknown'} · ${memory}`,
  ].join('\n')
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    shown(figure),
    targetOf(figure),
    verdict(figure),
    figure.note ?? '',
  ])
  const head = ['what', 'measured', 'target', '', 'details']
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function shown({ value, unit }: Figure): string {
  return unit === undefined ? `${value.toFixed(2)} ×` : `${Number(value.toPrecision(4))} ${unit}`
}

function targetOf({ target, unit = '×' }: Figure): string {
  if (!target) return ''
  if ('most' in target) return `at most ${target.most} ${unit}`
  return `at least ${target.least} ${unit}`
}

function verdict({ target, value }: Figure): string {
  if (!target) return ''
  return ('most' in target ? value <= target.most : value >= target.least) ? 'met' : 'MISSED'
}
