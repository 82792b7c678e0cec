// The shapes of the values inside entries; values.ts has their types. Members without a shape here aren't checked.
import {
  address,
  amount,
  anyOf,
  both,
  choice,
  either,
  flag,
  json,
  list,
  object,
  one,
  optional,
  record,
  text,
  yes,
  type Shape,
} from './shapes.ts'

export const owner: Shape = object({
  host: text,
  boot: text,
  pid: amount,
  start: text,
  instance: text,
  label: optional(text),
})
const optionalAmount = optional(amount)
export const usage: Shape = object({
  calls: amount,
  input: amount,
  output: amount,
  cacheRead: optionalAmount,
  cacheWrite: optionalAmount,
  reasoning: optionalAmount,
})
export const failure: Shape = object({
  code: text,
  message: text,
  stack: optional(text),
  name: optional(text),
  data: optional(record(json)),
})
export const thrown: Shape = object({ name: optional(text), data: optional(record(json)) })
export const texts: Shape = list(text)
export const effect: Shape = one('read', 'idempotent', 'once')
export const taskFailures: Shape = list(object({ task: text, error: failure, skipped: texts }))
const optionalText = optional(text)
export const fingerprint: Shape = record(text)
export const failedTries: Shape = list(object({ at: text, error: text, usage: optional(usage) }))
export const outputPlace: Shape = object({ run: text, incarnation: text, seq: amount })
export const limit: Shape = object({
  tokens: optionalAmount,
  cost: optionalAmount,
  seconds: optionalAmount,
  steps: optionalAmount,
})
export const declaredTasks: Shape = list(
  object({ name: text, id: text, description: text, expectedOutput: optional(text), agent: optional(text) }),
)
export const output: Shape = object({
  raw: text,
  structured: flag,
  within: optional(text),
  agent: optional(text),
  texts: optional(object({ description: text, expectedOutput: optional(text) })),
  usage,
  startedAt: text,
  completedAt: text,
  fingerprint: optional(fingerprint),
  limited: optional(record(amount)),
  by: optional(text),
  uncounted: optional(texts),
  failures: optional(taskFailures),
})
export const listedItems: Shape = list(object({ key: text, item: json }))
const sentPart = choice('type', {
  text: { text },
  file: both(
    object({ mediaType: text, name: optionalText }),
    anyOf({ base64: text, url: address, reference: record(text), text }),
  ),
  custom: {},
})
const sent = choice('type', {
  value: { value: json },
  error: { value: json },
  denied: { reason: optionalText },
  parts: { parts: list(sentPart) },
})
const withSent = object({ sent: optional(sent) })
export const outcome: Shape = both(anyOf({ result: json, error: text, denied: text, unreadable: text }), withSent)
export const onceCalls: Shape = list(
  object({
    task: text,
    tool: text,
    key: text,
    occurrence: amount,
    input: json,
    calledAt: text,
    outcome: either(one('unknown'), both(anyOf({ result: json, error: text }), withSent)),
    given: optional(flag),
    effect: optional(one('idempotent')),
    idempotencyKey: optional(text),
    own: optional(yes),
  }),
)
export const taskChanges: Shape = object({
  added: optional(texts),
  removed: optional(texts),
  renamed: optional(record(text)),
})
export const orphanedTasks: Shape = list(
  object({ task: text, holds: texts, because: optionalText, nearest: optionalText }),
)
export const handEdit: Shape = object({ missing: list(amount), changed: list(amount), tasks: texts })
const file = object({ hash: text, name: text, mediaType: text, bytes: amount })
const pinnedText = list(either(text, object({ output: amount, digest: text })))
const providerTool = object({ id: text, args: record(json), executed: optional(yes), deferred: optional(yes) })
const generatedFile = both(object({ mediaType: text, thought: optional(yes) }), anyOf({ base64: text, url: address }))
export const part: Shape = choice('type', {
  text: { text },
  reasoning: { text },
  call: { id: text, tool: text, input: json, invalid: optional(text) },
  'provider-call': { id: text, tool: text, input: json },
  'provider-result': { id: text, tool: text, result: json, failed: optional(yes) },
  source: { id: text, url: optionalText, title: optionalText, mediaType: optionalText, filename: optionalText },
  file: generatedFile,
  custom: { kind: text },
})
const message = choice('role', {
  user: { text, files: optional(list(file)) },
  assistant: { parts: list(part) },
  tool: { results: list(object({ id: text, tool: text, outcome })) },
})
export const request: Shape = object({
  instructions: text,
  history: optional(list(message)),
  message: pinnedText,
  files: optional(list(file)),
  tools: list(object({ name: text, description: text, schema: json, provider: optional(providerTool) })),
  model: text,
  settings: record(json),
})
export const conversation: Shape = object({ first: pinnedText, files: optional(list(file)), rest: list(message) })
const questionFields = { id: text, path: text, text }
export const question: Shape = choice('kind', {
  result: { ...questionFields, output: json, round: amount },
  call: { ...questionFields, tool: text, input: json, key: text, earlier: onceCalls },
  doubt: { ...questionFields, tool: text, input: json, key: text, calledAt: text, owner },
  limit: { ...questionFields, limit, spent: usage },
  value: { ...questionFields, schema: json },
})
export const answer: Shape = choice('decision', {
  approve: {},
  revise: { feedback: text },
  replace: { output: json },
  fail: { reason: text },
  deny: { reason: text },
  use: { result: json },
  run: {},
  happened: { result: json },
  raise: { to: limit },
  answer: { value: json },
})
export const by: Shape = optional(text)
