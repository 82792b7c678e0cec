import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonSchema } from 'ai'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod-3'
import { z as z4of3 } from 'zod-3/v4'
import { closeObjects, fitsStrictMode } from '../../src/schema/json-schema.ts'
import { asAnswerSchema, type InferInput, type InferOutput, parseValue } from '../../src/schema/answer-schema.ts'

const claim = z.object({ policy: z.string(), lossDate: z.string().transform((text) => new Date(text)) })

test('the model sees the schema before transforms, with closed objects', () => {
  const { json } = asAnswerSchema(claim, 'the output of task facts')
  assert.deepEqual(json, {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { policy: { type: 'string' }, lossDate: { type: 'string' } },
    required: ['policy', 'lossDate'],
    additionalProperties: false,
  })
})

test('parsing returns the value after transforms', async () => {
  const parsed = await parseValue(asAnswerSchema(claim, 'x'), { policy: 'P-77', lossDate: '2030-05-03' })
  assert.deepEqual(parsed, { ok: true, value: { policy: 'P-77', lossDate: new Date('2030-05-03') } })
})

test('a value is refused with the place of every mistake', async () => {
  const schema = z.object({ lossDate: z.string(), parts: z.array(z.object({ issue: z.string() })) })
  const parsed = await parseValue(asAnswerSchema(schema, 'x'), { lossDate: 3, parts: [{ issue: 'a' }, {}] })
  assert.deepEqual(parsed, {
    ok: false,
    reason:
      'lossDate: Invalid input: expected string, received number; ' +
      'parts[1].issue: Invalid input: expected string, received undefined',
  })
})

test('a value that is wrong as a whole is refused without a place', async () => {
  const parsed = await parseValue(asAnswerSchema(claim, 'x'), 'text')
  assert.deepEqual(parsed, { ok: false, reason: 'Invalid input: expected object, received string' })
})

test('a schema that checks asynchronously is awaited', async () => {
  const schema = z.object({ policy: z.string().refine((text) => Promise.resolve(text === 'P-77'), 'no such policy') })
  assert.deepEqual(await parseValue(asAnswerSchema(schema, 'x'), { policy: 'P-1' }), {
    ok: false,
    reason: 'policy: no such policy',
  })
})

test('objects inside arrays, unions and definitions are closed, and deliberately open ones stay open', () => {
  interface Node {
    readonly name: string
    readonly children: readonly Node[]
  }
  const node: z.ZodType<Node> = z.object({ name: z.string(), children: z.array(z.lazy(() => node)) })
  const schema = z.object({
    nodes: z.array(node),
    either: z.union([z.object({ a: z.string() }), z.string()]),
    open: z.record(z.string(), z.number()),
  })
  const text = JSON.stringify(asAnswerSchema(schema, 'x').json)
  assert.equal(text.match(/"additionalProperties":false/g)?.length, 3)
  assert.match(text, /"additionalProperties":\{"type":"number"\}/)
})

test('a date that the schema coerces is text for the model, and parsed live and on restore', async () => {
  const schema = asAnswerSchema(z.object({ when: z.coerce.date(), more: z.array(z.coerce.date().optional()) }), 'x')
  const { properties } = schema.json as { properties: { when: unknown; more: { items: unknown } } }
  assert.deepEqual(properties.when, { type: 'string', format: 'date-time' })
  assert.deepEqual(properties.more.items, { type: 'string', format: 'date-time' })
  const raw = { when: '2030-05-03T00:00:00Z', more: ['2030-05-03'] }
  const day = new Date('2030-05-03')
  assert.deepEqual(await parseValue(schema, raw), { ok: true, value: { when: day, more: [day] } })
  assert.equal((await parseValue(schema, { when: 'soon', more: [] })).ok, false)
})

test('a type that no model can write is refused as such, and not as an old zod', () => {
  for (const [type, named] of [
    [z.date(), 'Date'],
    [z.map(z.string(), z.string()), 'Map'],
    [z.set(z.string()), 'Set'],
    [z.bigint(), 'BigInt'],
    [z.literal(1n), 'literal'],
  ] as const) {
    assert.throws(() => asAnswerSchema(z.object({ x: type }), 'the output'), {
      code: 'SCHEMA_INVALID',
      message: new RegExp(`has no JSON Schema \\(.*${named}.*cannot be represented.*\\): a model writes JSON`),
    })
  }
  assert.throws(() => asAnswerSchema(z.object({ when: z.date() }), 'x'), { message: /z\.coerce\.date\(\) for a date$/ })
})

