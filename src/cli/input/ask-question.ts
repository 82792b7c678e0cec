// Asks the person at the terminal a run's question: shows its subject, lets the person pick a decision, and asks for
// the fields of that decision.
import { decisions } from '../../read/questions.ts'
import { messageOf } from '../../base/errors.ts'
import type { Answer, Question } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { AskedQuestion } from '../../journal/state/open-questions.ts'
import { askValue } from './ask-value.ts'
import { parseValue, readLimit } from './inputs.ts'
import { askingTaskPath, printAsking, printAskingWhole, printSubject } from '../output/print-question.ts'
import { askLine, terminalPerson, type Person } from './ask-line.ts'
import { pick } from './pick.ts'
import type { Channel, Terminal } from '../output/terminal.ts'
import { wrap } from '../../text/wrap.ts'

/**
 * Returns the person's answer; the caller adds who answered. Undefined if the person leaves (Esc, Ctrl-C) or
 * `person.signal` is aborted: the question stays open. Call it only if `canAsk()`.
 */
export async function askQuestion(
  { loud }: Pick<Terminal, 'loud'>,
  question: AskedQuestion,
  person: Person = terminalPerson(),
): Promise<Answer | undefined> {
  const shownWhole = printQuestion(loud, question)
  const forms = Object.entries(decisions[question.kind])
  const choices = forms.map(([decision]) => ({
    value: decision,
    label: decision,
    note: meanings[question.kind][decision] ?? '',
  }))
  const more = shownWhole ? [] : [{ value: look, label: look, note: 'show all inputs and outputs in full' }]
  let decision = await pick('Your decision:', [...choices, ...more], person)
  while (decision === look) {
    printAskingWhole(loud, question.asking)
    decision = await pick('Your decision:', choices, person)
  }
  if (decision === undefined) return undefined
  if (question.kind === 'value' && decision === 'answer') {
    const given = await askValue(loud, question.schema, person)
    return given && { decision, value: given.value }
  }
  const { must, may = [] } = decisions[question.kind][decision] ?? { must: [] }
  const fields: { [field: string]: Json } = {}
  for (const field of [...must, ...may]) {
    const value = await askField(loud, question, field, must.includes(field), person)
    if (value === undefined) return undefined
    if (value.given) fields[field] = value.given.value
  }
  return { decision, ...fields } as unknown as Answer
}

/** An entry in the list of decisions that decides nothing: it shows the whole question. */
const look = 'look'

/** Returns whether everything was shown in full. */
function printQuestion(channel: Channel, question: AskedQuestion): boolean {
  const width = Math.min(channel.width, 120)
  channel.line()
  const [first = '', ...rows] = wrap(
    `question ${question.id}, task ${askingTaskPath(question.asking)}: ${question.text}`,
    width,
    2,
  )
  channel.line({ text: first, format: 'yellow' })
  for (const row of rows) channel.line({ text: row, format: 'yellow' })
  const whole = printAsking(channel, question.asking)
  printSubject(channel, question)
  return whole
}

const fail = 'fail the run'
const meanings: { readonly [K in Question['kind']]: { readonly [decision: string]: string } } = {
  result: {
    approve: 'accept the result',
    revise: 'redo the task with your feedback',
    replace: 'use your output instead',
    fail,
  },
  call: {
    approve: 'call the tool, with this input or with yours',
    deny: 'do not call it, and tell the model why',
    use: 'do not call it, and use your result instead',
    fail,
  },
  doubt: { run: 'call the tool: it did not happen', happened: 'use your result: it did happen', fail },
  limit: { raise: 'continue with a higher limit', fail },
  value: { answer: 'give the value', fail },
}

/**
 * Asks until the value is valid. Returns undefined if the person leaves. `given` is absent if the field is optional and
 * the person typed nothing.
 */
async function askField(
  channel: Channel,
  question: Question,
  field: string,
  required: boolean,
  person: Person,
): Promise<{ readonly given?: { readonly value: Json } } | undefined> {
  const { hint, read } = fieldReader(question, field)
  const hints = [hint, required ? '' : 'Enter to leave it as it is'].filter((words) => words !== '').join('; ')
  for (;;) {
    const typed = await askLine(`${field}${hints === '' ? '' : ` (${hints})`}: `, person)
    if (typed === undefined) {
      channel.line()
      return undefined
    }
    if (typed.trim() === '') {
      if (!required) return {}
      channel.line(`${field} is required; Esc leaves the question open`)
      continue
    }
    try {
      return { given: { value: read(typed) } }
    } catch (error) {
      channel.line({ text: messageOf(error), format: 'red' })
    }
  }
}

interface Reader {
  readonly hint: string
  readonly read: (typed: string) => Json
}

function fieldReader(question: Question, field: string): Reader {
  // a task without a schema has a string as its output
  const isText =
    field === 'reason' || field === 'feedback' || (question.kind === 'result' && typeof question.output === 'string')
  if (isText) return { hint: '', read: (typed) => typed }
  if (field === 'to') return { hint: 'such as tokens=50000,cost=2.5', read: (typed) => ({ ...readLimit('to', typed) }) }
  return { hint: 'JSON or text', read: (typed) => parseValue(typed, 'that') }
}
