// Plays the demo, and draws what it prints as an animated SVG, at the pace at which it was printed:
//
//   npx node --conditions=reprise-source scripts/demo-picture.ts > docs/pictures/demo.svg
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cell, drawRow, drawScreen, margin, widthOf } from './pictures/terminal.ts'

interface Printed {
  readonly row: string
  /** In seconds since the beginning. */
  readonly at: number
}

/** How many rows are seen at once, how long the last ones are shown, and how fast the rest is read, in seconds. */
const screenRows = 25
const pauseAtEnd = 6
const secondsPerRow = 0.12

const folder = mkdtempSync(join(tmpdir(), 'reprise-demo-'))
try {
  process.stdout.write(draw(paced(await play('.reprise/demo'))))
} finally {
  rmSync(folder, { recursive: true })
}

async function play(place: string): Promise<Printed[]> {
  const script = join(import.meta.dirname, '../examples/claims-triage/demo.ts')
  const options = { cwd: folder, env: { ...process.env, FORCE_COLOR: '1' } }
  const child = spawn(process.execPath, ['--conditions=reprise-source', script, place], options)
  const rows: Printed[] = []
  const start = performance.now()
  for await (const row of createInterface(child.stdout)) {
    // the account of costs and the advice are for people who have run the demo themselves
    if (row.includes('What to try next')) break
    rows.push({ row, at: (performance.now() - start) / 1000 })
  }
  child.stdout.resume()
  return rows.slice(0, rows.findLastIndex(({ row }) => row.trim() !== '') + 1)
}

/** Rows that were printed at once appear one after another. */
function paced(rows: readonly Printed[]): Printed[] {
  let last = 0
  return rows.map(({ row, at }) => {
    last = Math.max(last + secondsPerRow, at)
    return { row, at: last }
  })
}

function draw(rows: readonly Printed[]): string {
  const seconds = (rows.at(-1)?.at ?? 0) + pauseAtEnd
  const share = (at: number): string => `${((at / seconds) * 100).toFixed(2)}%`
  const shown = rows.map(({ at }, index) => {
    const from = share(at)
    return `@keyframes r${index}{0%,${from}{opacity:0}${share(at + 0.01)},100%{opacity:1}}#r${index}{animation-name:r${index}}`
  })
  const scrolled = rows.slice(screenRows).map(({ at }, index) => {
    const y = (from: number): string => `{transform:translateY(${-from * cell.height}px)}`
    return `${share(at - 0.01)}${y(index)}${share(at)}${y(index + 1)}`
  })
  const end = Math.max(0, rows.length - screenRows)
  const style = `text{animation:${seconds.toFixed(2)}s linear infinite both}#screen{animation:scroll ${seconds.toFixed(2)}s linear infinite both}
@keyframes scroll{0%{transform:none}${scrolled.join('')}100%{transform:translateY(${-end * cell.height}px)}}
${shown.join('\n')}
@media (prefers-reduced-motion: reduce){text,#screen{animation:none}#screen{transform:translateY(${-end * cell.height}px)}}`
  const height = screenRows * cell.height + margin * 2
  const width = widthOf(rows.map(({ row }) => row))
  const drawn = rows.map(({ row }, index) => drawRow(row, index, ` id="r${index}"`)).join('\n')
  const clip = `<clipPath id="clip"><rect y="${margin - 4}" width="${width}" height="${height - margin * 2 + 8}"/></clipPath>`
  return drawScreen(
    width,
    height,
    `<style>${style}</style>\n${clip}\n<g clip-path="url(#clip)"><g id="screen">\n${drawn}\n</g></g>`,
  )
}
