// The parts of the journal: JSON, codec, paths, fold.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeEntry, encodeEntry } from '../../src/journal/codec.ts'
import { journalVersion, type Entry, type NewEntry, type Owner } from '../../src/journal/entries.ts'
import { changedFields, explainChange } from '../../src/journal/describe.ts'
import { fold } from '../../src/journal/state/fold.ts'
import { digest } from '../../src/journal/hash.ts'
import {
  canonicalJson,
  isNestedDeeper,
  nestingLimit,
  strictJson,
  throughJson,
  type Json,
} from '../../src/journal/json.ts'
import { attemptPath, callPath, parentPath, taskInPath, turnPath } from '../../src/journal/paths.ts'

const owner: Owner = { host: 'h', boot: 'b', pid: 1, start: 's', instance: 'i' }
const stamp = { seq: 1, at: '2026-01-01T00:00:00.000Z', token: 1, prev: '' }

/** JSON values, with member names that may be mistaken for something else. */
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
    fc.string({ unit: 'grapheme' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.constantFrom('$blob', '$$blob', '$$$blob', '__proto__', 'toString'), fc.string()),
      tie('value'),
      {
        maxKeys: 4,
        noNullPrototype: true,
      },
    ),
  ),
})).value

describe('the codec', () => {
  test('the codec returns every value, whatever the names of its members and however large it is', async () => {
    await fc.assert(
      fc.asyncProperty(json, fc.boolean(), async (value, large) => {
        const result: Json = large ? { value, filler: 'x'.repeat(70_000) } : value
        const entry: NewEntry = { type: 'tool.returned', path: 'a#1/1.0', outcome: { result } }
        const { bytes, blobs } = encodeEntry(entry, stamp)
        const byHash = new Map(blobs.map((blob) => [blob.hash, blob.bytes]))
        const decoded = await decodeEntry(bytes, (hash) => Promise.resolve(byHash.get(hash)), 'entry 1')
        assert.equal(
          JSON.stringify(decoded),
          JSON.stringify({ v: journalVersion, seq: 1, at: stamp.at, ...entry, token: 1, prev: '' }),
        )
        assert.equal(blobs.length > 0, large)
        assert.ok(bytes.length < 66_000)
      }),
      { numRuns: 300 },
    )
  })

  test("the codec names an entry that isn't JSON, and a missing stored value", async () => {
    const none = () => Promise.resolve(undefined)
    await assert.rejects(decodeEntry(Buffer.from('{"torn'), none, 'entry 3 of run r'), {
      code: 'JOURNAL_DAMAGED',
      message: /entry 3 of run r/,
    })
    const { bytes, blobs } = encodeEntry({ type: 'tool.returned', outcome: { result: 'x'.repeat(70_000) } }, stamp)
    await assert.rejects(decodeEntry(bytes, none, 'entry 1'), {
      code: 'BLOB_MISSING',
      message: new RegExp(blobs[0]?.hash ?? '-'),
    })
  })
})

