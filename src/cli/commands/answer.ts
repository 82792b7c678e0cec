// `reprise answer`: a person's decision on an open question, from whatever process.
import { answerQuestion } from '../../engine/people.ts'
import { howToAnswer } from '../../engine/questions.ts'
import { readRun } from '../../engine/read-run.ts'
import { openQuestions } from '../../journal/state.ts'
import { exitCodes } from '../exit-codes.ts'
import { findRun } from '../find-run.ts'
import { parseJson } from '../inputs.ts'
import type { Invocation } from '../invocation.ts'
import { loginName } from '../login-name.ts'
import { openRuns } from '../stores.ts'

export interface AnswerOptions {
  readonly decision: string
  readonly reason?: string
  readonly result?: string
  readonly input?: string
  readonly feedback?: string
  readonly output?: string
  readonly by?: string
  readonly note?: string
}

export async function answer({ terminal, args, options, complete }: Invocation<AnswerOptions>): Promise<number> {
  const given = answerOf(options)
  await using engine = await openRuns(options.store)
  const { run } = await findRun(engine.store, args[0] ?? '')
  const question = args[1] ?? ''
  await answerQuestion(engine, run, question, given)
  const { state } = await readRun(engine.store, run)
  // an answer to a run that another process executes is recorded by that process, in its own time
  const open = openQuestions(state).filter(({ id }) => id !== question)
  const held = (await engine.store.holder(run)) !== undefined
  if (terminal.json) terminal.record({ run, question, answer: given, questions: open })
  terminal.err.line(`answered ${question} of run ${run}`)
  for (const other of open)
    terminal.err.line(complete(`still open: ${other.id}: ${other.text}\n  ${howToAnswer(run, other)}`))
  const next = held
    ? `its process goes on with it; look with: reprise show ${run}`
    : `go on with: reprise resume ${run}`
  terminal.err.line(complete(next))
  return exitCodes.done
}

/** The fields that were given. Whether they fit the question is for the library to say. */
function answerOf({ decision, reason, result, input, feedback, output, by, note }: AnswerOptions): {
  decision: string
} {
  const json = (name: string, text: string | undefined) =>
    text === undefined ? undefined : parseJson(text, `--${name}`)
  const fields = {
    reason,
    result: json('result', result),
    input: json('input', input),
    feedback,
    output: json('output', output),
    by: by ?? loginName(),
    note,
  }
  return { decision, ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) }
}
