// Prints open questions for people who answer them later: the text, the context (the tasks from the root run down to
// the child run that asks, with their inputs and outputs so far), and the command that answers, on a line of its own.
import { answerStep } from '../../read/questions.ts'
import type { Question } from '../../journal/entries.ts'
import type { AskedQuestion, AskingTask } from '../../journal/state/open-questions.ts'
import type { NextStep } from '../../base/next.ts'
import type { Channel, Terminal } from './terminal.ts'
import { plural, longTime } from '../../text/words.ts'
import { wrap } from '../../text/wrap.ts'
import type { Commands } from '../write-command.ts'
import { printBlock, readable } from './print-block.ts'
import { describeFiles } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { shorten } from '../../text/plain-text.ts'
import { waitingQuestions, type WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { Store } from '../../stores/store.ts'

/** `known`: how many levels of the context, from the root, are already shown. */
export function printOpenQuestion(
  channel: Channel,
  commands: Commands,
  run: string,
  question: AskedQuestion,
  known = 0,
): void {
  const { id, kind, text, asking } = question
  const head = `question ${id}`
  const [first = '', ...rows] = wrap(`${head} (${kind}), task ${askingTaskPath(asking)}: ${text}`, channel.width, 2)
  channel.line()
  channel.line({ text: head, format: 'bold' }, first.slice(head.length))
  for (const row of rows) channel.line(row)
  const whole = printAsking(channel, asking, known)
  printSubject(channel, question)
  if (!whole) channel.line({ text: '  some of this is cut; the command below can show all of it', format: 'dim' })
  printHowToAnswer(channel, commands, answerStep(run, question))
}

export function printHowToAnswer(channel: Channel, commands: Commands, next: NextStep<'answer'>): void {
  channel.line(`  answer (${next.decisions.join(', ')}) with this; in scripts, add --decision:`)
  channel.line(`  ${commands.command(next)}`)
}

/** Prints what the question is about, unless its own text shows it. */
export function printSubject(channel: Channel, question: Question): void {
  const subject = question.kind === 'result' ? question.output : question.kind === 'value' ? question.about : undefined
  if (subject !== undefined) printBlock(channel, '  ', readable(subject))
}

/** Prints the questions of a run that waits for answers; of those in `seen`, only how to answer. */
export function printWaiting(
  channel: Channel,
  commands: Commands,
  run: string,
  questions: readonly AskedQuestion[],
  seen: ReadonlySet<string> = new Set(),
): void {
  channel.line({ text: `run ${run} waits for ${plural(questions.length, 'answer')}`, format: 'yellow' })
  for (const question of questions) {
    if (!seen.has(question.id)) {
      printOpenQuestion(channel, commands, run, question)
      continue
    }
    channel.line()
    channel.line({ text: `question ${question.id}`, format: 'bold' })
    printHowToAnswer(channel, commands, answerStep(run, question))
  }
  channel.line()
  channel.line(`then ${commands.advice({ type: 'resume', runId: run })}`)
}

const maxItems = 6
const maxWidth = 200

interface Item {
  readonly name: string
  readonly text: string
}

/** `research/facts`: the task that asks, below the tasks of the parent runs. */
export function askingTaskPath(asking: readonly AskingTask[]): string {
  return asking.map(({ task }) => task).join('/')
}

/**
 * Prints a line for each input and output. Returns whether everything was shown. `known`: how many levels, from the
 * root, are already shown.
 */
export function printAsking(channel: Channel, asking: readonly AskingTask[], known = 0): boolean {
  let whole = true
  for (const level of asking.slice(known)) {
    if (asking.length > 1) printAskingTask(channel, level)
    for (const [label, items] of contextItems(level)) {
      for (const item of items.slice(0, maxItems)) {
        const head = `  ${label.padEnd(8)}`
        const line = `${item.name} = ${item.text}`
        const shown = shorten(line, Math.min(channel.width, maxWidth) - head.length)
        // line breaks become spaces, which loses nothing
        whole &&= shown === shorten(line, Infinity)
        channel.line({ text: head, format: 'dim' }, shown)
      }
      if (items.length <= maxItems) continue
      whole = false
      channel.line({ text: `  … ${plural(items.length - maxItems, `more ${label}`)}`, format: 'dim' })
    }
  }
  return whole
}

export function printAskingWhole(channel: Channel, asking: readonly AskingTask[]): void {
  for (const level of asking) {
    printAskingTask(channel, level)
    printBlock(channel, '  ', level.description)
    for (const [label, items] of contextItems(level)) {
      for (const { name, text } of items) {
        channel.line({ text: `  ${label} ${name}`, format: 'bold' })
        printBlock(channel, '  ', text)
      }
    }
  }
}

function printAskingTask(channel: Channel, { runId, crew, task }: AskingTask): void {
  channel.line({ text: `  task ${task} of crew ${crew}, run ${runId}`, format: 'dim' })
}

function contextItems({ inputs, outputs }: AskingTask): [label: string, items: readonly Item[]][] {
  return [
    ['input', Object.entries(inputs).map(([name, value]) => ({ name, text: inputText(value) }))],
    ['output', outputs.map(({ task, raw }) => ({ name: task, text: raw }))],
  ]
}

function inputText(value: Json): string {
  const shown = describeFiles(value)
  return typeof shown === 'string' ? shown : JSON.stringify(shown)
}

/** `reprise runs --waiting`: prints every open question of every run, longest waiting first. */
export async function showWaiting(
  terminal: Terminal,
  commands: Commands,
  store: Store | undefined,
  crew: string | undefined,
): Promise<void> {
  const { questions, unreadable } = store ? await waitingQuestions(store, crew) : { questions: [], unreadable: [] }
  for (const [index, question] of questions.entries()) {
    const next = answerStep(question.runId, question)
    if (terminal.json) terminal.record({ ...question, decisions: next.decisions, command: commands.command(next) })
    else {
      if (index > 0) terminal.out.line()
      printHeading(terminal.out, question)
      printHowToAnswer(terminal.out, commands, next)
    }
  }
  if (questions.length === 0)
    terminal.err.line(`no run ${crew === undefined ? '' : `of crew ${crew} `}waits for a person`)
  for (const run of unreadable) {
    const next = { type: 'command', to: 'see why', words: ['show', '--verify'], values: [run] } as const
    terminal.loud.line(`run ${run} has an open question, but cannot be read; ${commands.advice(next)}`)
  }
}

function printHeading(channel: Channel, { id, kind, asking, runId, crew, askedAt, text }: WaitingQuestion): void {
  const where = `  ${kind}, task ${askingTaskPath(asking)} of run ${runId} of crew ${crew}, since ${longTime(askedAt)}`
  channel.line({ text: id, format: 'bold' }, where)
  channel.shortLine('  ', text.trimStart().split('\n', 1)[0] ?? '')
}
