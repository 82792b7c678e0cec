// Draws a terminal screen as SVG: reads the output of `tmux capture-pane -e -p`. The pictures in docs/ are drawn with
// it, from real runs.
import { text } from 'node:stream/consumers'
import { cell, drawRow, drawScreen, margin, widthOf } from './pictures/terminal.ts'

const rows = (await text(process.stdin)).trimEnd().split('\n')
const height = rows.length * cell.height + margin * 2
process.stdout.write(drawScreen(widthOf(rows), height, rows.map((row, index) => drawRow(row, index)).join('\n')))
