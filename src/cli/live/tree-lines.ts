// The tree of a run as lines for a terminal of a given size. The current task is always shown, others if there is room.
import { columns } from '../../text/columns.ts'
import { plain, shorten } from '../../text/plain-text.ts'
import type { Format, Piece } from '../output/terminal.ts'
import { amount, dollars, duration, plural } from '../../text/words.ts'
import { wrap } from '../../text/wrap.ts'
import type { TaskViewStatus } from '../../runs/status.ts'
import type { LiveRun, LiveTask } from './tree.ts'

export type Line = readonly Piece[]

const marks: { readonly [K in TaskViewStatus]: { readonly sign: string; readonly format?: Format } } = {
  pending: { sign: '○', format: 'dim' },
  running: { sign: '●', format: 'cyan' },
  waiting: { sign: '?', format: 'yellow' },
  sleeping: { sign: '◔', format: 'dim' },
  started: { sign: '◌', format: 'yellow' },
  executed: { sign: '✔', format: 'green' },
  inherited: { sign: '↺', format: 'blue' },
  edited: { sign: '✎', format: 'blue' },
  skipped: { sign: '–', format: 'dim' },
  left: { sign: '–', format: 'dim' },
  failed: { sign: '✖', format: 'red' },
}
export const spinner = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

const maxWidth = 120
/** The least width of a name. To keep it, the text after the name is cut instead. */
const leastName = 28
/** The width that the agent's name or activity keeps next to a long name. */
const leastWords = 24
/** Around the name: the indentation, the sign, a gap, and the last column, which stays free. */
const margin = 7
const timeWidth = 7
const tokensWidth = 13
const costWidth = 9
/** How many lines of a reply in progress are shown. */
const replyRows = 4

export interface Size {
  readonly width: number
  readonly height: number
}

/**
 * `frame` animates running tasks. Undefined: the final view, which stays on the screen and has every task, whatever the
 * height.
 */
export function treeLines(run: LiveRun, size: Size, frame: number | undefined): Line[] {
  const groups = [...flatten(run.tasks, 0)]
  const longest = Math.max(0, ...groups.map(({ task, depth }) => columns(task.name) + 2 * depth))
  const priced = groups.some(({ task }) => task.cost !== undefined && task.cost > 0)
  const otherColumns = margin + leastWords + timeWidth + tokensWidth + (priced ? costWidth : 0)
  // on a wide terminal the numbers would be far from the names
  const width = Math.min(size.width, Math.max(maxWidth, longest + otherColumns))
  const nameWidth = Math.min(longest, Math.max(leastName, width - otherColumns))
  const talking = groups.filter(({ task }) => task.reply !== '').length
  const blocks = groups.map(({ task, depth }) => ({
    task,
    line: taskLine(task, depth, { width, nameWidth, priced, frame }),
    reply: replyLines(task, depth, width, talking > 1 ? 2 : replyRows),
  }))
  const named = `run ${run.runId}`
  const crew = shorten(run.crew, Math.max(leastName, width - 3 - columns(named)))
  const head: Line = [
    { text: crew, format: 'bold' },
    { text: `  ${shorten(named, width - 3 - columns(crew))}`, format: 'dim' },
  ]
  if (frame === undefined) return [head, ...blocks.map(({ line }) => line)]
  return [head, ...fitRows(blocks, size.height - 3), footLine(run, width)]
}

function* flatten(
  tasks: readonly LiveTask[],
  depth: number,
): Generator<{ readonly task: LiveTask; readonly depth: number }> {
  for (const task of tasks) {
    yield { task, depth }
    yield* flatten(task.tasks, depth + 1)
  }
}

interface Layout {
  readonly width: number
  readonly nameWidth: number
  readonly priced: boolean
  readonly frame: number | undefined
}