describe('canonical JSON', () => {
  test('canonical JSON is the same for equal values, whatever the order of their members', () => {
    fc.assert(
      fc.property(json, (value) => {
        assert.equal(canonicalJson(shuffled(value)), canonicalJson(value))
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('canonical JSON sorts by UTF-16 code units and writes numbers as in RFC 8785', () => {
    const value = { '\u20ac': 1, '\r': 2, '\u{1F600}': 3, '\ufb33': 4, a: [1e21, 1e-7, 0.000001, 100, -0 + 0] }
    assert.equal(canonicalJson(value), '{"\\r":2,"a":[1e+21,1e-7,0.000001,100,0],"\u20ac":1,"\u{1F600}":3,"\ufb33":4}')
  })
})

describe('strict JSON', () => {
  test('strict JSON accepts values that a round trip through JSON leaves unchanged', () => {
    fc.assert(
      fc.property(json, (value) => {
        assert.deepEqual(strictJson(value, 'inputs'), { ok: true, value })
      }),
    )
  })

  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  for (const [what, value, path, found] of [
    ['a Date', { a: [new Date()] }, 'inputs.a[0]', 'a Date'],
    ['a bigint', { 'odd key': 1n }, 'inputs["odd key"]', 'a bigint'],
    ['NaN', [Number.NaN], 'inputs[0]', 'NaN'],
    ['Infinity', [Infinity], 'inputs[0]', 'Infinity'],
    ['a Map', new Map(), 'inputs', 'a Map'],
    ['a cycle', cycle, 'inputs.self', 'a reference back to a value that contains it'],
    ['a function', { f() {} }, 'inputs.f', 'a function'],
    ['undefined in a list', [undefined], 'inputs[0]', 'undefined'],
    ['a lone surrogate', ['\ud800'], 'inputs[0]', 'a string with a lone surrogate'],
  ] as const) {
    test(`strict JSON refuses ${what} with its path`, () => {
      assert.deepEqual(strictJson(value, 'inputs'), { ok: false, path, found })
    })
  }

  test('strict JSON accepts the same object twice', () => {
    const same = { a: 1 }
    assert.deepEqual(strictJson([same, same], 'inputs'), { ok: true, value: [{ a: 1 }, { a: 1 }] })
  })
})

test('throughJson returns a value as JSON makes it, and names the place of what JSON cannot carry', () => {
  assert.deepEqual(throughJson({ at: new Date(0), gone: undefined }, 't'), {
    ok: true,
    value: { at: '1970-01-01T00:00:00.000Z' },
  })
  assert.deepEqual(throughJson(undefined, 't'), { ok: true, value: null })
  assert.deepEqual(throughJson({ a: [{ b: 1n }] }, 't'), { ok: false, path: 't.a[0].b', found: 'a bigint' })
})

test('throughJson returns exactly what JSON.parse makes of JSON.stringify', () => {
  class Point {
    x = 1
    y = undefined
  }
  const told = { toJSON: (key: string) => `told as ${key}` }
  const gone = { toJSON: () => undefined }
  const odd = [new Point(), told, gone, new Date(Number.NaN), Number.NaN, -0, '\ud800', Symbol('s')]
  const sparse = [1, , 3] // oxlint-disable-line no-sparse-arrays
  const values = [...odd, { odd, told, gone, f() {} }, odd, sparse, Buffer.from('b'), Object.create(null), undefined]
  for (const value of values) {
    const text = JSON.stringify(value) as string | undefined
    const expected = text === undefined ? null : (JSON.parse(text) as Json)
    assert.deepEqual(throughJson(value, 't'), { ok: true, value: expected })
  }
  fc.assert(fc.property(json, (value) => assert.deepEqual(throughJson(value, 't'), { ok: true, value })))
})

class Secretive {
  #kept = 1
  get kept(): number {
    return this.#kept
  }
}
for (const [what, value] of [
  ['a Map', new Map([['a', 1]])],
  ['a Set', new Set([1])],
  ['an Uint8Array', new Uint8Array([1, 2])],
  ['an ArrayBuffer', new ArrayBuffer(2)],
  ['a Secretive', new Secretive()],
  ['a TypeError', Object.assign(new TypeError('lost'), { code: 'E_LOST' })],
  ['a String', Object('text')],
  ['a RegExp', /a/],
  ['a Promise', Promise.resolve(1)],
  ['an URLSearchParams', new URLSearchParams('a=1')],
  ['a Map', { toJSON: () => new Map() }],
] as const) {
  test(`throughJson names the place of ${what}, which JSON would silently drop`, () => {
    assert.deepEqual(throughJson({ rows: [value] }, 't'), { ok: false, path: 't.rows[0]', found: what })
  })
}

describe('a value nested too deeply', () => {
  const nested = (levels: number): Json => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as Json

  test('a value nested too deeply is refused from the level after the limit on, however deep it is', () => {
    for (const check of [strictJson, throughJson]) {
      assert.equal(check(nested(nestingLimit), 'v').ok, true)
      for (const levels of [nestingLimit + 1, 2_000, 100_000]) {
        const found = check(nested(levels), 'v')
        assert.ok(!found.ok)
        assert.match(found.found, /^nested more than 256 levels deep$/)
        assert.match(found.path, /^v\[0\]\[0\]/)
        assert.ok(found.path.length <= 80)
      }
    }
  })

  test('isNestedDeeper is true only for values with more levels than the limit', () => {
    assert.equal(isNestedDeeper(nested(10), 10), false)
    assert.equal(isNestedDeeper(nested(11), 10), true)
    assert.equal(isNestedDeeper({ a: [nested(100_000)] }, 10), true)
    assert.equal(isNestedDeeper('text', 0), false)
  })
})

test('paths nest and parse back', () => {
  const nested = attemptPath('analyst', 1, callPath(turnPath(attemptPath('note 1.2', 2), 3), 0))
  assert.equal(nested, 'note 1.2#2/3.0/analyst#1')
  assert.equal(parentPath(nested), 'note 1.2#2/3.0')
  assert.equal(parentPath('note 1.2#2/3.0'), 'note 1.2#2/3')
  assert.equal(parentPath('note 1.2#2/3'), 'note 1.2#2')
  assert.equal(taskInPath(nested), 'note 1.2')
})

test('a changed fingerprint is explained field by field', () => {
  const stored = { description: digest('a'), 'tool:pay': digest('x'), 'context:facts': digest('f') }
  const now = { description: digest('a'), 'tool:file': digest('y'), 'context:facts': digest('g') }
  assert.deepEqual(changedFields(stored, now), ['context:facts', 'tool:file', 'tool:pay'])
  assert.deepEqual(explainChange(stored, now), ['context facts changed', 'tool file added', 'tool pay removed'])
})

describe('the fold', () => {
  const tasks = ['a', 'b'].map((name) => ({ name, id: name, description: name }))
  const reply = {
    startedAt: stamp.at,
    parts: [{ type: 'text', text: 'out' }],
    usage: { calls: 1, input: 2, output: 3 },
    finish: 'stop',
  } as const
  const request = { instructions: '', message: [], tools: [], model: 'm', settings: {} }
  const whole: NewEntry[] = [
    { type: 'run.created', run: 'r', incarnation: 'i', crew: 'c', version: '', inputs: {}, tasks, owner },
    ...['a', 'b'].flatMap((name): NewEntry[] => [
      { type: 'task.started', path: `${name}#1`, request, fingerprint: {}, agent: 'A' },
      { type: 'model.replied', path: `${name}#1/1`, ...reply },
      { type: 'task.completed', path: `${name}#1`, structured: false },
    ]),
    { type: 'run.completed' },
  ]
  const stamped = (entries: readonly NewEntry[]): Entry[] =>
    entries.map((entry, index) => ({ v: journalVersion, seq: index + 1, at: stamp.at, token: 1, prev: '', ...entry }))

  test('the fold takes an output from the last reply of the attempt, so that it is stored once', () => {
    const state = fold(stamped(whole))
    assert.equal(state.status, 'completed')
    assert.equal(state.tasks.get('a')?.output?.raw, 'out')
    assert.deepEqual(state.tasks.get('a')?.output?.usage, { calls: 1, input: 2, output: 3 })
  })

  test('the fold does not count the time between the last entry and an import as work', () => {
    const later = new Date(Date.parse(stamp.at) + 86_400_000).toISOString()
    const imported = { ...stamped([{ type: 'run.imported' }])[0], seq: 4, at: later } as Entry
    assert.equal(fold([...stamped(whole).slice(0, 3), imported]).activeMs, 0)
  })

  test('the fold treats a task without its completion as not done, even in a completed run', () => {
    const state = fold(stamped(whole).filter((entry) => entry.seq !== 4))
    assert.deepEqual(state.missing, [4])
    assert.equal(state.status, 'suspended')
    assert.equal(state.suspended?.reason, 'edited')
    assert.equal(state.tasks.get('a')?.status, 'running')
    assert.equal(state.tasks.get('b')?.status, 'completed')
  })

  test('the fold keeps attempts within a step apart from those of the task', () => {
    const nested = { ...stamped(whole)[1], seq: 4, path: 'a#1/1.0/helper#1' } as Entry
    const state = fold([...stamped(whole).slice(0, 3), nested])
    assert.equal(state.unknown, undefined)
    assert.deepEqual(state.tasks.get('a')?.attempts, ['a#1'])
    assert.deepEqual(state.tasks.get('a')?.nested, ['a#1/1.0/helper#1'])
    assert.equal(state.attempts.get('a#1')?.status, 'open')
  })

  test("the fold accepts no structured output that isn't JSON or is nested too deeply, whatever its source", () => {
    for (const raw of ['{"torn', '['.repeat(2_000) + ']'.repeat(2_000)]) {
      const output = { raw, structured: true, usage: reply.usage, startedAt: stamp.at, completedAt: stamp.at }
      const from = { run: 'p', incarnation: 'p', seq: 1 }
      for (const given of [
        [{ type: 'task.edited', path: 'a', raw, structured: true }],
        [{ type: 'task.inherited', path: 'a', from, output }],
        [
          { type: 'task.offered', path: 'a', from, output },
          { type: 'task.inherited', path: 'a', from },
        ],
      ] satisfies NewEntry[][]) {
        assert.equal(fold(stamped([...whole.slice(0, 1), ...given])).tasks.get('a')?.status ?? 'pending', 'pending')
      }
    }
  })

  describe('the fold of a function task of two entries', () => {
    const call = { effect: 'once', key: 'k', idempotencyKey: 'i' } as const
    const started: NewEntry = { type: 'task.started', path: 'a#1', fingerprint: { f: 'd' }, code: true }
    const completed = { type: 'task.completed', path: 'a#1', uncounted: ['x'] } as const
    /** The state, with the numbers of entries as offsets from the end of the task. */
    const folded = (entries: readonly NewEntry[]) => {
      const state = fold(stamped([whole[0] as NewEntry, ...entries]))
      const last = state.seq
      const { outputs, attempts, tasks: known, seq: _, lastStep, ...rest } = state
      const [attempt] = attempts.values()
      const [turn] = attempt?.turns ?? []
      return {
        ...rest,
        outputs: [...outputs.values()],
        task: { ...known.get('a'), seq: 'the last' },
        attempt: { ...attempt, turns: turn?.calls },
        started: [attempt?.seq, turn?.reply.seq, turn?.path],
        // the last entry is the last step, except that four entries have the step before the completion
        steps: last - lastStep <= 1,
      }
    }
    for (const [what, outcome, output] of [
      ['a text', { result: 'out' }, { raw: 'out', structured: false }],
      ['an object', { result: { x: [1, null] } }, { raw: '{"x":[1,null]}', structured: true }],
      ['null', { result: null }, { raw: 'null', structured: true }],
    ] as const) {
      test(`the fold reads a function task of two entries like one of four, with ${what} as its result`, () => {
        const two = folded([
          { ...started, call },
          { ...completed, ...output, returned: true },
        ])
        const four = folded([
          started,
          { type: 'tool.called', path: 'a#1/1.0', tool: 'a', ...call },
          { type: 'tool.returned', path: 'a#1/1.0', outcome, uncounted: ['x'] },
          { type: 'task.completed', path: 'a#1', ...output },
        ])
        assert.deepEqual(two, four)
        assert.deepEqual(two.attempt.turns?.[0]?.outcome, outcome)
      })
    }

    test('the fold reads a function task without its second entry as called and not returned', () => {
      const called: NewEntry = { type: 'tool.called', path: 'a#1/1.0', tool: 'a', ...call }
      assert.deepEqual(folded([{ ...started, call }]), folded([started, called]))
    })

    test('the fold reads a function task that was abandoned before its call as not called', () => {
      const stopped: NewEntry = { type: 'tool.abandoned', path: 'a#1/1.0', reason: 'r', begun: false }
      const state = fold(stamped([whole[0] as NewEntry, { ...started, call }, stopped]))
      const made = state.attempts.get('a#1')?.turns[0]?.calls[0]
      assert.deepEqual([made?.calledAt, made?.effect, made?.times, made?.key], [undefined, undefined, 0, 'k'])
    })

    test('the fold reads a function task without its start as a once call', () => {
      const output = { raw: 'out', structured: false, returned: true } as const
      const state = fold(stamped([whole[0] as NewEntry, { ...completed, ...output }]))
      const made = state.attempts.get('a#1')?.turns[0]?.calls[0]
      assert.deepEqual([made?.path, made?.effect, made?.outcome], ['a#1/1.0', 'once', { result: 'out' }])
      assert.equal(state.tasks.get('a')?.status, 'completed')
      assert.deepEqual(state.tasks.get('a')?.output?.uncounted, ['x'])
    })
  })

  test('the fold reports a huge gap before an entry without listing every missing number', () => {
    const far = { ...stamped(whole)[7], seq: 1e15 } as Entry
    assert.match(fold([...stamped(whole).slice(0, 7), far]).unknown ?? '', /gap of/)
  })

  test('the fold of an unknown entry type or version tells why the run cannot be resumed', () => {
    const unknown = { ...stamped(whole)[7], seq: 9, type: 'dream.dreamt' } as unknown as Entry
    assert.match(fold([...stamped(whole), unknown]).unknown ?? '', /"dream.dreamt" of entry 9/)
    assert.match(fold([...stamped(whole), { ...unknown, v: 0 }]).unknown ?? '', /version 0 of entry 9/)
  })
})

function shuffled(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, shuffled(member)]),
  )
}
