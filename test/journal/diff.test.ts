// The diff of two runs, as data and as text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { build } from 'esbuild'
import fc from 'fast-check'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { columns } from '../../src/text/columns.ts'
import { journalVersion, type Entry, type NewEntry } from '../../src/journal/entries.ts'
import { diffLines, diffRuns, diffText, type RunDiff } from '../../src/runs/diff/index.ts'
import { jsonChanges, type JsonChange } from '../../src/runs/diff/json-changes.ts'
import type { TaskDiff } from '../../src/runs/diff/task-diff.ts'
import { textDiff, type TextDiff } from '../../src/runs/diff/text-diff.ts'
import { fold, type Json, type RunState } from '../../src/journal/index.ts'
import { scriptedModel, type ScriptEntry } from '../../src/testing/scripted-model.ts'
import { newStore, stateOf } from '../engine/support.ts'
import { processorSeconds } from '../support/processor-time.ts'

const store = newStore()
const at = '2026-05-03T10:00:00.000Z'
const owner = { host: 'h', boot: 'b', pid: 1, start: 's', instance: 'i' }

interface Given {
  readonly script?: readonly ScriptEntry[]
  readonly goal?: string
  readonly description?: string
  readonly since?: string
  readonly settings?: { temperature?: number }
  readonly name?: string
}

const facts = (policy: string): ScriptEntry => ({
  when: 'Task: Facts',
  reply: { policy, issues: ['water', 'mould'] },
})
const lookup: ScriptEntry = { when: 'Task: Facts', calls: [{ tool: 'lookup', input: { number: 'P-77' } }] }
const notes: ScriptEntry = { when: 'Task: Note', reply: (text) => `A note.\nOn ${/P-\d+/.exec(text)?.[0]}.\nRegards` }
const logs: ScriptEntry = { when: 'Task: Log', reply: 'logged' }
const standard = [lookup, facts('P-77'), notes, logs]

/** Three tasks: facts (structured, with a tool), note (with facts as context), log (without context). */
function claims({
  script = standard,
  goal = 'Handle claims',
  description = 'Note for Ada',
  since = '2020',
  settings,
  name = 'log',
}: Given = {}) {
  const read = tool({
    name: 'lookup',
    description: 'Look a policy up',
    effect: 'read',
    input: z.object({ number: z.string() }),
    run: () => {
      if (since === 'broken') throw new Error('the archive is closed')
      return { since }
    },
  })
  const agent = new Agent({
    role: 'Analyst',
    goal,
    model: scriptedModel(script),
    tools: [read],
    ...(settings && { settings }),
  })
  const one = new Task({
    name: 'facts',
    description: 'Facts of {notes}',
    agent,
    output: z.object({ policy: z.string(), issues: z.array(z.string()) }),
  })
  const two = new Task({ name: 'note', description, agent, context: [one] })
  const three = new Task({ name, description: 'Log it', agent, context: [] })
  return new Crew({ name: 'claims', tasks: [one, two, three], store, logger: { info: () => {}, warn: () => {} } })
}

/** Kicks off a crew, and returns the state of the run even if it failed. */
async function run(given: Given = {}, inputs = { notes: 'water' }): Promise<RunState> {
  const { runId } = await claims(given)
    .kickoff({ inputs })
    .catch((error: { runId: string }) => error)
  return stateOf(store, runId)
}

/** The state of a run that created these tasks and has these entries. */
function folded(entries: readonly NewEntry[], tasks: readonly string[] = ['job'], inputs = {}): RunState {
  const declared = tasks.map((name) => ({ name, id: name, description: `Do ${name}` }))
  const created: NewEntry = {
    type: 'run.created',
    run: 'r',
    incarnation: 'i',
    crew: 'c',
    version: '',
    inputs,
    tasks: declared,
    owner,
  }
  return fold(
    [created, ...entries].map((entry, index): Entry => ({
      v: journalVersion,
      seq: index + 1,
      at,
      token: 1,
      prev: '',
      ...entry,
    })),
  )
}

