// Edited or forged entries. Each is read as it is, or refused with its number and field; code that uses the entries
// that were read never fails on them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { conversation } from '../../src/read/conversation.ts'
import { callsToInherit } from '../../src/engine/calls/once.ts'
import { outputKeys, listingRow } from '../../src/read/row.ts'
import { RepriseError } from '../../src/base/errors.ts'
import { decodePlain } from '../../src/journal/codec.ts'
import { diffRuns } from '../../src/runs/diff/diff-runs.ts'
import {
  journalVersion,
  type Conversation,
  type Entry,
  type NewEntry,
  type OnceCall,
  type Owner,
  type SentResult,
  type StoredOutput,
} from '../../src/journal/entries.ts'
import { fold } from '../../src/journal/state/fold.ts'
import { entryRows } from '../../src/journal/table/entry-table.ts'
import { openQuestions } from '../../src/journal/state/open-questions.ts'
import { toModelMessages } from '../../src/models/messages.ts'

const at = '2026-01-01T00:00:00.000Z'
const owner: Owner = { host: 'h', boot: 'b', pid: 1, start: 's', instance: 'i' }
const usage = { calls: 1, input: 2, output: 3, cacheRead: 1 }
const failure = { code: 'TASK_FAILED', message: 'no' }
const tasks = ['a', 'b', 'c'].map((name) => ({ name, id: name, description: name, expectedOutput: 'x', agent: 'A' }))
const output: StoredOutput = {
  raw: '{}',
  structured: true,
  agent: 'A',
  usage,
  startedAt: at,
  completedAt: at,
  fingerprint: { x: 'y' },
  limited: { A: 3 },
}
const spoken: Conversation = {
  first: ['m', { output: 2, digest: 'd' }],
  files: [{ hash: 'h', name: 'n', mediaType: 'text/plain', bytes: 1 }],
  rest: [
    { role: 'assistant', parts: [{ type: 'text', text: 't' }] },
    { role: 'tool', results: [{ id: 'i', tool: 't', outcome: { result: 1 } }] },
    { role: 'user', text: 'u' },
  ],
}
const from = { run: 'p', incarnation: 'p', seq: 3 }
const call: OnceCall = {
  task: 'a',
  tool: 't',
  key: 'k',
  occurrence: 0,
  input: {},
  calledAt: at,
  outcome: { result: 1 },
  given: true,
}
const request = {
  instructions: 'i',
  message: ['m', { output: 2, digest: 'd' }],
  tools: [
    { name: 't', description: 'd', schema: {}, provider: { id: 'p.t', args: {}, executed: true, deferred: true } },
  ],
  model: 'm',
  settings: {},
  files: [{ hash: 'h', name: 'n', mediaType: 'text/plain', bytes: 1 }],
}
const made = [
  { type: 'provider-call', id: 'p', tool: 't', input: {}, opaque: { p: { x: 1 } } },
  { type: 'provider-result', id: 'p', tool: 't', result: 1, failed: true },
  { type: 'source', id: 's', url: 'https://a.example', title: 't', mediaType: 'm', filename: 'f' },
  { type: 'file', mediaType: 'image/png', base64: 'AQI=', thought: true },
  { type: 'file', mediaType: 'image/png', url: 'https://a.example/x' },
  { type: 'custom', kind: 'p.k' },
] as const
const sent: SentResult = {
  type: 'parts',
  parts: [
    { type: 'text', text: 't' },
    { type: 'file', mediaType: 'image/png', name: 'n', base64: 'AQI=' },
    { type: 'file', mediaType: 'image/png', url: 'https://a.example/x' },
    { type: 'file', mediaType: 'image/png', reference: { p: 'id' } },
    { type: 'file', mediaType: 'text/plain', text: 't' },
    { type: 'custom', opaque: { p: {} } },
  ],
}
const parts = [
  { type: 'reasoning', text: 'hm' },
  { type: 'text', text: 'out' },
  { type: 'call', id: 'i', tool: 't', input: { x: 1 } },
  { type: 'call', id: 'j', tool: 't', input: {}, invalid: 'no' },
] as const
const asked = { id: 'q1', path: 'a#1/1.0', text: '?' }

