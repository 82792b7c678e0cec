// Journals that lost entries, by damage or by hand: the lost entries are named, undone work is executed again, and a
// `once` call that they may have recorded is made only after a person allows it.
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Crew, Task, type Tool } from 'reprise'
import { openStore } from 'reprise/stores'
import { checkJournal } from '../../../src/cli/output/show-verification.ts'
import { readRun } from '../../../src/read/read-run.ts'
import type { Entry } from '../../../src/journal/entries.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { payment } from '../../engine/payments.ts'
import { dyingStore } from '../../engine/support.ts'

/** A crew of two tasks: `facts` answers, and `pay` pays 5 before it does. */
async function openStage(options: { pay?: ReturnType<typeof payment>; tools?: (pay: Tool) => Tool[] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-lost-'))
  const { pay = payment(), tools = (tool: Tool) => [tool] } = options
  const model = scriptedModel([
    { when: 'Find out', reply: 'facts' },
    { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    { when: 'Do it', after: 1, reply: 'paid' },
  ])
  const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: tools(pay) })
  const tasks = [
    new Task({ name: 'facts', description: 'Find out', agent: clerk }),
    new Task({ name: 'pay', description: 'Do it', agent: clerk, context: [] }),
  ]
  const url = `file:${folder}`
  const crew = new Crew({ name: 'lost', tasks, store: url, logger: { info() {}, warn() {} } })
  const file = (run = 'r'): string => join(folder, `${run}.jsonl`)
  const entries = async (run = 'r'): Promise<Entry[]> =>
    (await readFile(file(run), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry)
  const store = await openStore(url)
  return {
    crew,
    pay,
    model,
    folder,
    file,
    entries,
    store,
    /** Keeps the lines that `keep` says. */
    async edit(keep: (entry: Entry) => boolean): Promise<void> {
      const lines = (await readFile(file(), 'utf8')).trimEnd().split('\n')
      await writeFile(file(), `${lines.filter((line) => keep(JSON.parse(line) as Entry)).join('\n')}\n`)
    },
    seqOf: async (type: Entry['type'], path?: string): Promise<number> =>
      (await entries()).find((entry) => entry.type === type && (path === undefined || entry.path === path))?.seq ?? 0,
    async [Symbol.asyncDispose](): Promise<void> {
      await store.close()
      await crew.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test('entries cut off the end are named and recorded by the next resume, and their numbers are not reused', async () => {
  await using stage = await openStage()
  const { crew, store } = stage
  await crew.kickoff({ id: 'r' })
  const last = (await stage.entries()).length
  const cut = await stage.seqOf('task.completed', 'pay#1')
  await stage.edit((entry) => entry.seq < cut)
  const gone = Array.from({ length: last - cut + 1 }, (_, index) => cut + index)
  assert.deepEqual((await readRun(store, 'r')).state.missing, gone)
  const { whole, missing } = await checkJournal(store, 'r')
  assert.deepEqual({ whole, missing }, { whole: false, missing: gone })
  assert.equal((await crew.resume('r')).status, 'completed')
  const resumed = (await stage.entries()).find((entry) => entry.type === 'run.resumed')
  assert.deepEqual(resumed?.edited, { missing: gone, changed: [], tasks: ['pay'] })
  assert.equal(resumed?.seq, last + 1)
  assert.equal((await checkJournal(store, 'r')).whole, true)
  assert.deepEqual(stage.pay.done, [5])
})

test('a lost completion alone is written again silently', async () => {
  await using stage = await openStage()
  const { crew, model } = stage
  await crew.kickoff({ id: 'r' })
  const calls = model.calls.length
  await stage.edit((entry) => entry.type !== 'run.completed')
  assert.equal((await crew.resume('r')).status, 'completed')
  assert.equal(model.calls.length, calls)
})

for (const [what, from] of Object.entries({
  'its call': { type: 'tool.called', path: 'pay#1/1.0' },
  'the reply that asks for it': { type: 'model.replied', path: 'pay#1/1' },
  'its attempt': { type: 'task.started', path: 'pay#1' },
  'the task before it': { type: 'task.started', path: 'facts#1' },
} as const)) {
  test(`a once call asks first when everything from ${what} on is cut off`, async () => {
    await using stage = await openStage()
    const { crew, pay } = stage
    await crew.kickoff({ id: 'r' })
    const last = (await stage.entries()).length
    const cut = await stage.seqOf(from.type, from.path)
    await stage.edit((entry) => entry.seq < cut)
    const result = await crew.resume('r')
    assert.equal(result.status, 'suspended')
    const [question] = result.questions
    assert.equal(question?.kind, 'call')
    assert.match(question.text, new RegExp(`Entries of the journal of run r are missing \\(${cut} to ${last}\\)`))
    assert.deepEqual(pay.done, [5])
    await crew.run('r').answer(question.id, { decision: 'use', result: { paid: 5 } })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, [5])
  })
}

test('a once function asks first when a single entry is cut off, which may have started and called it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-lost-'))
  const pay = new Task({ name: 'pay', run: () => 'paid' })
  const store = await openStore(`file:${folder}`)
  const crew = new Crew({ name: 'c', tasks: [pay], store, logger: { info() {}, warn() {} } })
  const dying = crew.with({ store: dyingStore(store, (types) => types.includes('task.started')) })
  await assert.rejects(dying.kickoff({ id: 'r' }), /the process is dead/)
  const file = join(folder, 'r.jsonl')
  const [created] = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, `${created}\n`)
  const [question] = (await crew.resume('r')).questions
  assert.equal(question?.kind, 'call')
  assert.match(question.text, /Entries of the journal of run r are missing \(2\)/)
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

test('a once call whose entries were removed from the middle asks first, in later lives too', async () => {
  await using stage = await openStage()
  const { crew, pay } = stage
  await crew.kickoff({ id: 'r' })
  const [facts, pays] = [await stage.seqOf('task.completed', 'facts#1'), await stage.seqOf('task.completed', 'pay#1')]
  await stage.edit((entry) => entry.seq < facts || entry.seq > pays)
  // the life that records the loss stops before it comes to the call
  assert.equal((await crew.resume('r', { through: 'facts' })).status, 'suspended')
  const result = await crew.resume('r')
  assert.match(result.questions[0]?.text ?? '', new RegExp(`run r are missing \\(${facts} to ${pays}\\)`))
  await crew.run('r').answer(result.questions[0]?.id ?? '', { decision: 'approve' })
  assert.equal((await crew.resume('r')).status, 'completed')
  assert.deepEqual(pay.done, [5, 5])
})

test('the tool itself settles whether a call was made whose entries are gone', async () => {
  for (const happened of [true, false]) {
    const pay = payment({ settle: () => (happened ? { happened, result: { paid: 5 } } : { happened }) })
    await using stage = await openStage({ pay })
    const { crew } = stage
    await crew.kickoff({ id: 'r' })
    const cut = await stage.seqOf('tool.called')
    await stage.edit((entry) => entry.seq < cut)
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, happened ? [5] : [5, 5])
  }
})