/** The entries of a task that was executed in one turn, with this output. */
function executed(task: string, raw: string, structured = false): NewEntry[] {
  const request = { instructions: 'You are Worker.', message: [`Do ${task}`], tools: [], model: 'm', settings: {} }
  const reply = { startedAt: at, usage: { calls: 1, input: 1, output: 1 }, finish: 'stop' }
  return [
    { type: 'task.started', path: `${task}#1`, request, fingerprint: {}, agent: 'Worker' },
    { type: 'model.replied', path: `${task}#1/1`, parts: [{ type: 'text', text: raw }], ...reply },
    { type: 'task.completed', path: `${task}#1`, structured },
  ]
}

const completed: NewEntry = { type: 'run.completed' }
const outputs = (a: string, b: string, structured = false): RunDiff =>
  diffRuns(
    folded([...executed('job', a, structured), completed]),
    folded([...executed('job', b, structured), completed]),
  )

const differing = (diff: RunDiff): [string, readonly string[]][] =>
  diff.tasks.filter((task) => task.differences.length > 0).map((task) => [task.name, task.differences])

function taskOf(diff: RunDiff, name: string): TaskDiff {
  const found = diff.tasks.find((task) => task.name === name)
  assert.ok(found, `no task ${name}`)
  return found
}

describe('the diff of two runs', () => {
  test('the diff of two runs has the statuses that other views show', () => {
    const stopped: NewEntry = { type: 'run.suspended', reason: 'stopped' }
    const asked: NewEntry = {
      type: 'question.asked',
      path: 'job#1',
      question: { id: 'q1', path: 'job#1', kind: 'result', output: 'a', round: 1, text: 'Good?' },
    }
    const waits: NewEntry = { type: 'run.suspended', reason: 'questions' }
    const diff = diffRuns(folded([stopped]), folded([asked, waits]))
    assert.deepEqual([diff.a.status, diff.b.status], ['stopped', 'waiting'])
    assert.equal(diffRuns(folded([]), folded([]), { b: { status: 'abandoned' } }).b.status, 'abandoned')
  })

  test('the diff of runs with the same inputs and steps is empty, even if ids, times and tokens differ', async () => {
    const cheaper = standard.map((entry) => ({ ...entry, usage: { input: 1, output: 1 } }))
    const [a, b] = [await run(), await run({ script: cheaper })]
    const diff = diffRuns(a, b)
    assert.notEqual(diff.a.id, diff.b.id)
    assert.notDeepEqual(diff.a.usage, diff.b.usage)
    assert.equal(diff.same, true)
    assert.equal(diff.first, undefined)
    assert.equal(
      String(diff).replaceAll(/\s+/g, ' '),
      `Run ${a.run} and run ${b.run} of crew claims are the same: inputs, prompts, steps and outputs.`,
    )
  })

  test('the diff of runs with different inputs names the input by path, and the first different task', async () => {
    const diff = diffRuns(await run(), await run({ script: [facts('P-9'), notes, logs] }, { notes: 'fire' }))
    assert.deepEqual(diff.inputs, [{ path: 'inputs.notes', kind: 'changed', a: 'water', b: 'fire' }])
    assert.equal(diff.first, 'facts')
    assert.deepEqual(differing(diff), [
      ['facts', ['prompt', 'steps', 'output']],
      ['note', ['prompt', 'output']],
    ])
    assert.deepEqual(taskOf(diff, 'facts').fields, ['input notes changed'])
    assert.deepEqual(taskOf(diff, 'note').fields, ['context facts changed'])
    assert.match(String(diff), /2 of 3 tasks differ, starting with facts\.\n\nInputs\n {2}- inputs\.notes: "water"\n/)
    assert.match(String(diff), /\nThe same in both: log$/)
  })

  test('the diff of runs with different unused inputs names no task', () => {
    const diff = diffRuns(folded([], ['job'], { a: 1 }), folded([], ['job'], { a: 2 }))
    assert.equal(diff.same, false)
    assert.equal(diff.first, undefined)
    assert.match(String(diff), /No task differs, only the inputs\./)
  })

  test('the diff with a failed run has its status and error, and the tasks that were not reached', async () => {
    const diff = diffRuns(
      await run(),
      await run({ script: [lookup, facts('P-77'), { when: 'Note', error: 'no luck' }] }),
    )
    assert.equal(diff.b.status, 'failed')
    assert.match(diff.b.error?.message ?? '', /no luck/)
    assert.deepEqual(differing(diff), [
      ['note', ['status', 'steps', 'output']],
      ['log', ['status', 'output']],
    ])
    const note = taskOf(diff, 'note')
    assert.equal(note.b?.status, 'failed')
    assert.match(note.b?.error?.message ?? '', /no luck/)
    assert.equal(note.output?.in, 'a')
    assert.match(
      String(diff),
      /Task note: status, steps and output differ\n {2}- executed .*\n {2}\+ failed: \w+: .*no luck/,
    )
    assert.match(String(diff), /Task log: status and output differ\n {2}- executed .*\n {2}\+ pending\n/)
  })

  test('the diff of two failed runs has the errors if their messages differ', () => {
    const failed = (message: string): RunState =>
      folded([{ type: 'run.failed', error: { code: 'STORE_FAILED', message } }])
    assert.equal(diffRuns(failed('one'), failed('one')).same, true)
    assert.equal(diffRuns(failed('one'), failed('two')).same, false)
  })

  test('the diff of two runs has the cost and the duration of each', async () => {
    const model = scriptedModel([{ when: 'Task', reply: 'x', usage: { input: 7, output: 3 } }])
    const task = new Task({ name: 'job', description: 'Do it', agent: new Agent({ role: 'A', goal: 'g', model }) })
    const { runId } = await new Crew({ name: 'c', tasks: [task], store }).kickoff()
    const diff = diffRuns(folded([]), await stateOf(store, runId))
    assert.deepEqual(diff.b.usage, { calls: 1, input: 7, output: 3 })
    assert.deepEqual(taskOf(diff, 'job').b?.usage, { calls: 1, input: 7, output: 3 })
    assert.equal(diff.a.durationMs, 0)
    assert.ok(diff.b.durationMs >= 0 && diff.b.durationMs < 60_000)
  })
})

