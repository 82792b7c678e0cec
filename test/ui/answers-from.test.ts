// What a page sends back is not to be trusted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answersFrom, lastEntryNumber } from 'reprise/ui'

function responded(approval: unknown): never {
  return { role: 'assistant', parts: [{ type: 'tool-pay', state: 'approval-responded', approval }] } as never
}

test('answersFrom reads the approvals and the denials of a message', () => {
  assert.deepEqual(answersFrom(undefined), [])
  assert.deepEqual(answersFrom({ parts: [{ type: 'text', text: 'Go' }] }), [])
  assert.deepEqual(answersFrom(responded({ id: 'q1', approved: true })), [
    { question: 'q1', answer: { decision: 'approve' } },
  ])
  assert.deepEqual(answersFrom(responded({ id: 'q1', approved: true, reason: 'fine' })), [
    { question: 'q1', answer: { decision: 'approve', note: 'fine' } },
  ])
  assert.deepEqual(answersFrom(responded({ id: 'q1', approved: false, reason: ' ' })), [
    { question: 'q1', answer: { decision: 'deny', reason: 'a person denied it' } },
  ])
})

test('answersFrom accepts nothing but true as an approval', () => {
  for (const approved of ['false', 'true', 1, 0, null, undefined, {}, []])
    assert.throws(() => answersFrom(responded({ id: 'q1', approved })), {
      code: 'OPTION_INVALID',
      message: /approved of part 1 of the message is .*; give true or false/,
    })
})

test('answersFrom refuses a malformed message with the name of what is wrong', () => {
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [null, /the message is null/],
    ['hello', /the message is "hello"/],
    [[], /the message is a list/],
    [{}, /parts of the message is undefined; give a list of parts/],
    [{ parts: 'no' }, /parts of the message is "no"/],
    [{ parts: [null] }, /part 1 of the message is null/],
    [{ parts: [{ type: 'text' }, 7] }, /part 2 of the message is 7/],
    [responded(undefined), /approval of part 1 of the message is undefined/],
    [responded('q1'), /approval of part 1 of the message is "q1"/],
    [responded({ approved: true }), /id of the approval of part 1 of the message is undefined/],
    [responded({ id: 1, approved: true }), /id of the approval of part 1 of the message is 1/],
    [responded({ id: 'q1', approved: false, reason: {} }), /reason of the approval of part 1 of the message/],
  ]
  for (const [message, words] of bad)
    assert.throws(() => answersFrom(message as never), { name: 'RepriseError', code: 'OPTION_INVALID', message: words })
})

test('lastEntryNumber is 0 for anything but a message', () => {
  for (const message of [null, 'hello', {}, { parts: 'no', metadata: { entry: 7, steps: 0 } }, { parts: null }])
    assert.equal(lastEntryNumber(message as never), 0)
})
