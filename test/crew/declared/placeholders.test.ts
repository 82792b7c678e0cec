// The run-time parser, over the table that the type-level one is compiled against.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interpolate } from '../../../src/crew/define/define-agent.ts'
import { placeholders } from '../../../src/text/fill-in.ts'
import { cases } from '../../types/placeholder-cases.ts'

for (const { text, names, filled } of cases) {
  test(`the text ${JSON.stringify(text)} uses ${names.join(', ') || 'no inputs'}`, () => {
    assert.deepEqual(placeholders(text), names)
    const inputs = Object.fromEntries(names.map((name) => [name, `<${name}>`]))
    assert.equal(interpolate(text, inputs, 'a text'), filled)
  })
}

test('a value that looks like a placeholder is not filled again', () => {
  assert.equal(interpolate('{a}', { a: '{b} $& {{' }, 'a text'), '{b} $& {{')
})

test('a placeholder named like a property of every object is still missing', () => {
  assert.throws(() => interpolate('{toString}', {}, 'the goal'), {
    code: 'INPUT_MISSING',
    message: /the goal uses \{toString\}/,
  })
})