test('strict schemas of OpenAI are recognised', () => {
  assert.equal(fits(z.object({ a: z.string(), b: z.nullable(z.number()) })), true)
  assert.equal(fits(z.object({ a: z.string().optional() })), false)
  assert.equal(fits(z.object({ list: z.array(z.object({ a: z.string().default('x') })) })), false)
  assert.equal(fits(z.object({ map: z.record(z.string(), z.string()) })), false)
  assert.equal(fitsStrictMode({ allOf: [{ type: 'object' }] }), false)
})

test('zod/mini works, though it makes no JSON Schema on its own', async () => {
  const schema = asAnswerSchema(mini.object({ policy: mini.string() }), 'x')
  assert.deepEqual((schema.json as { required: unknown }).required, ['policy'])
  assert.equal((await parseValue(schema, { policy: 1 })).ok, false)
})

for (const [which, zod] of Object.entries({ 'zod 3.25': z3, 'zod/v4 of zod 3.25': z4of3 as unknown as typeof z3 })) {
  test(`${which} works: the model sees what comes before the transforms, in closed objects`, async () => {
    const schema = asAnswerSchema(
      zod.object({
        policy: zod.string(),
        kind: zod.enum(['water', 'fire']).default('water'),
        lossDate: zod.string().transform((text) => new Date(text)),
        parts: zod.array(zod.object({ issue: zod.string().optional(), costs: zod.number() })),
        sums: zod.record(zod.string(), zod.number()),
      }),
      'x',
    )
    const { properties, required, additionalProperties } = schema.json as { [name: string]: unknown }
    assert.deepEqual(required, ['policy', 'lossDate', 'parts', 'sums'])
    assert.equal(additionalProperties, false)
    const { kind, lossDate, parts, sums } = properties as { [name: string]: { [name: string]: unknown } }
    assert.deepEqual(kind, { type: 'string', enum: ['water', 'fire'], default: 'water' })
    assert.deepEqual(lossDate, { type: 'string' })
    assert.deepEqual(parts?.['items'], {
      type: 'object',
      properties: { issue: { type: 'string' }, costs: { type: 'number' } },
      required: ['costs'],
      additionalProperties: false,
    })
    assert.deepEqual(sums?.['additionalProperties'], { type: 'number' })

    const answer = { policy: 'P-77', lossDate: '2030-05-03', parts: [{ costs: 3 }], sums: {} }
    assert.deepEqual(await parseValue(schema, answer), {
      ok: true,
      value: { ...answer, kind: 'water', lossDate: new Date('2030-05-03') },
    })
    const refused = await parseValue(schema, { ...answer, parts: [{ costs: 'much' }] })
    assert.match(refused.ok ? '' : refused.reason, /^parts\[0\]\.costs: .*expected number, received string$/i)
  })
}

test('types of zod 3 that JSON lacks are refused at once anywhere, and those made from JSON accepted', () => {
  interface Node {
    readonly at?: Date | undefined
    readonly next?: Node | undefined
  }
  const node: z3.ZodType<Node> = z3.lazy(() => z3.object({ next: node.optional(), at: z3.date().optional() }))
  const foreign: { readonly [found: string]: readonly z3.ZodTypeAny[] } = {
    Date: [
      z3.object({ at: z3.date() }),
      z3.array(z3.object({ at: z3.date().nullable().default(null) })),
      z3.union([z3.string(), z3.record(z3.tuple([z3.string()]).rest(z3.date()))]),
      z3.discriminatedUnion('kind', [
        z3.object({ kind: z3.literal('a') }),
        z3.object({ kind: z3.literal('b'), at: z3.date() }),
      ]),
      z3.intersection(z3.object({ a: z3.string() }), z3.object({ at: z3.date().refine(() => true) })),
      node,
    ],
    BigInt: [z3.object({ sum: z3.bigint() })],
    Map: [z3.map(z3.string(), z3.string())],
    Set: [z3.object({ tags: z3.set(z3.string()) }).strict()],
  }
  for (const [found, schemas] of Object.entries(foreign)) {
    for (const schema of schemas) {
      assert.throws(() => asAnswerSchema(schema, 'the output of task facts'), {
        code: 'SCHEMA_INVALID',
        message: new RegExp(
          `^the output of task facts has no JSON Schema \\(${found} cannot be represented in JSON Schema\\): a model writes JSON, `,
        ),
      })
    }
  }
  asAnswerSchema(
    z3.object({
      coerced: z3.coerce.date(),
      made: z3.preprocess((text) => new Date(String(text)), z3.date()),
      piped: z3.string().pipe(z3.coerce.date()),
      caught: z3.date().catch(new Date(0)),
    }),
    'x',
  )
})

