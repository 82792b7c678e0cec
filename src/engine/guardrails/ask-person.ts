// Has a person approve a task's result before it becomes the output (`humanInput`).
import type { NewEntry, Question, StoredOutput } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { parseValue } from '../../schema/parse-value.ts'
import type { TaskDefinition } from '../definition.ts'
import type { ActiveAttempt } from '../life.ts'
import { askOnQuestion } from '../inbox/ask-on-question.ts'
import type { Verdict } from './verdict.ts'

export type TaskResult = Pick<StoredOutput, 'raw' | 'structured'>

/** Accepts the result, unless the task has `humanInput`. A run with `effects: 'never'` asks no one. */
export async function reviewByPerson(
  work: ActiveAttempt,
  result: TaskResult,
  entries: readonly NewEntry[],
): Promise<Verdict> {
  const asks = work.task.humanInput && work.life.state.effects !== 'never'
  return asks ? askPerson(work, result, entries) : { status: 'accepted', ...result, entries }
}

/** Asks a person and acts on the answer. Rounds are unlimited; each revision is an attempt of its own. */
async function askPerson(work: ActiveAttempt, result: TaskResult, entries: readonly NewEntry[]): Promise<Verdict> {
  const { life, task, attempt, signal } = work
  const find = () =>
    [...life.state.questions.values()].findLast(
      ({ question, withdrawn }) => question.kind === 'result' && question.path === attempt.path && !withdrawn,
    )
  let asked = find()
  let pending = entries
  if (!asked) {
    await life.append([...pending, await questionFor(work, result)])
    pending = []
    asked = find()
  }
  if (asked && !asked.answer) {
    await askOnQuestion(life, asked.question, signal)
    asked = find()
  }
  const answer = asked?.answer
  if (!answer) return { status: 'waiting', entries: [] }
  switch (answer.decision) {
    case 'revise':
      return { status: 'refused', by: 'person', reason: answer.feedback, entries: pending }
    case 'fail':
      return { status: 'failed', reason: answer.reason, entries: pending }
    case 'replace': {
      const replaced = await checkResult(task, answer.output)
      if (replaced.ok) return { status: 'accepted', ...replaced.result, entries: pending }
      await life.append([await questionFor(work, result, `Your replacement does not fit: ${replaced.reason}. `)])
      return askPerson(work, result, [])
    }
    default:
      return { status: 'accepted', ...result, entries: pending }
  }
}

async function questionFor(
  { life, task, attempt }: ActiveAttempt,
  { raw, structured }: TaskResult,
  before = '',
): Promise<NewEntry> {
  const rounds = [...life.state.questions.values()].filter(
    ({ question }) => question.kind === 'result' && question.path.startsWith(`${task.name}#`),
  )
  const output = (structured ? JSON.parse(raw) : raw) as Json
  const revise = task.code ? '"revise" with feedback, to have its function called again,' : '"revise" with feedback,'
  const text = `${before}Is this result of task ${task.name} good? Answer "approve", ${revise} "replace" with an output, or "fail" with a reason.`
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

type CheckedResult =
  | { readonly ok: true; readonly result: TaskResult }
  | { readonly ok: false; readonly reason: string }

/** A function's result, or a person's replacement. A function task without a schema accepts any value. */
export async function checkResult(task: TaskDefinition, output: Json): Promise<CheckedResult> {
  if (!task.schema) {
    if (typeof output === 'string') return { ok: true, result: { raw: output, structured: false } }
    if (task.code) return { ok: true, result: { raw: JSON.stringify(output), structured: true } }
    return { ok: false, reason: 'the output must be a text' }
  }
  const parsed = await parseValue(task.schema, output)
  if (!parsed.ok) return { ok: false, reason: parsed.reason }
  return { ok: true, result: { raw: JSON.stringify(output), structured: true } }
}
