// `reprise runs --waiting`: every open question of every run, longest waiting first.
import { answerStep } from '../../engine/inbox/questions.ts'
import { waitingQuestions, type WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { Store } from '../../stores/store.ts'
import { longTime } from './words.ts'
import type { Channel, Terminal } from './terminal.ts'
import type { Commands } from '../write-command.ts'
import { askingTaskPath } from './print-asking.ts'
import { printHowToAnswer } from './print-question.ts'

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
  if (questions.length === 0) terminal.err.line('no run waits for a person')
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
