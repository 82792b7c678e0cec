// The open questions of a run, for people who answer them later: the text, and the command on a line of its own, to be
// copied.
import { answerStep } from '../../engine/inbox/questions.ts'
import type { Question } from '../../journal/entries.ts'
import type { AskedQuestion } from '../../journal/state/open-questions.ts'
import type { NextStep } from '../../base/next.ts'
import type { Channel } from './terminal.ts'
import { plural } from './words.ts'
import { wrap } from '../../text/wrap.ts'
import type { Commands } from '../write-command.ts'
import { askingTaskPath, printAsking } from './print-asking.ts'
import { printBlock, readable } from './print-block.ts'

/** `known`: how many levels of the context, from the root, are shown already. */
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
  if (!whole)
    channel.line({ text: '  some of this is cut; the command below shows all of it on request', format: 'dim' })
  printHowToAnswer(channel, commands, answerStep(run, question))
}

export function printHowToAnswer(channel: Channel, commands: Commands, next: NextStep<'answer'>): void {
  channel.line(`  decide ${next.decisions.join(' or ')}, in scripts by --decision, with:`)
  channel.line(`  ${commands.command(next)}`)
}

/** What the question is about, unless its own text shows it. */
export function printSubject(channel: Channel, question: Question): void {
  if (question.kind === 'result') printBlock(channel, '  ', readable(question.output))
}

/** For a run that waits for answers. */
export function printWaiting(
  channel: Channel,
  commands: Commands,
  run: string,
  questions: readonly AskedQuestion[],
): void {
  channel.line({ text: `run ${run} waits for ${plural(questions.length, 'answer')}`, format: 'yellow' })
  for (const question of questions) printOpenQuestion(channel, commands, run, question)
  channel.line()
  channel.line(`then ${commands.advice({ type: 'resume', runId: run })}`)
}
