// Guardrails: functions that accept, change or reject an answer, or sentences that a model checks it against.
import type { GuardrailDefinition, GuardrailInput } from '../engine/definition.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import { strictJson, type Json } from '../journal/json.ts'
import { redact } from '../secrets/redact.ts'
import { listOf, type Check, describe } from '../base/options.ts'
import { type AnswerSchema, parseValue } from '../schema/answer-schema.ts'

/**
 * `true` accepts the answer. A string rejects it, and is sent to the model as the reason. `{ output }` accepts the
 * answer with this output instead.
 */
export type Verdict = true | string | { readonly output: unknown }

/**
 * A function that judges an answer, or a sentence that a model checks it against: "The note is polite and names no
 * amount".
 */
export type Guardrail<Output = unknown> = string | ((answer: GuardrailInput<Output>) => Verdict | Promise<Verdict>)

export const guardrailsCheck: Check<readonly Guardrail<never>[]> = {
  expected: 'a function or a sentence, or a list of them',
  read: (what, value) => itemsCheck.read(what, Array.isArray(value) ? value : [value]),
}

const itemsCheck = listOf<Guardrail<never>>(
  guardrailsCheck.expected,
  'a function, or a sentence',
  (item) => typeof item === 'function' || (typeof item === 'string' && item.trim() !== ''),
)

/** Identifies a guardrail in fingerprints. A function is identified by its name: its code can't be compared. */
export function guardrailIdentity(guardrail: Guardrail<never>): Json {
  return typeof guardrail === 'string' ? guardrail : { function: guardrail.name }
}

export function defineGuardrail(
  guardrail: Guardrail<never>,
  index: number,
  task: string,
  schema: AnswerSchema | undefined,
): GuardrailDefinition {
  if (typeof guardrail === 'string') return { name: `guardrail ${index + 1}`, sentence: guardrail }
  const name = guardrail.name === '' ? `guardrail ${index + 1}` : guardrail.name
  const called = guardrail.name === '' ? name : `guardrail ${name}`
  const fail = (what: string, cause?: unknown): RepriseError =>
    new RepriseError('TASK_FAILED', `${called} ${what}`, { task, cause })
  return {
    name,
    async judge(answer) {
      let verdict: unknown
      try {
        verdict = await guardrail(answer as GuardrailInput<never>)
      } catch (error) {
        throw fail(`threw: ${redact(messageOf(error))}; to reject an answer, return the reason as a string`, error)
      }
      if (verdict === true) return { accepted: true }
      if (typeof verdict === 'string')
        return { accepted: false, reason: verdict.trim() === '' ? `${called} rejected it without a reason` : verdict }
      if (typeof verdict !== 'object' || verdict === null || !('output' in verdict))
        throw fail(`returned ${describe(verdict)}; return true, a reason, or { output }`)
      return { accepted: true, raw: await rawOutput(verdict.output, schema, fail) }
    },
  }
}

async function rawOutput(
  output: unknown,
  schema: AnswerSchema | undefined,
  fail: (what: string) => RepriseError,
): Promise<string> {
  const json = strictJson(output, 'output')
  if (!json.ok) throw fail(`returned an output in which ${json.path} is ${json.found}, which is not valid JSON`)
  if (!schema) {
    if (typeof json.value === 'string') return json.value
    throw fail(`returned ${describe(output)} as the output; the task has no schema, so return a string`)
  }
  const parsed = await parseValue(schema, json.value)
  if (!parsed.ok) throw fail(`returned an output that does not fit the schema: ${parsed.reason}`)
  return JSON.stringify(json.value)
}