function taskLine(task: LiveTask, depth: number, { width, nameWidth, priced, frame }: Layout): Line {
  const { sign, format } = marks[task.status]
  const turning = task.status === 'running' && frame !== undefined
  const head = `  ${'  '.repeat(depth)}`
  const shown = shorten(task.name, nameWidth - 2 * depth)
  const right = [
    (task.ms === undefined ? '' : duration(task.ms)).padStart(timeWidth),
    (task.tokens === 0 ? '' : `${amount(task.tokens)} tokens`).padStart(tokensWidth),
    ...(priced ? [(task.cost === undefined || task.cost === 0 ? '' : dollars(task.cost)).padStart(costWidth)] : []),
  ].join('')
  // a narrow terminal has room for the names only
  const numbers = width >= 60 ? right : ''
  // marker, spaces and name
  const left = 2 + 2 + nameWidth + 2
  const room = Math.max(0, width - 1 - left - numbers.length)
  const words = shorten([task.agent, task.activity].filter(Boolean).join(' · '), room)
  return [
    head,
    { text: turning ? (spinner[frame % spinner.length] ?? sign) : sign, ...(format ? { format } : {}) },
    ' ',
    { text: shown, ...(task.status === 'pending' || task.status === 'skipped' ? { format: 'dim' as const } : {}) },
    ' '.repeat(Math.max(0, nameWidth - 2 * depth - columns(shown)) + 2),
    { text: words, format: task.status === 'failed' ? 'red' : 'dim' },
    numbers === '' ? '' : ' '.repeat(room - columns(words)) + numbers,
  ]
}

function replyLines(task: LiveTask, depth: number, width: number, most: number): Line[] {
  if (task.reply === '') return []
  const head = `    ${'  '.repeat(depth)}`
  const rows = plain(task.reply)
    .split('\n')
    .flatMap((row) => wrap(row, width - columns(head) - 3, 0))
    .filter((row) => row.trim() !== '')
  return rows.slice(-most).map((row) => [head, { text: `│ ${row}`, format: 'dim' }])
}

function footLine({ ms, tokens, cost }: LiveRun, width: number): Line {
  const parts = [duration(ms), `${amount(tokens)} tokens`, ...(cost === undefined || cost === 0 ? [] : [dollars(cost)])]
  return [{ text: `  ${shorten(`${parts.join(' · ')} · Ctrl-C stops`, width - 3)}`, format: 'dim' }]
}

interface Group {
  readonly task: LiveTask
  readonly line: Line
  readonly reply: readonly Line[]
}

/** Leaves out rows of replies first, then tasks that are far from the current one. */
function fitRows(groups: readonly Group[], room: number): Line[] {
  const all = groups.flatMap(({ line, reply }) => [line, ...reply])
  if (all.length <= room) return all
  if (groups.length <= room) {
    const spare = room - groups.length
    let left = spare
    return groups.flatMap(({ line, reply }) => {
      const kept = left > 0 ? reply.slice(-left) : []
      left -= kept.length
      return [line, ...kept]
    })
  }
  const { length } = groups
  const middle = currentTask(groups)
  if (room < 3) return groups.slice(middle, middle + Math.max(1, room)).map(({ line }) => line)
  const spare = Math.min(Math.floor(room / 3), room - 3)
  const reply = spare > 0 ? (groups[middle]?.reply.slice(-spare) ?? []) : []
  const rows = room - reply.length
  const from = Math.max(0, Math.min(middle - 1, length - rows + 1))
  const to = from + rows - (from > 0 ? 1 : 0) - (from + rows - 1 < length ? 1 : 0)
  const hidden = (count: number, where: string): Line[] =>
    count <= 0 ? [] : [[{ text: `  … ${plural(count, 'task')} ${where}`, format: 'dim' }]]
  const kept = groups.slice(from, to).flatMap(({ line }, index) => [line, ...(from + index === middle ? reply : [])])
  return [...hidden(from, 'above'), ...kept, ...hidden(length - to, 'below')]
}

function currentTask(groups: readonly Group[]): number {
  const busy = groups.findIndex(({ task }) => isUnderWay(task))
  if (busy >= 0) return busy
  const next = groups.findIndex(({ task }) => task.status === 'started' || task.status === 'pending')
  return next < 0 ? groups.length - 1 : next
}

function isUnderWay({ status }: LiveTask): boolean {
  return status === 'running' || status === 'waiting' || status === 'failed'
}
