// Questions to people: their texts, the decisions that they accept, and the check of answers. An answer is checked
// before it is posted, so that the person who gives it learns at once if it does not fit.
import { RepriseError } from '../base/errors.ts'
import type { Answer, OnceCall, Question } from '../journal/entries.ts'
import { canonicalJson, strictJson, type Json } from '../journal/json.ts'
import type { RunState } from '../journal/state/state.ts'
import type { NextStep } from '../base/next.ts'
import { rangesOf } from '../text/words.ts'
import { describe } from '../base/options.ts'
import { describeOwner } from '../stores/owner.ts'

export interface DecisionForm {
  readonly must: readonly string[]
  readonly may?: readonly string[]
}

/** The decisions that each kind of question accepts, with their required and optional fields. */
export const decisions: { readonly [K in Question['kind']]: { readonly [decision: string]: DecisionForm } } = {
  result: {
    approve: { must: [] },
    revise: { must: ['feedback'] },
    replace: { must: ['output'] },
    fail: { must: ['reason'] },
  },
  call: {
    approve: { must: [], may: ['input'] },
    deny: { must: ['reason'] },
    use: { must: ['result'] },
    fail: { must: ['reason'] },
  },
  doubt: { run: { must: [] }, happened: { must: ['result'] }, fail: { must: ['reason'] } },
  limit: { raise: { must: ['to'] }, fail: { must: ['reason'] } },
  value: { answer: { must: ['value'] }, fail: { must: ['reason'] } },
}

/** Returns the answer as JSON, or throws ANSWER_INVALID, with the accepted decisions, if it does not fit. */
export function checkAnswer(question: Question, answer: unknown): Answer {
  const json = strictJson(answer, 'answer')
  if (!json.ok) throw answerInvalid(question, `${json.path} is ${json.found}, which is not valid JSON`)
  if (typeof json.value !== 'object' || json.value === null)
    throw answerInvalid(question, `it is ${describe(answer)}, not an object`)
  const value = json.value as { [key: string]: Json }
  const forms = decisions[question.kind]
  const form =
    typeof value['decision'] === 'string' && Object.hasOwn(forms, value['decision'])
      ? forms[value['decision']]
      : undefined
  if (!form) throw answerInvalid(question, `its decision is ${describe(value['decision'])}`)
  const missing = form.must.find((field) => value[field] === undefined)
  const decision = value['decision'] as string
  if (missing) throw answerInvalid(question, `${decision} needs ${missing}`)
  const known = ['decision', 'by', 'note', ...form.must, ...(form.may ?? [])]
  const extra = Object.keys(value).find((field) => !known.includes(field))
  if (extra) throw answerInvalid(question, `${decision} takes no ${JSON.stringify(extra)}`)
  for (const field of ['by', 'note', 'reason', 'feedback']) {
    if (value[field] !== undefined && typeof value[field] !== 'string')
      throw answerInvalid(question, `${field} is not a string`)
    if (form.must.includes(field) && String(value[field]).trim() === '')
      throw answerInvalid(question, `${decision} needs ${field}`)
  }
  if (decision === 'raise') {
    const problem = limitProblem(value['to'])
    if (problem !== undefined) throw answerInvalid(question, `to ${problem}`)
  }
  return value as unknown as Answer
}

/** Returns why a budget is invalid, if it is. */
export function limitProblem(limit: unknown): string | undefined {
  if (typeof limit !== 'object' || limit === null || Array.isArray(limit)) return `is ${describe(limit)}, not an object`
  const names = ['tokens', 'cost', 'seconds', 'steps']
  const entries = Object.entries(limit)
  if (entries.length === 0) return `is empty; give ${names.join(', ')}`
  for (const [name, value] of entries) {
    if (!names.includes(name)) return `has ${JSON.stringify(name)}; there are ${names.join(', ')}`
    if (typeof value !== 'number' || !(value > 0 && Number.isFinite(value)))
      return `has ${describe(value)} as ${name}; give a number above 0`
  }
  return undefined
}

/** Throws QUESTION_NOT_FOUND if `id` is not a string. */
export function checkQuestionId(id: unknown): asserts id is string {
  if (typeof id === 'string') return
  throw new RepriseError('QUESTION_NOT_FOUND', `the question is ${describe(id)}; give its id, such as "q1"`)
}

