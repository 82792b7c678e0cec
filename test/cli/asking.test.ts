import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askInputs } from '../../src/cli/input/ask-inputs.ts'
import { askQuestion } from '../../src/cli/input/ask-question.ts'
import { printOpenQuestion } from '../../src/cli/output/print-question.ts'
import { askLine } from '../../src/cli/input/ask-line.ts'
import { pick } from '../../src/cli/input/pick.ts'
import type { Channel, Piece } from '../../src/cli/output/terminal.ts'
import { writeCommands } from '../../src/cli/write-command.ts'
import { checkAnswer } from '../../src/read/questions.ts'
import type { Answer } from '../../src/journal/entries.ts'
import type { AskedQuestion } from '../../src/journal/state/open-questions.ts'
import { keys, person, type Press } from './person.ts'

const fruit = ['apple', 'banana', 'cherry 2'].map((label) => ({ value: label, label }))

test('the arrow keys move through a list and wrap around at both ends', async () => {
  assert.equal(await pick('Which?', fruit, person(['Esc', keys.down, keys.enter])), 'banana')
  assert.equal(await pick('Which?', fruit, person(['Esc', keys.up, keys.enter])), 'cherry 2')
})

test('a list is filtered by text, and by a number before the same digit within a text', async () => {
  assert.equal(await pick('Which?', fruit, person(['Esc', 'R', 'r', keys.enter])), 'cherry 2')
  assert.equal(await pick('Which?', fruit, person(['Esc', '2', keys.enter])), 'banana')
  assert.equal(await pick('Which?', fruit, person(['Esc', 'x', keys.enter, keys.back, keys.enter])), 'apple')
})

