// A person edits the journal of a `file:` store by hand: removed work is executed again, each time.
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { z } from 'zod'
import { checkJournal } from '../../../src/cli/output/show-verification.ts'
import type { Entry } from '../../../src/journal/entries.ts'
import { openStore } from '../../../src/stores/open-store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { payment } from '../../engine/payments.ts'

async function openStage() {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-edits-'))
  const file = join(folder, 'r.jsonl')
  const model = scriptedModel([{ when: 'Task:', reply: (text) => `output of ${/Task: (\w+)/.exec(text)?.[1]}` }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks = ['a', 'b', 'c'].map((name) => new Task({ name, description: name, agent }))
  const crew = new Crew({ name: 'edited', tasks, store: `file:${folder}`, logger: { info() {}, warn() {} } })
  return {
    crew,
    model,
    folder,
    async edit(keep: (entry: Entry) => boolean): Promise<void> {
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
      await writeFile(file, `${lines.filter((line) => keep(JSON.parse(line) as Entry)).join('\n')}\n`)
    },
    async entries(): Promise<Entry[]> {
      return (await readFile(file, 'utf8'))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Entry)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await crew.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test('a removed completion is made again, and so is one that is removed later', async () => {
  await using stage = await openStage()
  const { crew, model } = stage
  await crew.kickoff({ id: 'r' })
  for (const [round, name] of ['b', 'a', 'c', 'b'].entries()) {
    await stage.edit((entry) => !(entry.type === 'task.completed' && entry.path?.startsWith(`${name}#`)))
    const result = await crew.kickoff({ id: 'r' })
    assert.equal(result.status, 'completed')
    assert.equal(model.calls.length, 4 + round, `only ${name} was executed`)
    assert.match(model.calls.at(-1)?.lastMessage ?? '', new RegExp(`Task: ${name}`))
    const resumed = (await stage.entries()).findLast((entry) => entry.type === 'run.resumed')
    assert.deepEqual(resumed?.type === 'run.resumed' && resumed.edited?.tasks, [name])
  }
  await crew.kickoff({ id: 'r' })
  assert.equal(model.calls.length, 7, 'a recorded edit is not taken for a new one')
})

test('a task whose lines are all removed is executed again', async () => {
  await using stage = await openStage()
  const { crew, model } = stage
  await crew.kickoff({ id: 'r' })
  await stage.edit((entry) => !entry.path?.startsWith('b#'))
  assert.equal((await crew.kickoff({ id: 'r' })).task('b').raw, 'output of b')
  assert.equal(model.calls.length, 4)
})

test('a text changed by hand is used as it is, and the change is recorded', async () => {
  await using stage = await openStage()
  const { crew, model } = stage
  await crew.kickoff({ id: 'r', through: 'b' })
  const file = join(stage.folder, 'r.jsonl')
  await writeFile(file, (await readFile(file, 'utf8')).replace('output of a', 'said by hand'))
  const result = await crew.kickoff({ id: 'r' })
  assert.equal(result.task('a').raw, 'said by hand')
  assert.equal(model.calls.length, 3)
  const resumed = (await stage.entries()).findLast((entry) => entry.type === 'run.resumed')
  assert.equal(resumed?.type === 'run.resumed' && resumed.edited?.changed.length, 1)
})

test('a removed answer is made again even if its completion is still there', async () => {
  await using stage = await openStage()
  const { crew, model } = stage
  await crew.kickoff({ id: 'r' })
  await stage.edit((entry) => !(entry.type === 'model.replied' && entry.path === 'b#1/1'))
  assert.equal((await crew.kickoff({ id: 'r' })).task('b').raw, 'output of b')
  assert.equal(model.calls.length, 4)
})

test('the copy of a journal file is a run of its own', async () => {
  await using stage = await openStage()
  const { crew, folder } = stage
  await crew.kickoff({ id: 'r', through: 'a' })
  await cp(join(folder, 'r.jsonl'), join(folder, 'copy.jsonl'))
  await cp(join(folder, 'r.blobs'), join(folder, 'copy.blobs'), { recursive: true })
  await crew.run('copy').edit('a', 'edited in the copy')
  const result = await crew.resume('copy')
  assert.equal(result.runId, 'copy')
  assert.equal(result.task('a').raw, 'edited in the copy')
  assert.equal((await crew.resume('r')).task('a').raw, 'output of a')
})

test('a structured output edited into something invalid is made again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-edits-'))
  const model = scriptedModel([{ when: 'Do it', reply: { n: 1 } }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const job = new Task({ name: 'job', description: 'Do it', agent, output: z.object({ n: z.number() }) })
  await using crew = new Crew({ name: 'c', tasks: [job], store: `file:${folder}` })
  await crew.kickoff({ id: 'r' })
  const file = join(folder, 'r.jsonl')
  await writeFile(file, (await readFile(file, 'utf8')).replace('{\\"n\\":1}', 'oops'))
  assert.equal((await crew.run('r').view()).task(job).output, undefined)
  assert.deepEqual((await crew.kickoff({ id: 'r' })).task(job).output, { n: 1 })
  assert.equal(model.calls.length, 2)
  await rm(folder, { recursive: true, force: true })
})

for (const removed of ['task.started', 'model.replied', 'tool.called']) {
  test(`a once call is remembered when the ${removed} before it is removed`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reprise-edits-'))
    const pay = payment()
    const model = scriptedModel([
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: 'Do it', after: 1, reply: 'paid' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [pay] })
    await using crew = new Crew({
      name: 'c',
      tasks: [new Task({ name: 'job', description: 'Do it', agent })],
      store: `file:${folder}`,
    })
    await crew.kickoff({ id: 'r' })
    const file = join(folder, 'r.jsonl')
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    const gone = lines.findIndex((line) => (JSON.parse(line) as Entry).type === removed)
    const kept = lines.filter((line, index) => index !== gone && (JSON.parse(line) as Entry).type !== 'task.completed')
    await writeFile(file, `${kept.join('\n')}\n`)
    const result = await crew.kickoff({ id: 'r' })
    assert.equal(result.status, 'completed')
    assert.deepEqual(pay.done, [5])
    await rm(folder, { recursive: true, force: true })
  })
}

for (const [removed, kept] of [
  ['task.started', 'task.completed'],
  ['task.completed', 'task.started'],
] as const) {
  test(`a once function is not called again when its ${removed} is removed and its ${kept} is not`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reprise-edits-'))
    let calls = 0
    const pay = new Task({ name: 'pay', run: () => `paid ${++calls}` })
    await using crew = new Crew({ name: 'c', tasks: [pay], store: `file:${folder}` })
    await crew.kickoff({ id: 'r' })
    const file = join(folder, 'r.jsonl')
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    await writeFile(file, `${lines.filter((line) => (JSON.parse(line) as Entry).type !== removed).join('\n')}\n`)
    const result = await crew.kickoff({ id: 'r' })
    if (result.status === 'suspended')
      assert.match(result.questions[0]?.text ?? '', /which ended with an unknown outcome/)
    else assert.equal(result.raw, 'paid 1')
    assert.equal(result.status === 'suspended', removed === 'task.completed')
    assert.equal(calls, 1)
    await rm(folder, { recursive: true, force: true })
  })
}

test('an answer from before the journal was cut back does not answer another question', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-edits-'))
  const pay = payment({ maxSeconds: 0.01, run: () => new Promise(() => {}) })
  const crewFor = (amount: number) => {
    const model = scriptedModel([
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount } }] },
      { when: 'Do it', after: 1, reply: 'paid' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [pay] })
    return new Crew({
      name: 'c',
      tasks: [new Task({ name: 'job', description: 'Do it', agent })],
      store: `file:${folder}`,
    })
  }
  const first = crewFor(5)
  try {
    await first.kickoff({ id: 'r' })
    await first.run('r').answer('q1', { decision: 'happened', result: 'five was paid' })
    await first.resume('r')
    const file = join(folder, 'r.jsonl')
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    const cut = lines.findIndex((line) => (JSON.parse(line) as Entry).type === 'model.replied')
    await writeFile(file, `${lines.slice(0, cut).join('\n')}\n`)
    const result = await crewFor(900).resume('r')
    assert.equal(result.status, 'suspended')
    assert.match(result.questions[0]?.text ?? '', /"amount":900/)
  } finally {
    await first.close()
    await rm(folder, { recursive: true, force: true })
  }
})