test('a schema of another library with JSON Schema is accepted', async () => {
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'acme',
      validate: (value: unknown) =>
        value === 'yes' ? { value: true } : { issues: [{ message: 'not yes', path: [{ key: 'deep' }, 0] }] },
      jsonSchema: { input: ({ target }: { target: string }) => ({ type: 'string', $comment: target }) },
    },
  } as const
  const answer = asAnswerSchema(schema, 'x')
  assert.deepEqual(answer.json, { type: 'string', $comment: 'draft-07' })
  assert.deepEqual(await parseValue(answer, 'yes'), { ok: true, value: true })
  assert.deepEqual(await parseValue(answer, 'no'), { ok: false, reason: 'deep[0]: not yes' })
})

test('a schema of the AI SDK is accepted, with and without its own check', async () => {
  const json = { type: 'object', properties: { a: { type: 'string' } } } as const
  const checked = jsonSchema<{ a: string }>(json, {
    validate: () => ({ success: false, error: new Error('a is too short') }),
  })
  assert.deepEqual(await parseValue(asAnswerSchema(checked, 'x'), { a: '' }), { ok: false, reason: 'a is too short' })
  assert.deepEqual(await parseValue(asAnswerSchema(jsonSchema(json), 'x'), { a: 1 }), { ok: true, value: { a: 1 } })
  assert.deepEqual(asAnswerSchema(jsonSchema(json), 'x').json, { ...json, additionalProperties: false })
})

test('a Standard Schema without JSON Schema is refused at once, with its vendor and an alternative', () => {
  const schema = { '~standard': { version: 1, vendor: 'acme', validate: () => ({ value: 1 }) } }
  assert.throws(() => asAnswerSchema(schema, 'the output of task facts'), {
    code: 'SCHEMA_INVALID',
    message: /^the output of task facts is a schema of acme that has no JSON Schema: use a schema of zod 4\.2 or newer/,
  })
})

test('a type without JSON Schema, and a value other than a schema, are refused at once', () => {
  assert.throws(() => asAnswerSchema(z.object({ at: z.date() }), 'the input of tool file'), {
    code: 'SCHEMA_INVALID',
    message: /^the input of tool file has no JSON Schema \(Date cannot be represented/,
  })
  for (const nothing of [undefined, null, 'string', 7, {}, [], () => 1]) {
    assert.throws(() => asAnswerSchema(nothing, 'x'), { code: 'SCHEMA_INVALID' })
  }
})

test('a schema types a value before and after the transforms', () => {
  const before: InferInput<typeof claim> = { policy: 'P-77', lossDate: '2030-05-03' }
  const after: InferOutput<typeof claim> = { policy: 'P-77', lossDate: new Date(before.lossDate) }
  const three = z3.object({ at: z3.string().transform((text) => new Date(text)) })
  const beforeThree: InferInput<typeof three> = { at: '2030-05-03' }
  const afterThree: InferOutput<typeof three> = { at: new Date(beforeThree.at) }
  assert.ok(afterThree.at.getTime() > 0)
  const other: InferOutput<ReturnType<typeof jsonSchema<{ a: string }>>> = { a: 'x' }
  assert.ok(after.lossDate.getTime() > 0 && other.a)
})

test('the parts of an allOf stay open, since each sees all members', () => {
  const both = {
    allOf: [
      { type: 'object', properties: { a: {} } },
      { type: 'object', properties: { b: {} } },
    ],
  }
  assert.deepEqual(closeObjects(both), both)
})

function fits(schema: z.ZodType): boolean {
  return fitsStrictMode(asAnswerSchema(schema, 'x').json)
}
