// One run for people: its facts, and each task with the beginning of its output.
import { withFileWords } from '../../../journal/files.ts'
import { type RunRecord, type TaskRecord } from '../run-record.ts'
import { formatOf, runWord } from '../run-words.ts'
import { plain, shorten } from '../../../text/plain-text.ts'
import type { Channel, Piece } from '../../terminal/terminal.ts'
import { clock, duration, longTime, plural, usageWords } from '../../terminal/entries-word.ts'

const outputLines = 6

export function printRun(channel: Channel, record: RunRecord, children: readonly string[]): void {
  const field = (name: string, ...pieces: Piece[]): void =>
    channel.line({ text: name.padEnd(9), format: 'dim' }, ...pieces)
  const open = record.questions.length > 0 ? `, waits for ${plural(record.questions.length, 'answer')}` : ''
  field('run', record.id)
  field('crew', record.crew)
  field(
    'status',
    { text: runWord(record), format: formatOf(runWord(record)) },
    `${open} (${record.done} of ${plural(record.total, 'task')} done)`,
  )
  if (record.error) field('error', { text: `${record.error.code}: ${record.error.message}`, format: 'red' })
  field('created', longTime(record.createdAt))
  field('updated', `${longTime(record.updatedAt)}, ${record.lives === 1 ? '1 life' : `${record.lives} lives`}`)
  field('spent', `${usageWords(record.usage)}, ${plural(record.usage.calls, 'model call')}`)
  if (record.parent) {
    const { run, from } = record.parent
    field('parent', from === undefined ? run : `${run}, from task ${from} on`)
  }
  for (const child of children) field('child', child)
  for (const [name, value] of Object.entries(record.inputs)) {
    const shown = withFileWords(value)
    const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
    field('input', shorten(`${name} = ${text}`, Math.min(channel.width, 200) - 9))
  }
}

export function printTask(channel: Channel, task: TaskRecord): void {
  const facts = [
    task.agent,
    usageWords(task.usage),
    times(task),
    task.attempts > 1 ? `${task.attempts} attempts` : undefined,
  ]
  channel.line()
  channel.line(
    { text: task.name, format: 'bold' },
    '  ',
    { text: task.status, format: formatOf(task.status) },
    `  ${task.id}`,
  )
  channel.line({ text: `  ${facts.filter((fact) => fact !== undefined).join(' · ')}`, format: 'dim' })
  if (task.from !== undefined) channel.line(`  from run ${task.from}`)
  if (task.stale) channel.line({ text: `  stale: ${task.stale.join('; ')}`, format: 'yellow' })
  if (task.error) channel.line({ text: `  ${task.error.message}`, format: 'red' })
  if (task.raw === undefined) return
  const lines = plain(task.raw).trimEnd().split('\n')
  const width = Math.min(channel.width, 200) - 4
  for (const line of lines.slice(0, outputLines)) channel.line(`  │ ${shorten(line, width)}`)
  if (lines.length > outputLines)
    channel.line({ text: `  │ … ${plural(lines.length - outputLines, 'more line')}`, format: 'dim' })
}

function times({ startedAt, completedAt }: TaskRecord): string | undefined {
  if (startedAt === undefined) return undefined
  if (completedAt === undefined) return `since ${clock(startedAt)}`
  return `${clock(startedAt)} to ${clock(completedAt)}, ${duration(Date.parse(completedAt) - Date.parse(startedAt))}`
}
