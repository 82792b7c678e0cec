// Prints the steps of a flow, grouped by name: of each name the open and the failed steps, and the last other steps.
import { groupName, keyOf } from '../../journal/paths.ts'
import type { RunView } from '../../runs/run-view.ts'
import type { TaskView } from '../../runs/task-view.ts'
import { shorten } from '../../text/plain-text.ts'
import { amount, plural } from '../../text/words.ts'
import type { Commands } from '../write-command.ts'
import { printTask } from './print-run.ts'
import { statusFormat } from './run-words.ts'
import type { Channel } from './terminal.ts'

/** How many steps of one name are printed. */
const mostSteps = 8

export function printSteps(channel: Channel, commands: Commands, { runId, tasks }: RunView): void {
  const groups = new Map<string, TaskView[]>()
  for (const task of tasks) {
    const group = groups.get(groupName(task.name))
    if (group) group.push(task)
    else groups.set(groupName(task.name), [task])
  }
  let hidden: string | undefined
  for (const [name, steps] of groups) {
    const [only] = steps
    if (only && steps.length === 1) {
      printTask(channel, only)
      continue
    }
    channel.line()
    channel.line({ text: name, format: 'bold' }, `  ${countWords(steps)}`)
    const shown = selectSteps(steps)
    for (const step of shown) printStep(channel, step)
    if (shown.length === steps.length) continue
    hidden ??= steps.find((step) => !shown.includes(step))?.name
    channel.line({ text: `  … ${plural(steps.length - shown.length, 'more step')}`, format: 'dim' })
  }
  if (hidden === undefined) return
  const values = [runId]
  channel.line()
  for (const next of [
    { type: 'command', to: 'list all steps', words: ['show', '--tasks'], values },
    { type: 'command', to: 'see one in full', words: ['show', '--task', hidden], values },
  ] as const)
    channel.line({ text: commands.advice(next), format: 'dim' })
}

/** `1.2k executed, 3 failed` */
function countWords(steps: readonly TaskView[]): string {
  const counts = new Map<string, number>()
  for (const { status } of steps) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${amount(count)} ${status}`).join(', ')
}

function selectSteps(steps: readonly TaskView[]): readonly TaskView[] {
  const open = steps.filter(({ completedAt }) => completedAt === undefined).slice(0, mostSteps)
  const done = steps.filter(({ completedAt }) => completedAt !== undefined)
  const shown = new Set([...open, ...done.slice(Math.max(0, done.length - mostSteps + open.length))])
  return steps.filter((step) => shown.has(step))
}

function printStep(channel: Channel, { name, status, error, raw }: TaskView): void {
  const head = `  ${status.padEnd(9)}  ${keyOf(name) ?? name}`
  const text = error?.message ?? raw
  const room = Math.min(channel.width, 200) - head.length - 2
  channel.line(
    '  ',
    { text: status, format: statusFormat(status) },
    head.slice(2 + status.length),
    text === '' || room < 8 ? '' : `  ${shorten(text, room)}`,
  )
}
