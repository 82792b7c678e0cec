// Checks a model's final answer. Without a schema, any text that isn't empty is accepted; with a schema, the JSON in
// the answer must fit it.
import { messageOf } from '../../base/errors.ts'
import { isNestedDeeper, nestingLimit, type Json } from '../../journal/json.ts'
import { parseValue } from '../../schema/parse-value.ts'
import type { TaskDefinition } from '../definition.ts'

export type OutputCheck =
  | { readonly accepted: true; readonly raw: string }
  | { readonly accepted: false; readonly reason: string }

/** `raw` of an accepted structured answer is only its JSON, before the schema's transforms. */
export async function checkOutput(
  task: Pick<TaskDefinition, 'schema'>,
  text: string,
  finish: string,
): Promise<OutputCheck> {
  if (finish === 'length')
    return { accepted: false, reason: 'it was cut off at the limit of output tokens; be shorter' }
  if (finish === 'content-filter')
    return { accepted: false, reason: "it was stopped by the provider's content filter; say it in another way" }
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

/** Finds JSON that is the whole text, or that the model wrapped in a code fence or a sentence. */
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
