// `reprise questions`: everything that waits for a person, over all runs. What has waited longest comes first: it is a
// list of things to do, and the run that has stood still for longest should not be the last to continue.
import { answering } from '../../../engine/people/questions.ts'
import { waitingQuestions, type WaitingQuestion } from '../../../runs/waiting-questions.ts'
import { exitCodes } from '../../exit-codes.ts'
import { openExistingRuns } from '../../find/open-runs.ts'
import type { Invocation } from '../../invocation.ts'
import { askingPath } from '../../show/print-asking.ts'
import { printHowToAnswer } from '../../show/print-question.ts'
import type { Channel } from '../../terminal/terminal.ts'
import { longTime } from '../../terminal/entries-word.ts'

export async function questions(invocation: Invocation<{ readonly crew?: string }>): Promise<number> {
  const { terminal, options, commands } = invocation
  await using engine = await openExistingRuns(invocation)
  const { questions: open, unreadable } = engine
    ? await waitingQuestions(engine.store, options.crew)
    : { questions: [], unreadable: [] }
  for (const [index, question] of open.entries()) {
    const next = answering(question.runId, question)
    if (terminal.json) terminal.record({ ...question, decisions: next.decisions, command: commands.command(next) })
    else {
      if (index > 0) terminal.out.line()
      print(terminal.out, question)
      printHowToAnswer(terminal.out, commands, next)
    }
  }
  if (open.length === 0) terminal.err.line('no run waits for a person')
  for (const run of unreadable) {
    const next = { act: 'command', to: 'see why', words: ['verify', run] } as const
    terminal.loud.line(`run ${run} asks something, but cannot be read; ${commands.advice(next)}`)
  }
  return exitCodes.done
}

function print(channel: Channel, { id, kind, asking, runId, crew, askedAt, text }: WaitingQuestion): void {
  const where = `  ${kind}, task ${askingPath(asking)} of run ${runId} of crew ${crew}, since ${longTime(askedAt)}`
  channel.line({ text: id, format: 'bold' }, where)
  channel.shortLine('  ', text.trimStart().split('\n', 1)[0] ?? '')
}
