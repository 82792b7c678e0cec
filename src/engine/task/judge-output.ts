// Judges a model's final answer before it becomes the task's output: by the schema, then by the guardrails in order,
// then by a person. Each may send the answer back. A guardrail whose verdict is in the journal is not asked again.
import { defined } from '../../base/options.ts'
import type { NewEntry, PinnedRequest, Question, StoredOutput } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { guardrailIdempotencyKey } from '../calls/prepare-call.ts'
import type { GuardrailDefinition, TaskDefinition } from '../definition.ts'
import type { ActiveAttempt } from '../life.ts'
import { fileReader } from '../../read/read-run.ts'
import { parsedOutput } from '../run/task-context.ts'
import { runCode, uncountedField } from './function-call.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { isNestedDeeper, nestingLimit, type Json } from '../../journal/json.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import { attemptPath } from '../../journal/paths.ts'
import { replyText, type AttemptState } from '../../journal/state/state.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { judgeInstructions, judgeMessage } from '../model/engine-prompts.ts'
import { takeTurn } from '../model/take-turn.ts'
import { askOnQuestion } from '../inbox/ask-on-question.ts'

export async function judgeOutput(work: ActiveAttempt, text: string, finish: string): Promise<Verdict> {
  const { life, attempt, task } = work
  const answer = await checkOutput(task, text, finish)
  if (!answer.accepted) return { status: 'refused', by: 'schema', reason: answer.reason, entries: [] }
  let { raw } = answer
  let entries: NewEntry[] = []
  for (const [index, guardrail] of task.guardrails.entries()) {
    const known = attempt.accepted[index]
    // the judge's request is pinned with the answer, so first record how earlier guardrails changed that
    if (!known && 'sentence' in guardrail && entries.length > 0) {
      await life.append(entries)
      entries = []
    }
    const what = `guardrail ${guardrail.name} of task ${task.name}`
    const code = { life, what, uncounted: new Set<string>() }
    const verdict = known
      ? { accepted: true as const, ...known }
      : await runCode(code, () => askGuardrail(work, guardrail, index, raw))
    if (!verdict.accepted) return { status: 'refused', by: guardrail.name, reason: verdict.reason, entries }
    raw = verdict.raw ?? raw
    if (known) continue
    entries.push({
      type: 'guardrail.judged',
      path: attempt.path,
      guardrail: guardrail.name,
      verdict: 'accepted',
      ...defined({ raw: verdict.raw }),
      ...uncountedField(code),
    })
  }
  return reviewByPerson(work, { raw, structured: task.schema !== undefined }, entries)
}

async function askGuardrail(
  work: ActiveAttempt,
  guardrail: GuardrailDefinition,
  index: number,
  raw: string,
): Promise<JudgeVerdict> {
  const { task, life, attempt, signal } = work
  if ('sentence' in guardrail) return askJudge(work, guardrail.sentence, index, raw)
  const { state, engine } = life
  return guardrail.judge({
    raw,
    output: await parsedOutput({ raw, structured: task.schema !== undefined }, task),
    inputs: plainInputs(state.inputs),
    task: task.name,
    runId: state.run,
    signal,
    idempotencyKey: guardrailIdempotencyKey(state, attempt, [guardrail.name, index, raw]),
    readFile: fileReader(engine.store, state),
  })
}

// The check by the schema.

type OutputCheck =
  | { readonly accepted: true; readonly raw: string }
  | { readonly accepted: false; readonly reason: string }

/**
 * Checks a final answer. Without a schema, any text that isn't empty is accepted. With a schema, the JSON in the answer
 * must fit it; `raw` is then that JSON, before the schema's transforms.
 */
async function checkOutput(task: Pick<TaskDefinition, 'schema'>, text: string, finish: string): Promise<OutputCheck> {
  if (finish === 'length')
    return { accepted: false, reason: 'it was cut off at the limit of output tokens; be shorter' }
  if (finish === 'content-filter')
    return { accepted: false, reason: "it was stopped by the provider's content filter; rephrase it" }
  if (!task.schema) {
    return text.trim() === '' ? { accepted: false, reason: 'it is empty' } : { accepted: true, raw: text }
  }
  const found = findJson(text)
  if (!found.ok) return { accepted: false, reason: found.reason }
  const value = task.schema.unwrap(found.value)
  const parsed = await parseValue(task.schema, value)
  const raw = value === found.value ? found.raw : JSON.stringify(value)
  return parsed.ok
    ? { accepted: true, raw }
    : { accepted: false, reason: `it does not fit the schema: ${parsed.reason}` }
}

type JsonSearch =
  | { readonly ok: true; readonly raw: string; readonly value: Json }
  | { readonly ok: false; readonly reason: string }