describe('the diff of two lists of tasks', () => {
  const done = (...tasks: readonly string[]): RunState =>
    folded([...tasks.flatMap((name) => executed(name, `output of ${name}`)), completed], tasks)

  test('the diff of two lists of tasks has an inserted task, and no others', () => {
    const diff = diffRuns(done('one', 'two'), done('one', 'new', 'two'))
    assert.deepEqual(differing(diff), [['new', ['presence']]])
    assert.equal(taskOf(diff, 'new').a, undefined)
    assert.equal(taskOf(diff, 'new').b?.source, 'executed')
    assert.match(
      String(diff),
      /Task new: only in the second run\n {2}\+ executed .*\n {2}output\n {2}\+ output of new\n/,
    )
  })

  test('the diff of two lists of tasks has a removed task after those of the second run', () => {
    const diff = diffRuns(done('old', 'one'), done('one'))
    assert.deepEqual(
      diff.tasks.map((task) => task.name),
      ['one', 'old'],
    )
    assert.equal(diff.first, 'old')
    assert.match(String(diff), /Task old: only in the first run/)
  })

  test('the diff of two lists of tasks has a renamed task under its old and its new name', async () => {
    const diff = diffRuns(await run(), await run({ name: 'archive' }))
    assert.deepEqual(differing(diff), [
      ['archive', ['presence']],
      ['log', ['presence']],
    ])
  })

  test('the diff of two lists of tasks has a changed order, and then no changed task', () => {
    const diff = diffRuns(done('one', 'two', 'old'), done('two', 'new', 'one'))
    assert.deepEqual(diff.order, { a: ['one', 'two'], b: ['two', 'one'] })
    const swapped = diffRuns(done('one', 'two'), done('two', 'one'))
    assert.equal(swapped.same, false)
    assert.equal(swapped.first, undefined)
    assert.match(String(swapped), /No task differs, only the order of the tasks\./)
    assert.equal(diffRuns(done('one', 'two'), done('new', 'one', 'two')).order, undefined)
  })

  test('the diff of two lists of tasks leaves out a task that was removed before a resume', () => {
    const tasks = [{ name: 'one', id: 'one', description: 'Do one' }]
    const resumed = folded(
      [...executed('one', 'x'), ...executed('gone', 'y'), { type: 'run.resumed', owner, tasks }, completed],
      ['one', 'gone'],
    )
    assert.equal(diffRuns(resumed, folded([...executed('one', 'x'), completed], ['one'])).same, true)
  })
})