test('Esc, Ctrl-C and an aborted signal cancel a list and remove it from the terminal', async () => {
  for (const key of ['\u001b', keys.cancel]) {
    const there = person(['Esc', key])
    assert.equal(await pick('Which?', fruit, there), undefined)
    assert.match(there.shown(), /\r(?:\u001b\[A\u001b\[2K){5}Which\? \(none\)\n$/)
  }
  const controller = new AbortController()
  const picking = pick('Which?', fruit, { ...person(), signal: controller.signal })
  controller.abort()
  assert.equal(await picking, undefined)
})

test('a list is printed without escapes and cut to the width of the terminal', async () => {
  const there = person(['Esc', keys.enter])
  const note = `\u001b]0;owned\u0007${'long '.repeat(40)}`
  await pick('Which\u001b[2J?', [{ value: 1, label: 'a\u001b[31mb\u009b', note }], there)
  // oxlint-disable-next-line no-control-regex
  const own = there.shown().replaceAll(/\u001b\[(?:A|2K|\d+m)/g, '')
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(own, /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f]/)
  assert.match(own, /^> 1 {2}ab {2}long/m)
  for (const line of own.split('\n')) assert.ok(line.length <= 80, line)
})

test('askLine returns what was typed, and undefined for Ctrl-C and Esc', async () => {
  assert.equal(await askLine('name: ', person(['name: ', 'Ada', keys.enter])), 'Ada')
  assert.equal(await askLine('name: ', person(['name: ', 'Ada', keys.cancel])), undefined)
  assert.equal(await askLine('name: ', person(['name: ', 'Ada', '\u001b'])), undefined)
})

const asking = {
  runId: 'r',
  crew: 'claims',
  task: 'note',
  description: 'Write a note',
  agent: 'Clerk',
  inputs: { tone: 'calm' },
  outputs: [{ task: 'facts', raw: 'water\u001b[31m' }],
}
const base = { id: 'q1', path: 'note#1/1.0', text: 'Well?', asking: [asking] }
const questions = {
  result: { ...base, kind: 'result', output: 'A \u001b[31mdraft', round: 1 },
  call: { ...base, kind: 'call', tool: 'pay', input: { sum: 1 }, key: 'k', earlier: [] },
  doubt: { ...base, kind: 'doubt', tool: 'pay', input: {}, key: 'k', calledAt: '', owner: {} as never },
  limit: { ...base, kind: 'limit', limit: { tokens: 1 }, spent: { calls: 1, input: 1, output: 1 } },
} satisfies { [kind: string]: AskedQuestion }

async function ask(
  question: AskedQuestion,
  ...presses: readonly Press[]
): Promise<{ answer: Answer | undefined; said: string }> {
  const { channel, said } = listener()
  const answer = await askQuestion({ loud: channel }, question, person(...presses))
  if (answer) checkAnswer(question, answer)
  return { answer, said: said() }
}

function listener(): { channel: Channel; said(): string } {
  const lines: string[] = []
  const line = (...pieces: readonly Piece[]): void =>
    void lines.push(pieces.map((piece) => (typeof piece === 'string' ? piece : piece.text)).join(''))
  return { channel: { width: 80, line } as Channel, said: () => lines.join('\n') }
}

test('a question is printed below the inputs and the outputs so far of its run', async () => {
  const { said } = await ask(questions.result, ['Esc', keys.enter])
  assert.match(
    said,
    /question q1, task note: Well\?\n {2}input {3}tone = calm\n {2}output {2}facts = water\S*\n {2}│ A /,
  )
  assert.doesNotMatch(said, /of crew claims/)
})

test('an input that is cut by line breaks alone is not announced as cut', () => {
  const { channel, said } = listener()
  const lines = { ...asking, inputs: { notes: 'INVOICE A-101\n  net 90' }, outputs: [] }
  printOpenQuestion(channel, writeCommands({ runner: 'reprise', words: [], inputs: [] }), 'r', {
    ...questions.call,
    asking: [lines],
  })
  assert.match(said(), /notes = INVOICE A-101 net 90/)
  assert.doesNotMatch(said(), /is cut/)
})

test('a question of a nested crew is printed below the outer tasks, and show prints what was cut', async () => {
  const long = Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')
  const many = Array.from({ length: 9 }, (_, at) => ({ task: `task-${at}`, raw: `raw-${at}` }))
  const above = { ...asking, runId: 'r', task: 'research', crew: 'claims', inputs: { notes: long }, outputs: [] }
  const inner = { ...asking, runId: 'r/research#1', task: 'facts', crew: 'study', outputs: many }
  const question = { ...questions.call, id: 'research/q1', asking: [above, inner] }
  const { answer, said } = await ask(
    question,
    ['look', '5', keys.enter],
    ['do not call it, and tell', 'deny', keys.enter],
    ['reason: ', 'no', keys.enter],
  )
  assert.deepEqual(answer, { decision: 'deny', reason: 'no' })
  const [cut = '', whole = ''] = said.split(/(?<=more outputs\n)/)
  assert.match(cut, /question research\/q1, task research\/facts: Well\?/)
  assert.match(cut, /task research of crew claims, run r\n {2}input {3}notes = line 0 .*…\n/)
  assert.match(cut, /task facts of crew study, run r\/research#1\n/)
  assert.match(cut, /output {2}task-5 = raw-5\n {2}… 3 more outputs\n$/)
  assert.match(whole, /input notes\n {2}│ line 0\n[^]*│ line 29\n/)
  assert.match(whole, /output task-8\n {2}│ raw-8/)
})

test('a question offers the decisions of its kind and the fields of the decision, and the answer is accepted', async () => {
  const cases: [AskedQuestion, Press[], Answer][] = [
    [questions.result, [['Esc', keys.enter]], { decision: 'approve' }],
    [
      questions.result,
      [
        ['Esc', 'revise', keys.enter],
        ['feedback: ', 'shorter', keys.enter],
      ],
      { decision: 'revise', feedback: 'shorter' },
    ],
    [
      questions.result,
      [
        ['Esc', 'replace', keys.enter],
        ['output: ', '42', keys.enter],
      ],
      { decision: 'replace', output: '42' },
    ],
    [
      { ...questions.result, output: { sum: 1 } },
      [
        ['Esc', 'replace', keys.enter],
        ['output (JSON', '{"sum":2}', keys.enter],
      ],
      { decision: 'replace', output: { sum: 2 } },
    ],
    [
      questions.call,
      [
        ['Esc', keys.enter],
        ['input (JSON', keys.enter],
      ],
      { decision: 'approve' },
    ],
    [
      questions.call,
      [
        ['Esc', keys.enter],
        ['input (JSON', '{"sum":2}', keys.enter],
      ],
      { decision: 'approve', input: { sum: 2 } },
    ],
    [
      questions.doubt,
      [
        ['Esc', 'use your', keys.enter],
        ['result (JSON', 'C-42', keys.enter],
      ],
      { decision: 'happened', result: 'C-42' },
    ],
    [
      questions.limit,
      [
        ['Esc', keys.enter],
        ['to (such', 'tokens=9', keys.enter],
      ],
      { decision: 'raise', to: { tokens: 9 } },
    ],
  ]
  for (const [question, presses, answer] of cases) assert.deepEqual((await ask(question, ...presses)).answer, answer)
})

test('a result is shown without escapes before a person decides on it', async () => {
  const { said } = await ask(questions.result, ['Esc', keys.cancel])
  assert.match(said, /question q1, task note: Well\?\n(?: {2}(?:in|out)put .*\n)+ {2}│ A draft$/)
})

test('a value that a field refuses is explained and requested again, and canceling leaves the question open', async () => {
  const again = await ask(
    questions.doubt,
    ['Esc', 'happened', keys.enter],
    ['result (JSON', keys.enter],
    ['result (JSON', '{"claim"', keys.enter],
    ['result (JSON', '{"claim":1}', keys.enter],
  )
  assert.deepEqual(again.answer, { decision: 'happened', result: { claim: 1 } })
  assert.match(again.said, /result is required; .*\nthat is not JSON/)
  const left = await ask(questions.doubt, ['Esc', 'happened', keys.enter], ['result (JSON', 'C-1', keys.cancel])
  assert.equal(left.answer, undefined)
})

test('inputs are requested one after another, an empty one again, and none is used if the person leaves', async () => {
  const { channel, said } = listener()
  const there = person(
    ['notes: ', keys.enter],
    ['notes: ', 'a flood', keys.enter],
    ['tone: ', '@none.txt', keys.enter],
    ['tone: ', 'kind', keys.enter],
  )
  assert.deepEqual(await askInputs(channel, { inputs: ['notes', 'tone'] }, there), { notes: 'a flood', tone: 'kind' })
  assert.match(said(), /--input tone names a file that cannot be read/)
  const leaving = person(['notes: ', 'a flood', keys.enter], ['tone: ', keys.cancel])
  assert.equal(await askInputs(channel, { inputs: ['notes', 'tone'] }, leaving), undefined)
})

test("an input that isn't text is requested as JSON, and again if it isn't JSON", async () => {
  const { channel, said } = listener()
  const there = person(
    ['texts (array, as JSON): ', 'a, b', keys.enter],
    ['texts (array, as JSON): ', '["a"]', keys.enter],
  )
  const given = await askInputs(channel, { inputs: ['texts'], types: { texts: 'array' } }, there)
  assert.deepEqual(given, { texts: ['a'] })
  assert.match(said(), /--input texts is not JSON/)
})
