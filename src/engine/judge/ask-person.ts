// Has a person approve a result before it is kept.
import type { NewEntry, Question } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { parseValue } from '../../schema/parse-value.ts'
import type { TaskDefinition } from '../definition.ts'
import type { Work } from '../life.ts'
import { putToCaller } from '../people/put-to-caller.ts'
import type { Judged } from './judged.ts'

/** Asks a person to approve, and acts on the answer. Any number of rounds: each revision is an attempt of its own. */
export async function askPerson(work: Work, raw: string, entries: readonly NewEntry[]): Promise<Judged> {
  const { life, task, attempt, signal } = work
  const find = () =>
    [...life.state.questions.values()].findLast(
      ({ question, withdrawn }) => question.kind === 'result' && question.path === attempt.path && !withdrawn,
    )
  let asked = find()
  let pending = entries
  if (!asked) {
    await life.append([...pending, await questionFor(work, raw)])
    pending = []
    asked = find()
  }
  if (asked && !asked.answer) {
    await putToCaller(life, asked.question, signal)
    asked = find()
  }
  const answer = asked?.answer
  if (!answer) return { is: 'waiting', entries: [] }
  switch (answer.decision) {
    case 'revise':
      return { is: 'refused', by: 'person', reason: answer.feedback, entries: pending }
    case 'fail':
      return { is: 'failed', reason: answer.reason, entries: pending }
    case 'replace': {
      const replaced = await fitting(task, answer.output)
      if (replaced.ok) return { is: 'accepted', raw: replaced.raw, entries: pending }
      await life.append([await questionFor(work, raw, `What you gave does not fit: ${replaced.reason}. `)])
      return askPerson(work, raw, [])
    }
    default:
      return { is: 'accepted', raw, entries: pending }
  }
}

async function questionFor({ life, task, attempt }: Work, raw: string, before = ''): Promise<NewEntry> {
  const rounds = [...life.state.questions.values()].filter(
    ({ question }) => question.kind === 'result' && question.path.startsWith(`${task.name}#`),
  )
  const output = (task.schema ? JSON.parse(raw) : raw) as Json
  const text = `${before}Is this result of task ${task.name} good? Answer "approve", "revise" with feedback, "replace" with an output, or "fail" with a reason.`
  const question: Question = {
    id: life.questionId(),
    path: attempt.path,
    kind: 'result',
    output,
    round: rounds.length + 1,
    text,
  }
  return { type: 'question.asked', path: attempt.path, question }
}

async function fitting(
  task: TaskDefinition,
  output: Json,
): Promise<{ readonly ok: true; readonly raw: string } | { readonly ok: false; readonly reason: string }> {
  if (!task.schema) {
    return typeof output === 'string' ? { ok: true, raw: output } : { ok: false, reason: 'the output is a text' }
  }
  const parsed = await parseValue(task.schema, output)
  return parsed.ok ? { ok: true, raw: JSON.stringify(output) } : { ok: false, reason: parsed.reason }
}