/** One or more entries of every type, with nearly every field. */
const every: NewEntry[] = [
  {
    type: 'run.created',
    run: 'r',
    incarnation: 'i',
    crew: 'c',
    version: '1',
    inputs: { topic: 'x' },
    given: {},
    tasks,
    owner,
    parent: { run: 'p', incarnation: 'p', from: 'a', request: 'd' },
    plan: [{ task: 'a', action: 'execute', reasons: ['r'], fields: ['f'], unless: ['b'] }],
    reuse: { maxAgeSeconds: 1 },
    calls: [call],
    lost: [{ task: 'a', run: 'p', entries: [7, 8] }],
    effects: 'ask',
    queued: true,
    notBefore: at,
    priority: 1,
    through: 'a',
    module: { file: 'crews/a.ts', export: 'crew' },
    flow: true,
    seed: 's',
    previous: 'r0',
    chat: true,
    by: 'me',
  },
  { type: 'task.offered', path: 'b', from, output, conversation: spoken },
  { type: 'task.inherited', path: 'b', from, reasons: ['r'], stale: ['s'], condition: { x: 'y' } },
  { type: 'task.inherited', path: 'c', from, output, after: 2 },
  {
    type: 'task.inherited',
    path: 'd',
    from,
    error: { ...failure, name: 'E', data: { x: 1 } },
    after: 2,
    fingerprint: {},
    timedOut: true,
  },
  { type: 'task.started', path: 'a#1', request, fingerprint: { f: 'd' }, agent: 'A', because: ['b'] },
  { type: 'model.failed', path: 'a#1/1', startedAt: at, tries: [{ at, error: 'e' }], error: failure },
  {
    type: 'model.replied',
    path: 'a#1/1',
    startedAt: at,
    tries: [{ at, error: 'e', usage }],
    parts: [...parts, ...made],
    usage,
    finish: 'stop',
    paused: true,
    model: 'n',
    last: true,
  },
  {
    type: 'tool.called',
    path: 'a#1/1.0',
    tool: 't',
    effect: 'once',
    key: 'k',
    idempotencyKey: 'i',
    input: {},
    allowedBy: 'q1',
    cacheKey: 'c',
  },
  { type: 'tool.abandoned', path: 'a#1/1.0', reason: 'r', begun: false },
  {
    type: 'question.asked',
    path: 'a#1/1.0',
    question: { ...asked, kind: 'call', tool: 't', input: {}, key: 'k', earlier: [call] },
  },
  { type: 'question.answered', question: 'q1', answer: { decision: 'approve', input: {}, by: 'me', note: 'n' } },
  {
    type: 'question.asked',
    path: 'a#1/1.0',
    question: { ...asked, id: 'q2', kind: 'doubt', tool: 't', input: {}, key: 'k', calledAt: at, owner },
  },
  {
    type: 'question.asked',
    path: 'a#1',
    question: { ...asked, id: 'q3', path: 'a#1', kind: 'result', output: {}, round: 1 },
  },
  {
    type: 'question.asked',
    question: { ...asked, id: 'q4', path: 'a', kind: 'limit', limit: { tokens: 1 }, spent: usage },
  },
  { type: 'question.answered', question: 'q4', answer: { decision: 'raise', to: { tokens: 2 } } },
  {
    type: 'tool.returned',
    path: 'a#1/1.0',
    outcome: { result: { x: 1 }, sent },
    source: 'settled',
    key: 'k',
    by: 'me',
  },
  { type: 'guardrail.judged', path: 'a#1', guardrail: 'g', verdict: 'accepted', reason: 'r', raw: 'x' },
  { type: 'context.summarised', path: 'a#1', through: 'a#1/1', summary: 's' },
  { type: 'task.failed', path: 'a#1', error: failure, retryAt: at },
  { type: 'run.failed', error: failure, task: 'a', retryAt: at, steps: ['a'] },
  {
    type: 'run.resumed',
    version: '2',
    through: 'a',
    owner,
    tasks,
    edited: { missing: [9], changed: [8], tasks: ['b'] },
    budget: { tokens: 3 },
    retry: ['a'],
    by: 'me',
  },
  {
    type: 'task.started',
    path: 'a#2',
    request,
    fingerprint: {},
    carries: { path: 'a#1', message: 'm' },
    child: true,
  },
  { type: 'model.replied', path: 'a#2/1', startedAt: at, parts: [parts[1]], usage, finish: 'stop' },
  { type: 'task.completed', path: 'a#2', structured: false, raw: 'out', spent: { m: usage }, calls: [call] },
  {
    type: 'task.started',
    path: 'b#1',
    fingerprint: { f: 'd' },
    code: true,
    call: { effect: 'once', key: 'k', idempotencyKey: 'i' },
  },
  { type: 'task.completed', path: 'b#1', raw: '{}', structured: true, returned: true, uncounted: ['x'] },
  { type: 'event.received', name: 'e', value: { x: 1 }, id: 'i', by: 'me' },
  { type: 'task.started', path: 'e#1', fingerprint: {}, after: 3, wait: 'event', until: at, input: { x: 1 } },
  { type: 'task.completed', path: 'e#1', structured: true, event: 4, timedOut: true },
  { type: 'task.renamed', path: 'e', to: 'f' },
  {
    type: 'question.asked',
    path: 'f#1',
    question: { ...asked, id: 'q5', path: 'f#1', kind: 'value', schema: {}, about: { x: 1 } },
  },
  { type: 'question.answered', question: 'q5', answer: { decision: 'answer', value: 1 } },
  { type: 'callback.returned', path: 'a', of: 3 },
  { type: 'file.written', path: 'a', of: 3, file: 'f', bytes: 2 },
  { type: 'task.skipped', path: 'b', reason: 'r' },
  { type: 'task.edited', path: 'c', raw: '1', structured: true, by: 'me' },
  { type: 'task.invalidated', path: 'c', by: 'me', reason: 'r', because: ['b'] },
  { type: 'message.refused', message: 'm', reason: 'r' },
  { type: 'run.suspended', reason: 'child', through: 'a', children: ['x'], until: at },
  { type: 'run.woken', child: 'r/x#1' },
  { type: 'run.yielded' },
  { type: 'run.requeued', by: 'ada' },
  { type: 'run.imported' },
  { type: 'run.cancelled', by: 'me', reason: 'r' },
  { type: 'run.completed', value: { x: 1 }, left: ['a'], next: 'r2' },
]