describe('the diff of a replay with its parent', () => {
  test('the diff of a replay with its parent is empty if the outputs come out equal', async () => {
    const parent = await run()
    const { runId } = await claims().replay('note', { runId: parent.run })
    const diff = diffRuns(parent, await stateOf(store, runId))
    assert.equal(diff.same, true)
    const inherited = taskOf(diff, 'facts')
    assert.deepEqual([inherited.b?.source, inherited.b?.from], ['inherited', parent.run])
    assert.deepEqual(inherited.prompt.missing, { b: 'inherited' })
    assert.equal(inherited.steps.b, undefined)
    assert.equal(diff.b.usage.calls, 2)
  })

  test('the diff of a replay with a changed prompt has the messages before and after', async () => {
    const parent = await run()
    const changed = claims({ goal: 'Handle claims fast', description: 'Note for Bob', settings: { temperature: 0.5 } })
    const { runId } = await changed.replay('note', { runId: parent.run })
    const diff = diffRuns(parent, await stateOf(store, runId))
    const { definition, fields, prompt } = taskOf(diff, 'note')
    assert.deepEqual(differing(diff), [
      ['note', ['definition', 'prompt']],
      ['log', ['definition', 'prompt']],
    ])
    assert.deepEqual(fields, ['agent goal changed', 'description changed', 'settings changed'])
    assert.deepEqual(sides(definition.description), ['Note for Ada', 'Note for Bob'])
    assert.deepEqual(prompt.settings, [{ path: 'settings.temperature', kind: 'added', b: 0.5 }])
    assert.match(String(diff), / {2}- Your goal: Handle claims\n {2}\+ Your goal: Handle claims fast\n/)
    assert.match(String(diff), / {2}- Task: Note for Ada\n {2}\+ Task: Note for Bob\n/)
  })

  test('the diff of prompts names tools, model and schema that were changed, added or removed', () => {
    const asked = (request: object): RunState => {
      const [started, ...rest] = executed('job', 'x')
      const base = (started as { request: object }).request
      return folded([{ ...(started as NewEntry), request: { ...base, ...request } } as NewEntry, ...rest])
    }
    const tools = [
      { name: 'gone', description: 'd', schema: {} },
      { name: 'kept', description: 'old', schema: { type: 'object' } },
    ]
    const { prompt } = taskOf(
      diffRuns(
        asked({ tools, output: { type: 'object' } }),
        asked({
          tools: [
            { ...tools[1], description: 'new' },
            { ...tools[0], name: 'more' },
          ],
          model: 'n',
        }),
      ),
      'job',
    )
    assert.deepEqual(prompt.tools, [
      { name: 'gone', kind: 'removed' },
      {
        name: 'kept',
        kind: 'changed',
        changes: [{ path: 'kept.description', kind: 'changed', a: 'old', b: 'new' }],
      },
      { name: 'more', kind: 'added' },
    ])
    assert.deepEqual(prompt.model, { a: 'm', b: 'n' })
    assert.deepEqual(prompt.schema, [{ path: 'schema', kind: 'removed', a: { type: 'object' } }])
  })

  test('the diff of an edited output tells that a person wrote it', () => {
    const edit: NewEntry = { type: 'task.edited', path: 'job', raw: 'by hand', structured: false, by: 'Ada' }
    const diff = diffRuns(folded([...executed('job', 'by model'), completed]), folded([edit, completed]))
    assert.deepEqual(differing(diff), [['job', ['output']]])
    assert.deepEqual(taskOf(diff, 'job').prompt.missing, { b: 'edited' })
    assert.match(String(diff), / {2}\+ edited\n {2}no prompt to compare: a person wrote the output in the second run\n/)
    assert.match(String(diff), / {2}- by model\n {2}\+ by hand$/)
  })
})

