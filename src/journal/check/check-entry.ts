// Checks that an entry has the fields of its type, so that no other code has to: a line that somebody edited or made up
// is refused where it is read, and so is one of another format. Fields that are not named here are let through, and so
// are types that this code doesn't know: such a run can be read, but not resumed.
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { journalVersion, type Entry, type EntryBodies, type EntryType, type NewEntry } from '../entries.ts'
import {
  address,
  amount,
  anyOf,
  anything,
  both,
  change,
  choice,
  either,
  entryNumber,
  flag,
  json,
  list,
  object,
  one,
  optional,
  priority,
  record,
  text,
  time,
  yes,
  type Shape,
} from './entry-shapes.ts'

const owner = object({ host: text, boot: text, pid: amount, start: text, instance: text, label: optional(text) })
const detail = optional(amount)
const usage = object({
  calls: amount,
  input: amount,
  output: amount,
  cacheRead: detail,
  cacheWrite: detail,
  reasoning: detail,
})
const failure = object({ code: text, message: text, stack: optional(text) })
const texts = list(text)
const taskFailures = list(object({ task: text, error: failure, skipped: texts }))
const word = optional(text)
const fingerprint = record(text)
const failedTries = list(object({ at: text, error: text, usage: optional(usage) }))
const place = object({ run: text, incarnation: text, seq: amount })
const limit = object({ tokens: detail, cost: detail, seconds: detail })
const declaredTasks = list(
  object({ name: text, id: text, description: text, expectedOutput: optional(text), agent: optional(text) }),
)
const output = object({
  raw: text,
  structured: flag,
  agent: optional(text),
  usage,
  startedAt: text,
  completedAt: text,
  fingerprint: optional(fingerprint),
  limited: optional(record(amount)),
  uncounted: optional(texts),
})
const sentPart = choice('type', {
  text: { text },
  file: both(
    object({ mediaType: text, name: word }),
    anyOf({ base64: text, url: address, reference: record(text), text }),
  ),
  custom: {},
})
const sent = choice('type', {
  value: { value: json },
  error: { value: json },
  denied: { reason: word },
  parts: { parts: list(sentPart) },
})
const alsoSent = object({ sent: optional(sent) })
const outcome = both(anyOf({ result: json, error: text, denied: text, unreadable: text }), alsoSent)
const onceCalls = list(
  object({
    task: text,
    tool: text,
    key: text,
    occurrence: amount,
    input: json,
    calledAt: text,
    outcome: either(one('unknown'), both(anyOf({ result: json, error: text }), alsoSent)),
    given: optional(flag),
    effect: optional(one('idempotent')),
    idempotencyKey: optional(text),
    own: optional(yes),
  }),
)
const taskChanges = object({ added: optional(texts), removed: optional(texts), renamed: optional(record(text)) })
const orphanedTasks = list(object({ task: text, holds: texts, because: word, nearest: word }))
const edited = object({ missing: list(amount), changed: list(amount), tasks: texts })
const file = object({ hash: text, name: text, mediaType: text, bytes: amount })
const pinnedText = list(either(text, object({ output: amount, digest: text })))
const providerTool = object({ id: text, args: record(json), executed: optional(yes), deferred: optional(yes) })
const request = object({
  instructions: text,
  message: pinnedText,
  files: optional(list(file)),
  tools: list(object({ name: text, description: text, schema: json, provider: optional(providerTool) })),
  model: text,
  settings: record(json),
})
const madeFile = both(object({ mediaType: text, thought: optional(yes) }), anyOf({ base64: text, url: address }))
const part = choice('type', {
  text: { text },
  reasoning: { text },
  call: { id: text, tool: text, input: json, invalid: optional(text) },
  'provider-call': { id: text, tool: text, input: json },
  'provider-result': { id: text, tool: text, result: json, failed: optional(yes) },
  source: { id: text, url: word, title: word, mediaType: word, filename: word },
  file: madeFile,
  custom: { kind: text },
})
const message = choice('role', {
  user: { text, files: optional(list(file)) },
  assistant: { parts: list(part) },
  tool: { results: list(object({ id: text, tool: text, outcome })) },
})
const conversation = object({ first: pinnedText, files: optional(list(file)), rest: list(message) })
const asked = { id: text, path: text, text }
const question = choice('kind', {
  result: { ...asked, output: json, round: amount },
  call: { ...asked, tool: text, input: json, key: text, earlier: onceCalls },
  doubt: { ...asked, tool: text, input: json, key: text, calledAt: text, owner },
  limit: { ...asked, limit, spent: usage },
})
const answer = choice('decision', {
  approve: {},
  revise: { feedback: text },
  replace: { output: json },
  fail: { reason: text },
  deny: { reason: text },
  use: { result: json },
  run: {},
  happened: { result: json },
  raise: { to: limit },
})
const by = optional(text)

/**
 * Every field of every type is here, so that a new one is not forgotten. `path` where an entry is meaningless without
 * it.
 */