type Line = Record<string, unknown>
const lineOf = (entry: object, seq: number): Line =>
  JSON.parse(JSON.stringify({ v: journalVersion, seq, at, token: 1, prev: '', ...entry })) as Line
const lines = every.map((entry, index) => lineOf(entry, index + 1))

const decode = (line: object, seq: number): Entry =>
  decodePlain(Buffer.from(JSON.stringify(line)), `entry ${seq} of run r`) as Entry

const whole = lines.map((line, index) => decode(line, index + 1))

/** Calls everything that works on a journal without the code of its crew. */
function use(entries: readonly Entry[]): void {
  const state = fold(entries)
  listingRow(state)
  outputKeys(state, entries)
  callsToInherit(state)
  openQuestions(state)
  diffRuns(state, fold(entries.slice(0, 8)))
  for (const attempt of state.attempts.values()) {
    const said = conversation(state, attempt)
    const hashes = said
      .flatMap((message) => (message.role === 'user' ? (message.files ?? []) : []))
      .map(({ hash }) => hash)
    toModelMessages(said, { files: new Map(hashes.map((hash) => [hash, Buffer.from('x')])) })
  }
}

/** The paths of all members within a value. */
function placesIn(value: unknown, above: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [[...above, name], ...placesIn(member, [...above, name])])
}

function put(target: unknown, names: readonly string[], value: unknown): void {
  const holder = names.slice(0, -1).reduce((inner, name) => (inner as Record<string, unknown>)[name], target)
  const last = names.at(-1) ?? ''
  if (value === undefined) Reflect.deleteProperty(holder as object, last)
  else (holder as Record<string, unknown>)[last] = value
}