describe('the diff of steps', () => {
  test('the steps of two runs diverge at the first tool call with another input, named by its path', async () => {
    const again: ScriptEntry = { when: 'Task: Facts', calls: [{ tool: 'lookup', input: { number: 'P-78' } }] }
    const diff = diffRuns(await run(), await run({ script: [lookup, again, facts('P-77'), notes, logs] }))
    const { steps, differences } = taskOf(diff, 'facts')
    assert.deepEqual(differences, ['steps'])
    assert.deepEqual(steps.a, { modelCalls: 2, toolCalls: 1, failedTries: 0 })
    assert.deepEqual(steps.b, { modelCalls: 3, toolCalls: 2, failedTries: 0 })
    assert.deepEqual(steps.parting, {
      b: { kind: 'tool', path: 'facts#1/2.0', tool: 'lookup', input: { number: 'P-78' }, outcome: 'result' },
    })
    assert.match(
      String(diff),
      / {2}steps diverge: 2 model calls, 1 tool call vs 3 model calls, 2 tool calls\n {2}- no further step\n {2}\+ facts#1\/2\.0 lookup\(\{"number":"P-78"\}\)/,
    )
  })

  test('the steps of two runs diverge at a call that failed in one and returned a result in the other', async () => {
    const { parting } = taskOf(diffRuns(await run(), await run({ since: 'broken' })), 'facts').steps
    assert.deepEqual([parting?.a?.path, parting?.b?.path], ['facts#1/1.0', 'facts#1/1.0'])
    assert.equal(parting?.a?.kind === 'tool' && parting.a.outcome, 'result')
    assert.equal(parting?.b?.kind === 'tool' && parting.b.outcome, 'error')
  })

  test('the diff of steps distinguishes a call without a recorded result from a call that was not made', () => {
    const request = { instructions: '', message: ['Do job'], tools: [], model: 'm', settings: {} }
    const reply = { startedAt: at, usage: { calls: 1, input: 1, output: 1 }, finish: 'tool-calls' }
    const asked: NewEntry[] = [
      { type: 'task.started', path: 'job#1', request, fingerprint: {}, agent: 'Worker' },
      { type: 'model.replied', path: 'job#1/1', parts: [{ type: 'call', id: 'c', tool: 'pay', input: {} }], ...reply },
    ]
    const known = { tool: 'pay', effect: 'read', key: 'k', idempotencyKey: 'k' } as const
    const called: NewEntry = { type: 'tool.called', path: 'job#1/1.0', ...known }
    assert.match(
      String(diffRuns(folded(asked), folded([...asked, called]))),
      / {2}- job#1\/1\.0 pay\(\{\}\), not made\n {2}\+ job#1\/1\.0 pay\(\{\}\), no result recorded/,
    )
  })

  test('the steps of two runs do not diverge at an equal call with another result, which is listed', async () => {
    const diff = diffRuns(await run(), await run({ since: '2021' }))
    assert.equal(diff.same, true)
    assert.deepEqual(taskOf(diff, 'facts').steps.results, [
      {
        tool: 'lookup',
        input: { number: 'P-77' },
        a: 'facts#1/1.0',
        b: 'facts#1/1.0',
        changes: [{ path: 'result.since', kind: 'changed', a: '2020', b: '2021' }],
      },
    ])
  })

  test('the diff of steps counts those of a refused attempt for the attempt that continues it', async () => {
    const { reply } = facts('P-77') as { reply: Json }
    const refused: ScriptEntry[] = [
      lookup,
      { when: 'Task: Facts', after: 'was not accepted', reply },
      { when: 'Task: Facts', reply: 'no JSON' },
    ]
    const diff = diffRuns(await run(), await run({ script: [...refused, notes, logs] }))
    const { b, steps } = taskOf(diff, 'facts')
    assert.equal(b?.attempts, 2)
    assert.deepEqual(steps.b, { modelCalls: 3, toolCalls: 1, failedTries: 0 })
    assert.deepEqual(steps.parting, { b: { kind: 'model', path: 'facts#2/1' } })
  })
})

