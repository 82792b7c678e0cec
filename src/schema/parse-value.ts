// Validates a value for the engine: errors thrown by the schema's code become refusals, without credentials. Separate
// from the schemas, because `redact` would more than double the size of a bundle with one tool.
import { messageOf } from '../base/errors.ts'
import type { Json } from '../journal/json.ts'
import { redact } from '../secrets/redact.ts'
import type { ParseResult, ValueSchema } from './answer-schema.ts'

/** Never rejects: a transform or refinement that throws is a refusal. */
export function parseValue(schema: Pick<ValueSchema, 'validate'>, value: Json): Promise<ParseResult> {
  return schema.validate(value).catch((error: unknown) => ({ ok: false, reason: redact(messageOf(error)) }))
}
