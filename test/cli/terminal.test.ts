import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMoment } from '../../src/cli/options.ts'
import { columns, plain, shorten } from '../../src/text/plain-text.ts'
import { printTable } from '../../src/cli/output/print-table.ts'
import type { Channel } from '../../src/cli/output/terminal.ts'
import { amount, duration, preciseDuration } from '../../src/text/words.ts'
import { wrap } from '../../src/text/wrap.ts'

test('plain removes escapes, control characters and direction marks, and keeps lines, tabs and every script', () => {
  assert.equal(plain('a\u001b[31mb\u001b]0;title\u0007c\u009b2Jd\u0000\u0008e\rf\u202eg'), 'abcdefg')
  assert.ok(!plain('\u001b]8;;http://unfinished').includes('\u001b'))
  assert.equal(plain('one\r\ntwo\tعربي 第三行 👩‍👩‍👧'), 'one\ntwo\tعربي 第三行 👩‍👩‍👧')
})

test('shorten cuts by columns, never inside a character', () => {
  assert.equal(shorten('a\n  b', 10), 'a b')
  assert.equal(shorten('abcdef', 4), 'abc…')
  assert.equal(shorten('第三行目', 6), '第三…')
  assert.equal(columns('第三👩‍👩‍👧é'), 7)
})

test('a table shrinks only the columns that may shrink, and fits the terminal', () => {
  const lines: string[] = []
  const channel = {
    width: 24,
    line: (...pieces) =>
      void lines.push(
        pieces
          .map((piece) => (typeof piece === 'string' ? piece : piece.text))
          .join('')
          .trimEnd(),
      ),
  } as Channel
  const rows = [{ id: '0123456789', text: 'a long text\u001b[31m that continues' }]
  printTable(
    channel,
    [
      { title: 'id', value: (row) => row.id },
      { title: 'text', value: (row) => row.text, shrinkTo: 6 },
    ],
    rows,
  )
  assert.deepEqual(lines, ['id          text', '0123456789  a long text…'])
})

test('durations and amounts stay short', () => {
  assert.deepEqual([440, 12_340, 59_960, 125_000, 3_720_000].map(duration), [
    '0.4s',
    '12.3s',
    '1m00s',
    '2m05s',
    '1h02m',
  ])
  assert.deepEqual([-1, 12.4, 999.4, 12_340].map(preciseDuration), ['0ms', '12ms', '999ms', '12.3s'])
  assert.deepEqual([0, 9_999, 12_345, 4_560_000].map(amount), ['0', '9999', '12.3k', '4.6M'])
})

test('wrap breaks at spaces, indents continuations, cuts a word only if it must, and removes escapes', () => {
  assert.deepEqual(wrap('one two three four five six', 14, 2), ['one two three', '  four five', '  six'])
  assert.deepEqual(wrap('第三行目第三行目', 10, 0), ['第三行目第', '三行目'])
  assert.deepEqual(wrap('a\u001b[31m b', 80, 4), ['a b'])
  assert.deepEqual(wrap('long '.repeat(100), Infinity, 4), ['long '.repeat(100)])
})

test('a time option accepts an age or a local time, and nothing else', () => {
  const now = new Date('2026-03-10T12:00:00Z')
  assert.equal(readMoment('--since', '90m', now), '2026-03-10T10:30:00.000Z')
  assert.equal(readMoment('--since', '2w', now), '2026-02-24T12:00:00.000Z')
  assert.equal(readMoment('--since', '2026-01-31', now), new Date(2026, 0, 31).toISOString())
  assert.equal(readMoment('--since', '2026-01-31T12:00Z', now), '2026-01-31T12:00:00.000Z')
  for (const bad of ['', '1', 'May', '30', '2026-13-01', '5y'])
    assert.throws(() => readMoment('--since', bad, now), /--since is .*give an age such as/)
})