describe('the diff of outputs', () => {
  test('the diff of structured outputs compares by path, and aligns lists', () => {
    const a = { policy: 'P-77', issues: ['water', 'mould'], gone: 1 }
    const b = { issues: ['smoke', 'water', 'mould'], policy: 'P-78' }
    const { output } = taskOf(outputs(JSON.stringify(a), JSON.stringify(b), true), 'job')
    assert.deepEqual(output?.changes, [
      { path: 'output.gone', kind: 'removed', a: 1 },
      { path: 'output.issues[0]', kind: 'added', b: 'smoke' },
      { path: 'output.policy', kind: 'changed', a: 'P-77', b: 'P-78' },
    ])
  })

  test('the diff of outputs with equal values in another notation has only their text', () => {
    const diff = outputs('{"a":1,"b":2}', '{ "b": 2, "a": 1 }', true)
    assert.deepEqual(taskOf(diff, 'job').output?.changes, [])
    assert.match(String(diff), /the same values, formatted differently/)
  })

  test('the diff of outputs of several lines shows changes with three lines of context by default', () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`)
    const diff = outputs(lines.join('\n'), lines.with(15, 'another').join('\n'))
    const shown = `  output
  ⋮ 12 equal lines
    line 12
    line 13
    line 14
  - line 15
  + another
    line 16
    line 17
    line 18
  ⋮ 11 equal lines`
    assert.ok(String(diff).endsWith(shown), String(diff))
    assert.ok(diffText(diff, { context: 0 }).endsWith('⋮ 15 equal lines\n  - line 15\n  + another\n  ⋮ 14 equal lines'))
  })

  test('the diff of outputs of one long line shows the changed words and those around them', () => {
    const long = (word: string): string =>
      `${'The beginning is the same. '.repeat(20)}Send ${word} today. ${'So is the end. '.repeat(20)}`
    const text = String(outputs(long('Ada'), long('Bob')))
    assert.match(text, / {2}- ….*is the same\. Send Ada today\. So is the end\./)
    assert.match(text, / {2}\+ ….*is the same\. Send Bob today\. So is the end\./)
    assert.ok(text.length < 800, text)
  })

  test('the diff of outputs shows a space at the end of a line', () => {
    assert.match(String(outputs('same\nend', 'same\nend ')), / {2}- end\n {2}\+ end·$/)
  })

  test('the diff of outputs cuts between characters of any script, and has at most 80 columns', () => {
    const a = `${'東京都の天気は晴れです。'.repeat(30)}👩‍👩‍👧‍👦 終わり`
    const b = `${'東京都の天気は晴れです。'.repeat(30)}👩‍👩‍👧‍👦👩‍👩‍👧‍👦 終わりました`
    const diff = outputs(a, b)
    assert.deepEqual(sides(taskOf(diff, 'job').output?.text), [a, b])
    const text = String(diff)
    assert.ok(text.isWellFormed())
    for (const line of text.split('\n')) assert.ok(columns(line) <= 80, line)
    assert.match(text, /\+ .*👩‍👩‍👧‍👦👩‍👩‍👧‍👦 終わりました/)
  })

  test('the diff of two texts of a megabyte without common parts replaces the whole in a few seconds', () => {
    const text = (word: string): string =>
      Array.from({ length: 60_000 }, (_, index) => `${word} number ${index}`).join('\n')
    const [a, b] = [`begin\n${text('apple')}\nend`, `begin\n${text('stone')}\nend`]
    assert.ok(a.length > 1_000_000)
    const before = processorSeconds()
    const diff = textDiff(a, b)
    const words = textDiff('apple '.repeat(200_000), 'stone '.repeat(200_000))
    const printed = String(outputs(a, b))
    const took = processorSeconds() - before
    assert.equal(diff?.coarse, true)
    assert.deepEqual(sides(diff), [a, b])
    assert.deepEqual(
      diff.parts.map((part) => part.kind),
      ['same', 'removed', 'added', 'same'],
    )
    assert.deepEqual(
      words?.parts.map((part) => part.kind),
      ['removed', 'added'],
    )
    assert.match(printed, /too many changes to compare line by line/)
    assert.ok(printed.length < 10_000)
    // measured: 0.3 s; without the limits it takes minutes
    assert.ok(took < 10, `${took} s`)
  })
})

describe('the text of a diff', () => {
  test('the text of a diff shows terminal escapes instead of sending them', () => {
    const evil = '\u001b]0;owned\u0007 \u001b[2J \u009b31m \u202etxt \u2066 \ud800 \u007f\ttab\r'
    const diff = diffRuns(
      folded(
        [...executed('job', 'good'), { type: 'run.failed', error: { code: 'X', message: evil }, task: evil }],
        ['job'],
        { a: 1 },
      ),
      folded([...executed('job', evil), ...executed('other\u009b', evil)], ['job', 'other\u009b'], {
        a: evil,
        [evil]: evil,
      }),
    )
    const text = String(diff)
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    assert.ok(text.isWellFormed())
    assert.match(text, /\+ ␛\]0;owned␇ ␛\[2J \\u009b31m \\u202etxt \\u2066 \\ud800 ␡→ {3}tab␍/)
  })

  test('the text of a diff has a type for every line, for colored output', () => {
    const diff = outputs('one\ntwo', 'one\nzwei')
    const lines = diffLines(diff)
    assert.equal(lines.map((line) => line.text).join('\n'), String(diff))
    assert.deepEqual(lines.slice(-3), [
      { kind: 'same', text: '    one' },
      { kind: 'removed', text: '  - two' },
      { kind: 'added', text: '  + zwei' },
    ])
  })

  test('the text of a diff is made from the data alone: it is the same after a round trip through JSON', async () => {
    const diff = diffRuns(
      await run(),
      await run({ goal: 'Other', script: [facts('P-1'), notes, logs] }, { notes: 'x' }),
    )
    const copy = JSON.parse(JSON.stringify(diff)) as RunDiff
    assert.deepEqual(copy, { ...diff })
    assert.ok(!Object.keys(diff).includes('toString'))
    assert.equal(diffText(copy), String(diff))
  })
})

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, '', 'a'),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'two words', '__proto__', '0', 'toString'), tie('value'), {
      noNullPrototype: true,
    }),
  ),
})).value

describe('for all values', () => {
  test('the changes of a JSON value turn the first one into the second', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        assert.deepEqual(applied(a, jsonChanges(a, b, 'root')), { root: b })
        assert.deepEqual(jsonChanges(a, structuredClone(a), 'root'), [])
      }),
      { numRuns: 2_000 },
    )
  })

  test('a JSON value too deep to walk has changed as a whole', () => {
    const deep = (levels: number, end: string): Json =>
      JSON.parse(`${'['.repeat(levels)}${end}${']'.repeat(levels)}`) as Json
    for (const [levels, path] of [
      [500, `root${'[0]'.repeat(100)}`],
      [50_000, 'root'],
    ] as const) {
      const [a, b] = [deep(levels, '1'), deep(levels, '2')]
      assert.deepEqual(
        jsonChanges(a, b, 'root').map((change) => [change.path, change.kind]),
        [[path, 'changed']],
      )
      assert.deepEqual(jsonChanges(a, a, 'root'), [])
    }
  })

  test('the parts of a text diff hold both texts', () => {
    const line = fc.constantFrom('', 'a b c d', 'a b c e', 'a b x d e f', '👩‍👩‍👧 é', 'x ', '\r')
    const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (a, b) => assert.deepEqual(sides(textDiff(a, b)), a === b ? undefined : [a, b])),
      { numRuns: 1_000 },
    )
  })

  test('the diff of a run with itself is empty', () => {
    const task = fc.constantFrom('one', 'two', 'three')
    const entry = fc.oneof(
      fc.tuple(task, fc.string()).map(([name, raw]) => executed(name, raw)),
      fc.tuple(task, json).map(([name, value]) => executed(name, JSON.stringify(value), true)),
      fc
        .tuple(task, fc.string())
        .map(([path, raw]): NewEntry[] => [{ type: 'task.edited', path, raw, structured: false }]),
      fc
        .tuple(task, fc.string())
        .map(([path, message]): NewEntry[] => [{ type: 'task.failed', path, error: { code: 'C', message } }]),
      task.map((path): NewEntry[] => [{ type: 'task.invalidated', path }]),
      task.map((path): NewEntry[] => [{ type: 'task.skipped', path, reason: 'r' }]),
    )
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 8 }), json, (entries, value) => {
        const state = folded(entries.flat(), ['one', 'two', 'three'], { value })
        const diff = diffRuns(state, state)
        assert.equal(diff.same, true)
        assert.deepEqual(differing(diff), [])
      }),
    )
  })

  test('the text of a diff stays within 80 columns', () => {
    const value = fc.oneof(
      json,
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 300 }),
    )
    fc.assert(
      fc.property(value, value, (a, b) => {
        const text = String(
          diffRuns(
            folded(executed('job', JSON.stringify(a)), ['job'], { value: a }),
            folded(executed('job', JSON.stringify(b)), ['job'], { value: b }),
          ),
        )
        for (const line of text.split('\n')) assert.ok(columns(line) <= 80, line)
      }),
      { numRuns: 50 },
    )
  })
})

test('the journal and the diff are bundled for a browser without any module of Node', async () => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: "export * from './src/journal/index.ts'; export * from './src/runs/diff/index.ts'",
      resolveDir: '.',
    },
    bundle: true,
    platform: 'browser',
    format: 'esm',
    minify: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  assert.equal(outputFiles.length, 1)
  const foreign = Object.keys(metafile.inputs).filter((file) => file.startsWith('node_modules/'))
  assert.deepEqual(foreign, ['node_modules/diff/libesm/diff/base.js', 'node_modules/diff/libesm/diff/array.js'])
})

/** Both texts, reassembled from the parts. */
function sides(diff: TextDiff | undefined): [string, string] | undefined {
  if (!diff) return undefined
  const side = (kind: 'removed' | 'added'): string =>
    diff.parts
      .flatMap((part) => {
        if (part.kind !== 'changed') return part.kind === 'same' || part.kind === kind ? part.lines : []
        const words = part.words.filter((word) => word.kind === 'same' || word.kind === kind)
        return [words.map((word) => word.text).join('')]
      })
      .join('\n')
  return [side('removed'), side('added')]
}

type Container = { [key: string | number]: Json | Container }

/** Applies changes as JsonChange prescribes: removals from last to first, additions in order, then changed values. */
function applied(a: Json, changes: readonly JsonChange[]): Container {
  const value: Container = { root: structuredClone(a) }
  const of = (kind: JsonChange['kind']): JsonChange[] => changes.filter((change) => change.kind === kind)
  const steps = [...of('removed').toReversed(), ...of('added'), ...of('changed')]
  for (const change of steps) {
    const keys = [...change.path.matchAll(/(?:^|\.)([\p{L}\p{N}_$]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gu)].map(
      (match) => (match[2] === undefined ? (match[1] ?? (JSON.parse(match[3] ?? '""') as string)) : Number(match[2])),
    )
    const last = keys.pop() as string | number
    const parent = keys.reduce<Container>((inside, key) => inside[key] as Container, value)
    if (change.kind === 'removed') {
      if (Array.isArray(parent)) parent.splice(Number(last), 1)
      else delete parent[last]
    } else if (change.kind === 'added' && Array.isArray(parent)) parent.splice(Number(last), 0, change.b)
    else Object.defineProperty(parent, last, { value: change.b, enumerable: true, configurable: true, writable: true })
  }
  return value
}