const bodies: { [T in EntryType]: { [K in keyof EntryBodies[T]]-?: Shape } & { path?: Shape } } = {
  'run.created': {
    run: text,
    incarnation: text,
    crew: text,
    version: text,
    inputs: record(json),
    given: optional(record(json)),
    tasks: declaredTasks,
    owner,
    parent: optional(object({ run: text, incarnation: text, from: optional(text), request: optional(text) })),
    plan: optional(
      list(object({ task: text, action: text, reasons: texts, fields: optional(texts), unless: optional(texts) })),
    ),
    reuse: optional(object({ maxAgeSeconds: optional(amount) })),
    calls: optional(onceCalls),
    lost: optional(list(object({ task: text, run: text, entries: list(amount) }))),
    effects: optional(one('ask', 'again', 'never')),
    trials: optional(amount),
    queued: optional(yes),
    notBefore: optional(time),
    priority: optional(priority),
    through: optional(text),
    module: optional(object({ file: text, export: optional(text) })),
    by,
  },
  'run.resumed': {
    owner,
    via: optional(object({ dispatcher: text, id: text })),
    version: optional(text),
    through: optional(text),
    tasks: optional(declaredTasks),
    changes: optional(taskChanges),
    edited: optional(edited),
    budget: optional(limit),
    by,
  },
  'run.suspended': {
    reason: text,
    through: optional(text),
    orphaned: optional(orphanedTasks),
    children: optional(texts),
    to: optional(text),
    arrived: optional(yes),
  },
  'run.yielded': {},
  'run.requeued': { by },
  'run.imported': {},
  'run.woken': { child: text },
  'run.completed': {},
  'run.failed': { error: failure, task: optional(text), retryAt: optional(time), progress: optional(yes) },
  'run.cancelled': { by, reason: optional(text) },
  'task.offered': { path: text, from: place, output, conversation: optional(conversation) },
  'task.inherited': {
    path: text,
    from: place,
    output: optional(output),
    conversation: optional(conversation),
    reasons: optional(texts),
    stale: optional(texts),
    condition: optional(fingerprint),
  },
  'task.started': {
    path: text,
    request: optional(request),
    fingerprint,
    condition: optional(fingerprint),
    agent: optional(text),
    child: optional(yes),
    code: optional(yes),
    carries: optional(object({ path: text, message: text })),
    because: optional(texts),
  },
  'task.completed': {
    path: text,
    raw: optional(text),
    structured: flag,
    within: optional(text),
    spent: optional(record(usage)),
    calls: optional(onceCalls),
    uncounted: optional(texts),
    failures: optional(taskFailures),
  },
  'task.failed': { path: text, error: failure, final: optional(yes) },
  'task.skipped': {
    path: text,
    reason: text,
    condition: optional(fingerprint),
    failed: optional(texts),
    spent: optional(record(usage)),
    calls: optional(onceCalls),
  },
  'task.edited': { path: text, raw: text, structured: flag, by },
  'task.invalidated': { path: text, by, reason: optional(text) },
  'callback.returned': { of: amount },
  'file.written': { path: text, of: amount, file: text, bytes: amount },
  'model.replied': {
    path: text,
    startedAt: text,
    tries: optional(failedTries),
    parts: list(part),
    usage,
    finish: text,
    model: optional(text),
    last: optional(yes),
    paused: optional(yes),
  },
  'model.failed': { path: text, startedAt: text, tries: failedTries, error: failure },
  'tool.called': {
    path: text,
    tool: text,
    effect: one('read', 'idempotent', 'once'),
    key: text,
    idempotencyKey: text,
    input: anything,
    allowedBy: optional(text),
    cacheKey: optional(text),
  },
  'tool.returned': {
    path: text,
    outcome,
    source: optional(text),
    key: optional(text),
    by,
    stack: optional(text),
    uncounted: optional(texts),
  },
  'tool.abandoned': { path: text, reason: text, begun: optional(flag) },
  'guardrail.judged': {
    path: text,
    guardrail: text,
    verdict: one('accepted', 'refused'),
    reason: optional(text),
    raw: optional(text),
    uncounted: optional(texts),
  },
  'context.summarised': { path: text, through: text, summary: text },
  'question.asked': { question },
  'question.answered': { question: text, answer },
  'message.refused': { message: text, reason: text },
}
const shapes = new Map(Object.entries(bodies).map(([type, body]) => [type, object({ path: optional(text), ...body })]))
const envelope = object({ seq: entryNumber, at: time, jump: optional(change), token: amount, prev: text })
const unknown = object({ seq: entryNumber })

/**
 * JOURNAL_DAMAGED, with the field and its value, when an entry doesn't have the fields of its type, or is of another
 * format.
 */
export function checkEntry(entry: Entry, where: string): Entry {
  if (entry.v !== journalVersion) throw otherFormat(where, entry.v, journalVersion)
  const shape = shapes.get(entry.type)
  const problem = shape ? (envelope(entry) ?? shape(entry)) : unknown(entry)
  if (problem === undefined) return entry
  const words = `${where} is a ${describe(entry.type)} whose ${problem.slice(1)}; fix that line, or restore the journal from a copy`
  throw new RepriseError('JOURNAL_DAMAGED', words)
}

/** Nothing is guessed about a format of another build, older or newer. */
export function otherFormat(what: string, found: unknown, read: number): RepriseError {
  const words = `${what} has format ${describe(found)}, and this build reads format ${read}; finish or delete the run with the build of Reprise that made it`
  return new RepriseError('JOURNAL_DAMAGED', words)
}

/** What is wrong with an entry that is about to be written: `raw is 5, not a text`. */
export function entryProblem(entry: NewEntry): string | undefined {
  return shapes.get(entry.type)?.(entry)?.slice(1)
}

/** The hand edit that an entry records, if it has a valid one. */
export function editOf(entry: object): EntryBodies['run.resumed']['edited'] {
  const edit = (entry as { readonly edited?: unknown }).edited
  return edited(edit) === undefined ? (edit as EntryBodies['run.resumed']['edited']) : undefined
}