test('a tool that needs approval asks although it could settle, and the question names the lost entries', async () => {
  const pay = payment({ approval: true, settle: () => ({ happened: false }) } as never)
  await using stage = await openStage({ pay })
  const { crew } = stage
  await crew.kickoff({ id: 'r' })
  await crew.run('r').answer('q1', { decision: 'approve' })
  await crew.resume('r')
  const cut = await stage.seqOf('question.asked')
  await stage.edit((entry) => entry.seq < cut)
  assert.match((await crew.resume('r')).questions[0]?.text ?? '', /of the journal of run r are missing/)
  assert.deepEqual(pay.done, [5])
})

test('a run made from a run that lost entries asks before a call that those entries may have recorded', async () => {
  await using stage = await openStage()
  const { crew, pay } = stage
  await crew.kickoff({ id: 'r' })
  const cut = await stage.seqOf('tool.called')
  await stage.edit((entry) => entry.seq < cut)
  const [fork] = (await crew.fork({ runId: 'r', id: 'made' })).questions
  assert.match(fork?.text ?? '', new RegExp(`Entries of run r, .* are missing \\(${cut} to`))
  const [replay] = (await crew.replay('pay', { runId: 'made', id: 'again' })).questions
  assert.match(replay?.text ?? '', new RegExp(`Entries of run r, .* are missing \\(${cut} to`))
  assert.deepEqual(pay.done, [5])
  // effects: 'again' asks about no call
  await crew.fork({ runId: 'r', id: 'repeated', effects: 'again' })
  assert.deepEqual(pay.done, [5, 5])
})

