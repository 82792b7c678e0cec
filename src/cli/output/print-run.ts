// Prints one run: its facts, and each task with the beginning of its output.
import { defined } from '../../base/options.ts'
import { describeTaskChanges } from '../../journal/describe.ts'
import { describeFiles } from '../../journal/files.ts'
import type { RunView } from '../../runs/run-view.ts'
import { doneWords } from '../../runs/status.ts'
import type { TaskView } from '../../runs/task-view.ts'
import { describeOwner } from '../../stores/owner.ts'
import { generatedFileWords, sourceWords } from './print-parts.ts'
import { printStack } from './print-block.ts'
import { failureWords, statusFormat } from './run-words.ts'
import { plain, shorten } from '../../text/plain-text.ts'
import type { Channel, Piece } from './terminal.ts'
import { clock, dollars, duration, inLocalTimes, longTime, plural, someNames, usageWords } from '../../text/words.ts'

const outputLines = 6
/** How many waits, and how many events, are printed. */
const mostWaits = 12

export function printRun(channel: Channel, run: RunView, children: readonly string[]): void {
  const field = (name: string, ...pieces: Piece[]): void =>
    channel.line({ text: name.padEnd(9), format: 'dim' }, ...pieces)
  // the error has a line of its own
  const why = run.why === undefined || run.error ? '' : `: ${inLocalTimes(run.why)}`
  field('run', run.runId)
  field('crew', run.version === '' ? run.crew : `${run.crew}, version ${run.version}`)
  field(
    'status',
    { text: run.status, format: statusFormat(run.status) },
    `${why} (${doneWords(run)} done${run.failed > 0 ? `, ${run.failed} failed` : ''})`,
  )
  if (run.previous !== undefined) field('previous', `continues ${run.previous}`)
  if (run.next !== undefined) field('next', `continues as ${run.next}`)
  if (run.holder) field('holder', describeOwner({ ...run.holder, ...defined({ label: run.holder.name }) }))
  if (run.via) field('via', `${run.via.dispatcher}: ${run.via.id}`)
  if (run.error) {
    const { code, task, message, stack } = run.error
    const failed = task === undefined ? message : `task ${task} failed: ${message}`
    field('error', { text: `${code}: ${failed}`, format: 'red' })
    if (stack !== undefined) printStack(channel, ' '.repeat(9), stack)
  }
  for (const failure of run.failures) field('failed', { text: failureWords(failure), format: 'red' })
  if (run.error && run.dueAt !== undefined) field('retry', `a worker tries again at ${longTime(run.dueAt)}`)
  field('created', longTime(run.createdAt))
  field('updated', `${longTime(run.updatedAt)}, ${run.lives === 1 ? '1 life' : `${run.lives} lives`}`)
  for (const change of run.taskChanges) field('changed', `${longTime(change.at)}: ${describeTaskChanges(change)}`)
  const cost = run.cost === undefined || run.cost === 0 ? '' : `, ${dollars(run.cost)}`
  field('spent', `${usageWords(run.usage)}, ${plural(run.usage.calls, 'model call')}${cost}`)
  for (const { step, wait, event, until } of (run.waits ?? []).slice(0, mostWaits)) {
    const what = { sleep: 'sleeps', question: 'waits for an answer', event: `waits for event ${event}` }[wait]
    field('waits', `${step} ${what}${until === undefined ? '' : ` until ${longTime(until)}`}`)
  }
  for (const event of (run.events ?? []).slice(0, mostWaits)) {
    const from = [event.id, event.by && `by ${event.by}`, longTime(event.at)].filter(Boolean).join(', ')
    const text = `${event.name} = ${JSON.stringify(event.value)}`
    field('event', `${shorten(text, Math.max(20, Math.min(channel.width, 200) - 14 - from.length))} (${from})`)
  }
  for (const [name, list = []] of [
    ['waits', run.waits],
    ['event', run.events],
  ] as const)
    if (list.length > mostWaits) field(name, `… ${list.length - mostWaits} more`)
  if (run.left && run.left.length > 0) field('left', `no longer requested: ${someNames(run.left, mostWaits)}`)
  if (run.parent) {
    const { runId, from, deleted } = run.parent
    const name = deleted ? `${runId} (deleted)` : runId
    field('parent', from === undefined ? name : `${name}, from task ${from} on`)
  }
  for (const child of children) field('child', child)
  for (const [name, value] of Object.entries(run.inputs)) {
    const shown = describeFiles(value)
    const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
    field('input', shorten(`${name} = ${text}`, Math.min(channel.width, 200) - 9))
  }
}

export function printTask(channel: Channel, task: TaskView): void {
  const facts = [
    task.agent,
    task.step && task.usage.calls === 0 ? undefined : usageWords(task.usage),
    times(task),
    task.attempts > 1 ? `${task.attempts} attempts` : undefined,
  ]
  channel.line()
  channel.line(
    { text: task.name, format: 'bold' },
    '  ',
    { text: task.status, format: statusFormat(task.status) },
    task.step ? '' : `  ${task.id}`,
  )
  channel.line({ text: `  ${facts.filter((fact) => fact !== undefined).join(' · ')}`, format: 'dim' })
  if (task.from !== undefined) channel.line(`  from run ${task.from}`)
  if (task.stale) channel.line({ text: `  stale: ${task.stale.join('; ')}`, format: 'yellow' })
  if (task.error) channel.line({ text: `  ${task.error.message}`, format: 'red' })
  if (task.completedAt === undefined) return
  const lines = plain(task.raw).trimEnd().split('\n')
  const width = Math.min(channel.width, 200) - 4
  for (const line of lines.slice(0, outputLines)) channel.line(`  │ ${shorten(line, width)}`)
  if (lines.length > outputLines)
    channel.line({ text: `  │ … ${plural(lines.length - outputLines, 'more line')}`, format: 'dim' })
  for (const source of task.sources.slice(0, outputLines))
    channel.line({ text: '  source ', format: 'dim' }, shorten(sourceWords(source), width))
  if (task.sources.length > outputLines)
    channel.line({ text: `  … ${plural(task.sources.length - outputLines, 'more source')}`, format: 'dim' })
  for (const file of task.files)
    channel.line({ text: '  file ', format: 'dim' }, shorten(generatedFileWords(file), width))
}

function times({ startedAt, completedAt }: TaskView): string | undefined {
  if (startedAt === undefined) return undefined
  if (completedAt === undefined) return `since ${clock(startedAt)}`
  return `${clock(startedAt)} to ${clock(completedAt)}, ${duration(Date.parse(completedAt) - Date.parse(startedAt))}`
}