/** Finds JSON in a text: the whole text, or what the model wrapped in a code fence or a sentence. */
function findJson(text: string): JsonSearch {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(text)?.[1]
  const braced = /[{[][\s\S]*[}\]]/.exec(text)?.[0]
  let reason = ''
  for (const candidate of [text, fenced, braced]) {
    if (candidate === undefined) continue
    try {
      const value = JSON.parse(candidate) as Json
      if (!isNestedDeeper(value, nestingLimit)) return { ok: true, raw: candidate, value }
      reason ||= `it is nested more than ${nestingLimit} levels deep`
    } catch (error) {
      reason ||= `it is not JSON: ${messageOf(error)}`
    }
  }
  return { ok: false, reason }
}

/** The verdict on an answer. `entries`: to journal together with what follows from the verdict. */
export type Verdict = { readonly entries: readonly NewEntry[] } & (
  | { readonly status: 'accepted'; readonly raw: string; readonly structured: boolean }
  | { readonly status: 'refused'; readonly by: string; readonly reason: string }
  | { readonly status: 'failed'; readonly reason: string }
  | { readonly status: 'waiting' }
)

// Guardrails written as a sentence, by which the agent's model judges the answer.

type JudgeVerdict =
  | { readonly accepted: true; readonly raw?: string }
  | { readonly accepted: false; readonly reason: string }

/** Asks the model, in an attempt within the turn of the answer, so that the verdict is read back after a crash. */
async function askJudge(work: ActiveAttempt, sentence: string, index: number, raw: string): Promise<JudgeVerdict> {
  const { life, task, attempt } = work
  const path = attemptPath(`guardrail-${index + 1}`, 1, attempt.turns.at(-1)?.path)
  if (!life.state.attempts.has(path)) {
    const request: PinnedRequest = {
      instructions: judgeInstructions,
      message: judgeMessage(sentence, attempt.pinned?.message ?? [], raw),
      ...defined({ files: attempt.request.files }),
      tools: [],
      model: modelName(task.agent.model),
      settings: task.agent.settings,
      output: verdictSchema,
    }
    const pinned = { request: request as unknown as Json, fingerprint: {}, agent: task.agent.title(life.state.inputs) }
    life.note([{ type: 'task.started', path, ...pinned }])
  }
  const judging = life.state.attempts.get(path) as AttemptState
  if (judging.turns.length === 0) await takeTurn({ ...work, attempt: judging })
  const turn = judging.turns.at(-1)
  const verdict = readVerdict(turn ? replyText(turn.reply) : '')
  if (verdict) return verdict
  throw new RepriseError(
    'OUTPUT_REFUSED',
    `the model returned no verdict for guardrail ${JSON.stringify(sentence)}; use a stronger model, or a function`,
    { runId: life.state.run, task: task.name },
  )
}

const verdictSchema = {
  type: 'object',
  properties: { accept: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['accept', 'reason'],
  additionalProperties: false,
}

function readVerdict(text: string): JudgeVerdict | undefined {
  const json = /\{[\s\S]*\}/.exec(text)?.[0]
  try {
    const { accept, reason } = JSON.parse(json ?? '') as { accept?: unknown; reason?: unknown }
    if (typeof accept !== 'boolean') return undefined
    return accept ? { accepted: true } : { accepted: false, reason: typeof reason === 'string' ? reason : '' }
  } catch {
    return undefined
  }
}

// Approval by a person before a result becomes the output (`humanInput`).

export type TaskResult = Pick<StoredOutput, 'raw' | 'structured'>

/** Asks a person if the task has `humanInput`; otherwise, and in a run with `effects: 'never'`, accepts the result. */
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
  const findQuestion = () =>
    [...life.state.questions.values()].findLast(
      ({ question, withdrawn }) => question.kind === 'result' && question.path === attempt.path && !withdrawn,
    )
  let asked = findQuestion()
  let pending = entries
  if (!asked) {
    await life.append([...pending, await questionFor(work, result)])
    pending = []
    asked = findQuestion()
  }
  if (asked && !asked.answer) {
    await askOnQuestion(life, asked.question, signal)
    asked = findQuestion()
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

/** Checks a function's result or a person's replacement. A function task without a schema accepts any value. */
export async function checkResult(task: TaskDefinition, output: Json): Promise<CheckedResult> {
  if (!task.schema) {
    if (typeof output === 'string') return { ok: true, result: { raw: output, structured: false } }
    if (task.code) return { ok: true, result: { raw: JSON.stringify(output), structured: true } }
    return { ok: false, reason: 'the output must be a string' }
  }
  const parsed = await parseValue(task.schema, output)
  if (!parsed.ok) return { ok: false, reason: parsed.reason }
  return { ok: true, result: { raw: JSON.stringify(output), structured: true } }
}
