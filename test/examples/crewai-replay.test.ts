// CrewAI's page on Crew.replay, sentence by sentence. Requests are counted in the model server's own journal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { linesOf, openModel, runBundled, runsIn, type Ended, type Model } from './support.ts'

const example = 'examples/crewai-replay.ts'
const fixtures = 'fixtures/crewai-replay.json'
const variant = 'test/examples/topic-crew.ts'
const research = 'Task: Conduct thorough research about AI.'
const writing = 'Task: Write a comprehensive article about AI.'
const article = 'Why your agent should keep a journal: nothing that is done is ever lost.'

test('kickoff stores outputs automatically, and a replay in another process executes only from the writing task on', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const first = await runBundled(example, [], folder.path, model.environment)
  assert.equal(first.code, 0, first.stderr)
  assert.deepEqual(model.asked(), [research, writing, writing])

  const second = await runBundled(example, ['replay', idOf(first, 'Write')], folder.path, model.environment)
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(model.asked().slice(3), [writing])
  assert.match(
    second.stdout,
    /inherited: Conduct thorough research about AI\.\nexecuted: Write a comprehensive article about AI\./,
  )
})

test('the replayed task receives the stored output of the previous one', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  await runBundled(example, [], folder.path, model.environment)
  assert.match(model.messages()[2] ?? '', /Agents now keep journals\./)
})

test('a replay from the first task executes both', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const first = await runBundled(example, [], folder.path, model.environment)
  await runBundled(example, ['replay', idOf(first, 'Conduct')], folder.path, model.environment)
  assert.deepEqual(model.asked().slice(3), [research, writing])
})

test('printing the result prints its text', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const { stdout } = await runBundled(example, [], folder.path, model.environment)
  assert.equal(stdout.split('\n')[0], article)
})

test('an unknown id is refused with the list of tasks, without a model call', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const first = await runBundled(example, [], folder.path, model.environment)
  const { code, stderr } = await runBundled(example, ['replay', 'abc-123'], folder.path, model.environment)
  assert.notEqual(code, 0)
  assert.match(stderr, /TASK_NOT_FOUND/)
  assert.match(stderr, /has no task "abc-123"/)
  assert.ok(stderr.includes(idOf(first, 'Conduct')) && stderr.includes(idOf(first, 'Write')), stderr)
  assert.equal(model.asked().length, 3)
})

test('a replay before any kickoff says to kick off first', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const { code, stderr } = await runBundled(example, ['replay'], folder.path, model.environment)
  assert.notEqual(code, 0)
  assert.match(stderr, /RUN_NOT_FOUND/)
  assert.match(stderr, /start one with crew\.kickoff\(\)/)
})

test('an id works in every process, any number of times, and the first run stays the same byte for byte', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const first = await runBundled(example, [], folder.path, model.environment)
  const store = `sqlite:${folder.path}/.reprise/runs.db`
  const [runId = ''] = await runsIn(store)
  const before = await linesOf(store, runId)
  assert.ok(before.length > 5)
  for (let time = 0; time < 3; time++) {
    const { code, stdout } = await runBundled(example, ['replay', idOf(first, 'Write')], folder.path, model.environment)
    assert.equal(code, 0)
    assert.ok(stdout.startsWith(article))
  }
  assert.deepEqual(model.asked().slice(3), [writing, writing, writing])
  assert.equal((await runsIn(store)).length, 5)
  assert.deepEqual(await linesOf(store, runId), before)
})

test('earlier outputs come back with their structure, transforms included', async () => {
  await using folder = await temporaryFolder()
  await using model = await openTopicModel()
  const first = report(await runBundled(variant, ['kickoff'], folder.path, model.environment))
  const second = report(await runBundled(variant, ['replay', first.ids[1]], folder.path, model.environment))
  for (const { year, isDate } of [first, second]) assert.deepEqual({ year, isDate }, { year: 2030, isDate: true })
  assert.deepEqual(second.status, ['inherited', 'executed'])
  assert.equal(model.asked().length, 3)
})

test('new inputs reach the templates, and stale outputs are kept and reported', async () => {
  await using folder = await temporaryFolder()
  await using model = await openTopicModel()
  const first = report(await runBundled(variant, ['kickoff'], folder.path, model.environment))
  const again = await runBundled(
    variant,
    ['replay', first.ids[1], '{"topic":"robots"}'],
    folder.path,
    model.environment,
  )
  assert.deepEqual(model.asked().slice(2), ['Task: Write a comprehensive article about robots.'])
  assert.deepEqual(
    report(again).stale.map(({ reasons }) => reasons),
    [['input topic changed']],
  )
})

test('without new inputs a replay uses those of the run', async () => {
  await using folder = await temporaryFolder()
  await using model = await openTopicModel()
  const first = report(await runBundled(variant, ['kickoff'], folder.path, model.environment))
  await runBundled(variant, ['replay', first.ids[1]], folder.path, model.environment)
  assert.deepEqual(model.asked().slice(2), ['Task: Write a comprehensive article about AI.'])
})

test('ids are on the task objects and in the verbose log, before anything is executed', async () => {
  await using folder = await temporaryFolder()
  await using model = await openTopicModel()
  const { stdout, stderr } = await runBundled(variant, ['kickoff'], folder.path, model.environment)
  const { ids, runId } = JSON.parse(stdout) as Report
  const [line = ''] = stderr.split('\n')
  assert.ok(line.includes(runId), line)
  for (const id of ids) assert.ok(line.includes(id), line)
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})

interface Report {
  readonly text: string
  readonly runId: string
  readonly ids: readonly [string, string]
  readonly status: readonly string[]
  readonly year: number
  readonly isDate: boolean
  readonly stale: readonly { readonly task: string; readonly reasons: readonly string[] }[]
}

function report({ stdout, stderr, code }: Ended): Report {
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as Report
}

/** The id that the example printed for the task whose description starts so. */
function idOf({ stdout }: Ended, description: string): string {
  return new RegExp(`^Task: ${description}.*, ID: (.*)$`, 'm').exec(stdout)?.[1] ?? 'not printed'
}

function openTopicModel(): Promise<Model> {
  return openModel([
    { match: { userMessage: 'Task: Conduct' }, response: { content: { title: 'Journals', published: '2030-01-02' } } },
    { match: { userMessage: 'Task: Write' }, response: { content: 'An article.' } },
  ])
}
