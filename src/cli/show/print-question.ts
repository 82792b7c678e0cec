// The open questions of a run for people who answer them later: the text, and below it the command, on a line of its
// own to be copied.
import { answering } from '../../engine/people/questions.ts'
import type { Question } from '../../journal/entries.ts'
import { taskOf } from '../../journal/paths.ts'
import type { Next } from '../../next.ts'
import type { Channel } from '../terminal/terminal.ts'
import { plural } from '../terminal/entries-word.ts'
import { wrap } from '../../text/wrap.ts'
import type { Commands } from '../write-command.ts'
import { printBlock, readable } from './text-block.ts'

export function printOpenQuestion(channel: Channel, commands: Commands, run: string, question: Question): void {
  const { id, kind, path, text } = question
  const head = `question ${id}`
  const [first = '', ...rows] = wrap(`${head} (${kind}), task ${taskOf(path)}: ${text}`, channel.width, 2)
  channel.line()
  channel.line({ text: head, format: 'bold' }, first.slice(head.length))
  for (const row of rows) channel.line(row)
  printSubject(channel, question)
  printHowToAnswer(channel, commands, answering(run, question))
}

export function printHowToAnswer(channel: Channel, commands: Commands, next: Next<'answer'>): void {
  channel.line(`  decide ${next.decisions.join(' or ')}, in scripts by --decision, with:`)
  channel.line(`  ${commands.command(next)}`)
}

/** What the question is about, as far as its own text does not show it. */
export function printSubject(channel: Channel, question: Question): void {
  if (question.kind === 'result') printBlock(channel, '  ', readable(question.output))
}

/** Of a run that cannot go on without them. */
export function sayWaiting(channel: Channel, commands: Commands, run: string, questions: readonly Question[]): void {
  channel.line({ text: `run ${run} waits for ${plural(questions.length, 'answer')}`, format: 'yellow' })
  for (const question of questions) printOpenQuestion(channel, commands, run, question)
  channel.line()
  channel.line(`then ${commands.advice({ act: 'resume', runId: run })}`)
}
