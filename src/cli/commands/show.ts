// `reprise show`: one run as its journal tells it.
import { describeEntry } from '../../crew/log.ts'
import { listRuns } from '../../crew/runs.ts'
import { replayCommand, resumeCommand } from '../../engine/commands.ts'
import { howToAnswer } from '../../engine/questions.ts'
import { readEntries, readRun } from '../../engine/read-run.ts'
import { withFileWords } from '../../journal/files.ts'
import { exitCodes } from '../exit-codes.ts'
import { findRun } from '../find-run.ts'
import type { Invocation } from '../invocation.ts'
import { formatOf, recordOf, runWord, type RunRecord, type TaskRecord } from '../run-record.ts'
import { openRuns, type OpenEngine } from '../stores.ts'
import { plain, shorten } from '../terminal/plain-text.ts'
import type { Channel, Piece, Terminal } from '../terminal/terminal.ts'
import { clock, duration, longTime, plural, usageWords } from '../terminal/words.ts'

const outputLines = 6

export async function show({ terminal, args, options, complete }: Invocation<{ steps?: boolean }>): Promise<number> {
  await using engine = await openRuns(options.store)
  const { run } = await findRun(engine.store, args[0])
  if (options.steps && terminal.json) {
    for await (const { entry } of readEntries(engine.store, run)) terminal.record(entry)
    return exitCodes.done
  }
  const { state } = await readRun(engine.store, run)
  const abandoned = state.status === 'running' && (await engine.store.holder(run)) === undefined
  const record = recordOf(state, abandoned)
  if (terminal.json) {
    terminal.record(record)
    return exitCodes.done
  }
  const children = await listRuns(engine, { parent: run }, 20)
  printRun(
    terminal.out,
    record,
    children.map((child) => child.id),
  )
  for (const task of record.tasks) printTask(terminal.out, task)
  if (options.steps) await printSteps(terminal, engine, run)
  for (const question of record.questions) {
    terminal.out.line()
    terminal.out.line({ text: `question ${question.id}`, format: 'bold' }, ` (${question.kind}): ${question.text}`)
    terminal.out.line(`  ${complete(howToAnswer(run, question))}`)
  }
  const next = nextCommand(record)
  if (next !== undefined) terminal.err.line(complete(`\n${next}`))
  return exitCodes.done
}

function printRun(channel: Channel, record: RunRecord, children: readonly string[]): void {
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

function printTask(channel: Channel, task: TaskRecord): void {
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

async function printSteps({ out }: Terminal, engine: OpenEngine, run: string): Promise<void> {
  out.line()
  out.line({ text: 'steps', format: 'bold' })
  for await (const { entry } of readEntries(engine.store, run)) {
    out.shortLine(`${String(entry.seq).padStart(5)}  ${clock(entry.at)}  `, describeEntry(entry) ?? entry.type)
  }
}

function nextCommand({ id, status, abandoned, questions }: RunRecord): string | undefined {
  if (questions.length > 0 || status === 'queued' || status === 'cancelled') return undefined
  if (status === 'completed') return `execute it again from a task with: ${replayCommand(id)}`
  return status === 'running' && !abandoned ? undefined : `go on with: ${resumeCommand(id)}`
}