test('an entry of every type is decoded as it was written', () => {
  assert.deepEqual(new Set<string>(every.map((entry) => entry.type)), new Set(entryRows.keys()))
  use(whole)
})

describe('an entry with one change', () => {
  const others: unknown[] = [
    undefined,
    null,
    5,
    -1,
    'constructor',
    true,
    [],
    {},
    [null],
    ['__proto__'],
    { __proto__: null, constructor: 1 },
  ]
  for (const [index, { type }] of every.entries()) {
    test(`a changed entry is accepted, or refused by number and field: ${type} (${index + 1})`, () => {
      let refused = 0
      for (const place of placesIn(lines[index])) {
        if (['seq', 'type', 'v'].includes(place[0] ?? '')) continue
        for (const other of others) {
          // a message may also be a list
          if (place.join('.') === 'request.message' && Array.isArray(other)) continue
          const changed = structuredClone(lines[index]) as Line
          put(changed, place, other)
          const what = `${place.join('.')} = ${JSON.stringify(other)}`
          try {
            use(whole.with(index, decode(changed, index + 1)))
          } catch (error) {
            assert.ok(RepriseError.isInstance(error), `${what}: ${String((error as Error).stack)}`)
            assert.equal(error.code, 'JOURNAL_DAMAGED', what)
            assert.ok(error.message.startsWith(`entry ${index + 1} of run r is a "${type}" whose `), error.message)
            refused += 1
          }
        }
      }
      assert.ok(refused > 10)
    })
  }
})

for (const [change, message] of [
  [{ inputs: null }, 'inputs is null, not an object'],
  [{ calls: 5 }, 'calls is 5, not a list'],
  [{ tasks: {} }, 'tasks is an object, not a list'],
  [{ tasks: [...tasks, { name: 'x', id: 1 }] }, 'tasks[3].id is 1, not a string'],
  [{ owner: { ...owner, pid: 'x' } }, 'owner.pid is "x", not a number of at least 0'],
  [{ effects: 'constructor' }, 'effects is "constructor", not ask or again or never'],
] as const) {
  test(`a changed run.created is refused with the reason: ${message}`, () => {
    assert.throws(() => decode({ ...lines[0], ...change }, 1), {
      code: 'JOURNAL_DAMAGED',
      message: `entry 1 of run r is a "run.created" whose ${message}; fix that line, or restore the journal from a copy`,
    })
  })
}

test('unknown fields and unknown types of entries are accepted', () => {
  const [created] = lines
  decode({ ...created, extra: { deep: 1 } }, 1)
  decode({ v: journalVersion, seq: 2, type: 'dream.seen', inputs: null }, 2)
})

test('an entry of another format is refused with both formats and the remedy', () => {
  for (const v of [journalVersion - 1, journalVersion + 1, undefined]) {
    assert.throws(() => decode({ ...lines[0], v }, 1), {
      code: 'JOURNAL_DAMAGED',
      message: new RegExp(
        `has format ${v}, .* reads format ${journalVersion}; finish or delete the run with the build`,
      ),
    })
  }
})

for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
  test(`the entry type ${name} is unknown to the fold`, () => {
    const odd = decode({ v: journalVersion, seq: 2, at, token: 1, prev: '', type: name }, 2)
    assert.equal(fold([decode(lines[0] ?? {}, 1), odd]).unknown, `type "${name}" of entry 2`)
  })
}

test('a conversation that carries itself, directly or not, is read without an endless loop', () => {
  const started = (seq: number, path: string, carried: string): Entry =>
    decode(lineOf({ type: 'task.started', path, fingerprint: {}, carries: { path: carried, message: '' } }, seq), seq)
  const [created] = lines
  for (const pairs of [
    [['a#1', 'a#1']],
    [
      ['a#1', 'a#2'],
      ['a#2', 'a#1'],
    ],
    [
      ['a#1', 'x'],
      ['a#2', 'a#1'],
      ['a#1', 'a#2'],
    ],
  ]) {
    use([
      decode(created ?? {}, 1),
      ...pairs.map(([path = '', carried = ''], index) => started(index + 2, path, carried)),
    ])
  }
})