test('a completion that is removed as documented, and everything after it, is made again without a question', async () => {
  await using stage = await openStage()
  const { crew, pay } = stage
  await crew.kickoff({ id: 'r', through: 'facts' })
  for (const path of ['facts#1', 'facts#2']) {
    await stage.edit((entry) => !(entry.type === 'task.completed' && entry.path === path))
    assert.equal((await crew.resume('r', { through: 'facts' })).questions.length, 0)
  }
  // this task lost no entries
  assert.equal((await crew.resume('r')).status, 'completed')
  for (const path of ['pay#1', 'pay#2', 'facts#3']) {
    await stage.edit((entry) => !(entry.type === 'task.completed' && entry.path === path))
    assert.equal((await crew.resume('r')).status, 'completed')
  }
  assert.deepEqual(pay.done, [5])
})

test('a changed last line is noticed like any other', async () => {
  await using stage = await openStage()
  const { crew, store } = stage
  await crew.kickoff({ id: 'r', through: 'facts' })
  const last = (await stage.entries()).length
  await writeFile(
    stage.file(),
    (await readFile(stage.file(), 'utf8')).replace(
      '"reason":"through","through":"facts"',
      '"reason":"through","through":"taxes"',
    ),
  )
  assert.deepEqual((await readRun(store, 'r')).state.changed, [last])
  assert.deepEqual((await checkJournal(store, 'r')).changed, [last])
  await crew.resume('r')
  const resumed = (await stage.entries()).find((entry) => entry.type === 'run.resumed')
  assert.deepEqual(resumed?.edited?.changed, [last])
  assert.equal((await checkJournal(store, 'r')).whole, true)
})

test('a run that is cut off is not exported as if it were complete', async () => {
  await using stage = await openStage()
  await stage.crew.kickoff({ id: 'r' })
  const last = (await stage.entries()).length
  await stage.edit((entry) => entry.seq < last)
  await assert.rejects(stage.crew.run('r').export(join(stage.folder, 'out')), {
    code: 'JOURNAL_DAMAGED',
    message: new RegExp(`entry ${last} of run r is missing`),
  })
})

test('a copied journal misses no entries', async () => {
  await using stage = await openStage()
  const { crew, pay } = stage
  await crew.kickoff({ id: 'r' })
  const lines = (await readFile(stage.file(), 'utf8')).split('\n')
  await writeFile(stage.file('copy'), `${lines.slice(0, 3).join('\n')}\n`)
  await cp(join(stage.folder, 'r.blobs'), join(stage.folder, 'copy.blobs'), { recursive: true })
  assert.deepEqual((await readRun(stage.store, 'copy')).state.missing, [])
  assert.equal((await crew.resume('copy')).status, 'completed')
  assert.deepEqual(pay.done, [5, 5])
})

test('a run under the id of a deleted run misses none of its entries', async () => {
  await using stage = await openStage()
  const { crew, store } = stage
  await crew.kickoff({ id: 'r' })
  await crew.run('r').delete()
  await crew.kickoff({ id: 'r', through: 'facts' })
  assert.deepEqual((await readRun(store, 'r')).state.missing, [])
  // its file was removed by hand
  await crew.resume('r')
  await rm(stage.file())
  await crew.kickoff({ id: 'r', through: 'facts' })
  assert.deepEqual((await readRun(store, 'r')).state.missing, [])
})
