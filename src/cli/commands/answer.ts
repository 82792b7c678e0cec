// `reprise answer`: a person's decision on an open question, whichever process executes the run. At a terminal, the
// person is asked for the run, the question or the decision if the call names none.
import { runArgument, withStore, readSigner } from '../options.ts'
import { answerStep, decisions } from '../../read/questions.ts'
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Answer, Question } from '../../journal/entries.ts'
import type { AskedQuestion } from '../../journal/state/open-questions.ts'
import { hasOpenQuestions } from '../../runs/waiting-questions.ts'
import { readRunTree } from '../../runs/run-view.ts'
import type { RunRow } from '../../stores/store.ts'
import type { Runs } from '../../crew/open-runs.ts'
import { askQuestion } from '../input/ask-question.ts'
import { parseBySchema } from '../input/ask-value.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { noteRun, findRun, whatNext } from '../find/find-run.ts'
import { parseJson, readLimit } from '../input/inputs.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'
import { canAsk, terminalPerson } from '../input/ask-line.ts'
import { pick } from '../input/pick.ts'
import type { Terminal } from '../output/terminal.ts'

interface AnswerOptions {
  readonly decision?: string
  readonly reason?: string
  readonly result?: string
  readonly input?: string
  readonly feedback?: string
  readonly output?: string
  readonly to?: string
  readonly value?: string
  readonly by?: string
  readonly note?: string
}

export const answerCommand: Command<AnswerOptions> = {
  declare: (command) =>
    withStore(command)
      .argument('[run]', runArgument)
      .argument('[question]', 'id of the question, such as q1')
      .option('--decision <decision>', 'one of the decisions that the question lists (at a terminal, you are asked)')
      .option('--reason <text>', 'why, for deny and fail')
      .option('--result <json>', 'what the tool returned, for happened and use')
      .option('--input <json>', 'call the tool with this input instead, for approve')
      .option('--feedback <text>', 'what to improve, for revise')
      .option('--output <json>', 'use this output instead, for replace')
      .option('--to <limits>', 'the new limit, for raise: tokens=50000,cost=2.5,seconds=600,steps=20000')
      .option(
        '--value <value>',
        'the value, for answer, which it implies: JSON, or text where the question takes a text',
      )
      .option('--by <name>', 'who answers (default: your login name)')
      .option('--note <text>', 'stored with the answer'),
  examples: [
    `reprise answer latest q1 --decision happened --result '{"claim":"C-1"}'`,
    'reprise answer latest q2 --value true',
  ],
  action: answer,
}

async function answer(invocation: Invocation<AnswerOptions>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  const { by, note } = options
  // no other decision takes a value
  const decision = options.decision ?? (options.value === undefined ? undefined : 'answer')
  await using runs = await openRuns(invocation)
  const fits = (row: RunRow): Promise<boolean> => hasOpenQuestions(runs.store, row)
  const run = await noteRun(commands, runs.store, await findRun(runs.store, args[0], undefined, { fits }))
  const question = await chooseQuestion(runs, run, args[1])
  const fields = readFields(options, question)
  const decided =
    decision === undefined ? await askForDecision(terminal, run, question, fields) : { decision, ...fields }
  if (!decided) {
    terminal.err.line('nothing was answered')
    return exitCodes.usage
  }
  const signed = { ...decided, ...readSigner(by), ...defined({ note }) }
  // the library checks whether the fields fit the question
  await runs.run(run).answer(question.id, signed as Answer)
  const { questions } = await readRunTree(runs.store, run)
  // the process that executes the run records the answer later
  const open = questions.filter(({ id }) => id !== question.id)
  if (terminal.json) terminal.record({ runId: run, question: question.id, answer: signed, questions: open })
  terminal.err.line(`answered ${question.id} of run ${run}`)
  for (const other of open) {
    terminal.err.line(`still open: ${other.id}: ${other.text}`)
    terminal.err.line(`  ${commands.advice(answerStep(run, other))}`)
  }
  terminal.err.line(await whatNext(commands, runs.store, run))
  return exitCodes.done
}

/** Rejects with QUESTION_NOT_FOUND or QUESTION_ANSWERED, or with a UsageError if none is named or picked. */
async function chooseQuestion(runs: Runs, run: string, id: string | undefined): Promise<AskedQuestion> {
  const { questions: open } = await readRunTree(runs.store, run)
  const [first] = open
  // a question that is not open is looked up to say why
  if (id !== undefined)
    return open.find((question) => question.id === id) ?? { ...(await runs.run(run).question(id)), asking: [] }
  if (!first) {
    const next = { type: 'show', runId: run } as const
    throw new RepriseError('QUESTION_NOT_FOUND', `run ${run} has no open question`, { runId: run, next })
  }
  const words = open.map((question) => `${question.id}: ${question.text}`).join('; ')
  if (!canAsk())
    throw new UsageError(`no question is named; open in run ${run} are ${words}`, { next: answerStep(run, first) })
  // a single question needs no list: it is shown with its decisions, and can still be left open
  if (open.length === 1) return first
  const choices = open.map((question) => ({ value: question, label: question.id, note: question.text }))
  const picked = await pick('Which question?', choices, terminalPerson())
  if (picked) return picked
  throw new UsageError(`no question was picked; open are ${words}`)
}

async function askForDecision(
  terminal: Terminal,
  run: string,
  question: AskedQuestion,
  fields: object,
): Promise<object | undefined> {
  const taken = Object.keys(decisions[question.kind]).join(', ')
  if (!canAsk())
    throw new UsageError(`--decision is missing; question ${question.id} takes ${taken}`, {
      next: { type: 'show', runId: run },
    })
  const [field] = Object.keys(fields)
  if (field !== undefined) throw new UsageError(`--${field} goes with a --decision; give one of ${taken}`)
  return askQuestion(terminal, question)
}

/** Parses the fields of the decision. */
function readFields(
  { reason, result, input, feedback, output, to, value }: AnswerOptions,
  question: Question,
): { readonly [field: string]: unknown } {
  const json = (name: string, text: string | undefined) =>
    text === undefined ? undefined : parseJson(text, `--${name}`)
  return defined({
    reason,
    result: json('result', result),
    input: json('input', input),
    feedback,
    output: json('output', output),
    to: to === undefined ? undefined : readLimit('--to', to),
    value:
      value === undefined
        ? undefined
        : parseBySchema(question.kind === 'value' ? question.schema : {}, value, '--value'),
  })
}
