// A value held against a schema, as the engine does it: whatever the schema's own code does, the answer is data. Apart
// from the schemas themselves, since taking credentials out of texts needs more code than all the rest that a bundle
// with one tool has.
import { messageOf } from '../base/errors.ts'
import type { Json } from '../journal/json.ts'
import { redact } from '../secrets/redact.ts'
import type { ParseResult, ValueSchema } from './answer-schema.ts'

/** Never rejects: a transform or refinement that throws has refused the value too. */
export function parseValue(schema: Pick<ValueSchema, 'validate'>, value: Json): Promise<ParseResult> {
  return schema.validate(value).catch((error: unknown) => ({ ok: false, reason: redact(messageOf(error)) }))
}