test('an edited line that its type does not allow is named with its field, and the journal is readable once it is fixed', async () => {
  await using stage = await openStage()
  const { crew, model } = stage
  await crew.kickoff({ id: 'r', through: 'b' })
  const file = join(stage.folder, 'r.jsonl')
  const whole = await readFile(file, 'utf8')
  for (const [from, to, message] of [
    [
      '"parts":[{',
      '"parts":{"0":{',
      /entry 3 of run r is a "model\.replied" whose parts is an object, not a list; fix that line/,
    ],
    ['"usage":{"calls":1', '"usage":{"calls":"one"', /entry 3 of run r .* whose usage\.calls is "one", not a number/],
    [
      '"structured":false',
      '"structured":0',
      /entry 4 of run r is a "task\.completed" whose structured is 0, not true or false/,
    ],
  ] as const) {
    const torn = whole.replace(from, to).replace(to.endsWith(':{') ? /\}\],"usage"/ : /^$/, '}},"usage"')
    await writeFile(file, torn)
    await assert.rejects(crew.resume('r'), { code: 'JOURNAL_DAMAGED', message })
  }
  await writeFile(file, whole)
  assert.equal((await crew.resume('r')).status, 'completed')
  assert.equal(model.calls.length, 3)
})

test('a malformed message written into the inbox by hand is refused, and the run continues', async () => {
  await using stage = await openStage()
  const { crew } = stage
  await crew.kickoff({ id: 'r', through: 'a' })
  const messages = [
    { type: 'edit', task: 'b', raw: 5, structured: true, path: 'a' },
    { type: 'edit', task: null, raw: 'x', structured: false },
    { type: 'invalidate', task: 'b', by: {} },
    { type: 'answer', question: 'q1', answer: 5 },
    { type: 'constructor' },
    null,
    5,
  ]
  const lines = messages.map((message, index) =>
    JSON.stringify({ id: `m${index}`, at: new Date(0).toISOString(), body: JSON.stringify(message) }),
  )
  await writeFile(join(stage.folder, 'r.inbox.jsonl'), `${lines.join('\n')}\n`)
  assert.equal((await crew.resume('r')).status, 'completed')
  const refused = (await stage.entries()).filter((entry) => entry.type === 'message.refused')
  assert.equal(refused.length, messages.length)
  assert.match(JSON.stringify(refused[0]), /its raw is 5, not a string/)
  assert.equal((await crew.run('r').view()).status, 'completed')
})

test('verify names a number mistyped by hand, and does not count up to it', async () => {
  await using stage = await openStage()
  await stage.crew.kickoff({ id: 'r' })
  const path = join(stage.folder, 'r.jsonl')
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  const last = lines.length
  await writeFile(path, `${lines.join('\n').replace(`"seq":${last},`, '"seq":900000000000000,')}\n`)
  const store = await openStore(`file:${stage.folder}`)
  await assert.rejects(checkJournal(store, 'r'), {
    code: 'JOURNAL_DAMAGED',
    message: /entry 900000000000000 of run r follows entry 10;/,
  })
  await store.close()
})
