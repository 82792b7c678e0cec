// What stands between a model's last words and a task's output: the schema, guardrails in their order, and a person. Each may
// send the answer back. A guardrail's verdict is asked for until it is in the journal, and never after.
import { RepriseError } from '../../errors.ts'
import type { NewEntry, PinnedRequest, Question } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { attemptPath } from '../../journal/paths.ts'
import { replyText, type AttemptState } from '../../journal/state/state.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { judgeAnswer } from './judge-answer.ts'
import { putToCaller } from '../people/put-to-caller.ts'
import type { ExecuteOptions, GuardrailDefinition, TaskDefinition } from '../definition.ts'
import { fileReader } from '../read/run-files.ts'
import type { Hold } from '../lease/hold.ts'
import { judgeInstructions, judgeMessage } from '../talk/engine-prompts.ts'
import { outputOf } from '../run/so-far.ts'

export interface JudgeScene {
  readonly hold: Hold
  readonly task: TaskDefinition
  readonly attempt: AttemptState
  readonly options: ExecuteOptions
  readonly signal: AbortSignal
  /** One model call of an attempt within this one. */
  turn(attempt: AttemptState): Promise<void>
}

/** `entries` are verdicts that are to be journaled together with what comes of them. */
export type Judged = { readonly entries: readonly NewEntry[] } & (
  | { readonly is: 'accepted'; readonly raw: string }
  | { readonly is: 'refused'; readonly by: string; readonly reason: string }
  | { readonly is: 'failed'; readonly reason: string }
  | { readonly is: 'waiting' }
)

export async function judge(scene: JudgeScene, text: string, finish: string): Promise<Judged> {
  const { attempt, task } = scene
  const answer = await judgeAnswer(task, text, finish)
  if (!answer.accepted) return { is: 'refused', by: 'schema', reason: answer.reason, entries: [] }
  let { raw } = answer
  let entries: NewEntry[] = []
  for (const [index, guardrail] of task.guardrails.entries()) {
    const known = attempt.accepted[index]
    // what a model judges must be what is kept
    if (!known && 'sentence' in guardrail && entries.length > 0) {
      await scene.hold.append(entries)
      entries = []
    }
    const verdict = known ? { accepted: true as const, ...known } : await askGuardrail(scene, guardrail, index, raw)
    if (!verdict.accepted) return { is: 'refused', by: guardrail.name, reason: verdict.reason, entries }
    raw = verdict.raw ?? raw
    if (known) continue
    const made = verdict.raw === undefined ? {} : { raw: verdict.raw }
    entries.push({
      type: 'guardrail.judged',
      path: attempt.path,
      guardrail: guardrail.name,
      verdict: 'accepted',
      ...made,
    })
  }
  return task.humanInput ? askPerson(scene, raw, entries) : { is: 'accepted', raw, entries }
}

type Verdict =
  | { readonly accepted: true; readonly raw?: string }
  | { readonly accepted: false; readonly reason: string }

async function askGuardrail(
  scene: JudgeScene,
  guardrail: GuardrailDefinition,
  index: number,
  raw: string,
): Promise<Verdict> {
  const { task, hold } = scene
  if ('sentence' in guardrail) return askModel(scene, guardrail.sentence, index, raw)
  const output = await outputOf({ raw, structured: task.schema !== undefined }, task)
  const readFile = fileReader(hold.engine.store, hold.state)
  return guardrail.judge({ raw, output, inputs: plainInputs(hold.state.inputs), task: task.name, readFile })
}

/** A model judges by a sentence: an attempt within the turn that gave the answer, so that what it says is read back after a crash. */
async function askModel(scene: JudgeScene, sentence: string, index: number, raw: string): Promise<Verdict> {
  const { hold, task, attempt } = scene
  const path = attemptPath(`guardrail-${index + 1}`, 1, attempt.turns.at(-1)?.path)
  if (!hold.state.attempts.has(path)) {
    const request: PinnedRequest = {
      instructions: judgeInstructions,
      message: judgeMessage(sentence, attempt.pinned?.message ?? [], raw),
      ...(attempt.request.files ? { files: attempt.request.files } : {}),
      tools: [],
      model: modelName(task.agent.model),
      settings: task.agent.settings,
      output: verdictSchema,
    }
    const pinned = { request: request as unknown as Json, fingerprint: {}, agent: task.agent.title(hold.state.inputs) }
    await hold.append([{ type: 'task.started', path, ...pinned }])
  }
  const judging = hold.state.attempts.get(path) as AttemptState
  if (judging.turns.length === 0) await scene.turn(judging)
  const said = judging.turns.at(-1)
  const verdict = readVerdict(said ? replyText(said.reply) : '')
  if (verdict) return verdict
  throw new RepriseError(
    'OUTPUT_REFUSED',
    `the guardrail ${JSON.stringify(sentence)} of task ${task.name} got no verdict from the model; use a stronger model, or a function`,
    { runId: hold.state.run, task: task.name },
  )
}

const verdictSchema = {
  type: 'object',
  properties: { accept: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['accept', 'reason'],
  additionalProperties: false,
}

function readVerdict(text: string): Verdict | undefined {
  const json = /\{[\s\S]*\}/.exec(text)?.[0]
  try {
    const { accept, reason } = JSON.parse(json ?? '') as { accept?: unknown; reason?: unknown }
    if (typeof accept !== 'boolean') return undefined
    return accept ? { accepted: true } : { accepted: false, reason: typeof reason === 'string' ? reason : '' }
  } catch {
    return undefined
  }
}

/** Asks a person to approve, and acts on the answer. Any number of rounds: each revision is an attempt of its own. */
async function askPerson(scene: JudgeScene, raw: string, entries: readonly NewEntry[]): Promise<Judged> {
  const { hold, task, attempt, options, signal } = scene
  const find = () =>
    [...hold.state.questions.values()].findLast(
      ({ question, withdrawn }) => question.kind === 'result' && question.path === attempt.path && !withdrawn,
    )
  let asked = find()
  let pending = entries
  if (!asked) {
    await hold.append([...pending, await questionFor(scene, raw)])
    pending = []
    asked = find()
  }
  if (asked && !asked.answer) {
    await putToCaller(hold, asked.question, options, signal)
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
      await hold.append([await questionFor(scene, raw, `What you gave does not fit: ${replaced.reason}. `)])
      return askPerson(scene, raw, [])
    }
    default:
      return { is: 'accepted', raw, entries: pending }
  }
}

async function questionFor({ hold, task, attempt }: JudgeScene, raw: string, before = ''): Promise<NewEntry> {
  const rounds = [...hold.state.questions.values()].filter(
    ({ question }) => question.kind === 'result' && question.path.startsWith(`${task.name}#`),
  )
  const output = (task.schema ? JSON.parse(raw) : raw) as Json
  const text = `${before}Is this result of task ${task.name} good? Answer "approve", "revise" with feedback, "replace" with an output, or "fail" with a reason.`
  const question: Question = {
    id: hold.questionId(),
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
  const parsed = await task.schema.parse(output)
  return parsed.ok ? { ok: true, raw: JSON.stringify(output) } : { ok: false, reason: parsed.reason }
}