/**
 * Returns the question with this id. Throws QUESTION_ANSWERED if it has an answer; QUESTION_NOT_FOUND if it was
 * withdrawn or there is none, with the ids of the `open` questions.
 */
export function openQuestion(state: RunState, id: string, open: readonly Question[]): Question {
  const asked = state.questions.get(id)
  if (!asked) {
    const openIds = open.length > 0 ? `open are ${open.map((question) => question.id).join(', ')}` : 'none is open'
    throw new RepriseError('QUESTION_NOT_FOUND', `run ${state.run} has no question ${JSON.stringify(id)}; ${openIds}`, {
      runId: state.run,
      next: { type: 'show', runId: state.run },
    })
  }
  if (asked.answer) throw alreadyAnswered(state.run, id)
  if (asked.withdrawn) {
    const words = `question ${id} of run ${state.run} was withdrawn: its task is done or is executed again`
    throw new RepriseError('QUESTION_NOT_FOUND', words, {
      runId: state.run,
      next: { type: 'show', runId: state.run },
    })
  }
  return asked.question
}

export function alreadyAnswered(run: string, id: string): RepriseError {
  return new RepriseError(
    'QUESTION_ANSWERED',
    `question ${id} of run ${run} already has an answer, and the first answer counts`,
    { runId: run, next: { type: 'show', runId: run } },
  )
}

/** Returns the next step that answers a question. */
export function answerStep(runId: string, { id, kind }: Question): NextStep<'answer'> {
  return { type: 'answer', runId, question: id, decisions: Object.keys(decisions[kind]) }
}

export function doubtQuestionText(
  tool: string,
  input: Json,
  calledAt: string,
  owner: Parameters<typeof describeOwner>[0],
  why: string,
): string {
  return (
    `Did ${tool}(${canonicalJson(input)}) happen? It was called at ${calledAt} by ${describeOwner(owner)} and ${why}. ` +
    `Answer "run" to call it, or "happened" with its result. ` +
    `If repeating such calls is harmless, declare effect: 'read' for runs to come.`
  )
}

/**
 * Returns the question that asks whether to make a call. `lost`: a sentence about missing entries that may record the
 * call.
 */
export function callQuestionText(tool: string, input: Json, earlier: readonly OnceCall[], lost?: string): string {
  const may = `May ${tool}(${canonicalJson(input)}) be called?`
  const asked = lost === undefined ? may : `${may} ${lost}`
  if (earlier.length === 0) return `${asked} Answer "approve" to call it, "deny" with a reason, or "use" with a result.`
  const calls = earlier.map(
    (call) =>
      `${call.tool}(${canonicalJson(call.input)}) of task ${call.task} at ${call.calledAt}, which ${describeOutcome(call)}`,
  )
  return (
    `${asked} Calls that were already made: ${calls.join('; ')}. Answer "approve" to call it, ` +
    `"deny" with a reason, or "use" with a result. ` +
    `If repeating such calls is harmless, declare effect: 'read' for runs to come.`
  )
}

/** Returns a sentence about missing entries that may record calls of the task, or undefined if none are missing. */
export function lostEntriesText(state: RunState, name: string): string | undefined {
  const { lost = [], lostBefore } = state.tasks.get(name) ?? {}
  const words = (entries: readonly number[], source: string): string =>
    `Entries of ${source} are missing (${rangesOf(entries)}), in which this call may have been recorded: check whether it was made.`
  if (lost.length > 0) return words(lost, `the journal of run ${state.run}`)
  if (!lostBefore || state.effects === 'again') return undefined
  return words(lostBefore.entries, `run ${lostBefore.run}, from which this run was forked,`)
}

function describeOutcome(call: OnceCall): string {
  if (call.given) return 'was not made, since a person gave its result'
  if (call.outcome === 'unknown') return 'ended with an unknown outcome'
  return 'error' in call.outcome ? `failed: ${call.outcome.error}` : 'succeeded'
}

function answerInvalid(question: Question, why: string): RepriseError {
  const forms = Object.entries(decisions[question.kind]).map(([decision, { must }]) =>
    [decision, ...must].join(' with '),
  )
  return new RepriseError(
    'ANSWER_INVALID',
    `the answer to question ${question.id} does not fit: ${why}; give a decision: ${forms.join(', ')}`,
  )
}
