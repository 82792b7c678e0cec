// The tutorial "persisting agent state", a test for each of its steps. Requests are counted in the model server's own
// journal. Every start of the script is a process of its own.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Crew, type Logger } from 'reprise'
import type { Store } from 'reprise/stores'
import { analyzeTask, draftTask, id, inputs } from '../../examples/persisting-state.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { environmentOf } from '../models/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { openModel, runBundled, start } from './support.ts'

const script = 'examples/persisting-state.ts'
const fixtures = 'fixtures/persisting-state.json'
const analyze =
  'Task: Review the case notes and extract key facts: policy number, loss date, and issue summary. The notes: Policy P-77, water in the cellar on 3 May.'
const draft = 'Task: Turn the extracted facts into an internal triage note for the claims team.'
const silent: Logger = { info() {}, warn() {} }

/** The script's crew as another program would have it, on the same state. */
function crewOn(store: string | Store, logger: Logger = silent) {
  return new Crew({ name: 'claims-notes', tasks: [analyzeTask, draftTask], process: 'sequential', store, logger })
}

function stateIn(folder: string): string {
  return `file:${folder}/.reprise/crew-state`
}

function stateFile(folder: string): string {
  return join(folder, '.reprise/crew-state/case-1.jsonl')
}

test('the output of a step is on disk before the next one begins, and the completion of its task a moment later', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const held = model.hold(draft)
  const { child, ended } = start(script, [], folder.path, model.environment)
  await held.arrived
  let types = await typesIn(stateFile(folder.path))
  assert.ok(types.includes('model.replied analyze_task#1/1'))
  while (types.at(-1) !== 'task.started draft_task#1') types = await typesIn(stateFile(folder.path))
  assert.ok(types.includes('task.completed analyze_task#1'))
  await using crew = crewOn(stateIn(folder.path))
  const state = await crew.run(id).view()
  assert.equal(state.status, 'running')
  assert.deepEqual(
    state.tasks.map((task) => task.status),
    ['executed', 'running'],
  )
  assert.match(state.task(analyzeTask).raw, /P-77/)
  child.kill('SIGKILL')
  await ended
  held.release()
})

test('a second start of the same script skips finished tasks', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const first = await runBundled(script, [], folder.path, model.environment)
  assert.equal(first.code, 0, first.stderr)
  const before = await readFile(stateFile(folder.path), 'utf8')
  const second = await runBundled(script, [], folder.path, model.environment)
  assert.equal(second.stdout, first.stdout)
  assert.deepEqual(model.asked(), [analyze, draft])
  assert.equal(await readFile(stateFile(folder.path), 'utf8'), before)
})

test('tasks can be run one at a time, each start continuing after the last', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  using _ = environmentOf(model.environment)
  await using crew = crewOn(stateIn(folder.path))
  const one = await crew.kickoff({ id, inputs, through: analyzeTask })
  assert.equal(one.status, 'suspended')
  assert.match(String(one), /stopped after task analyze_task/)
  assert.deepEqual(model.asked(), [analyze])
  const same = await crew.kickoff({ id, inputs, through: 'analyze_task' })
  assert.equal(same.status, 'suspended')
  assert.deepEqual(model.asked(), [analyze])
  const two = await crew.kickoff({ id, inputs })
  assert.equal(two.status, 'completed')
  assert.deepEqual(model.asked(), [analyze, draft])
})

test('a killed script continues after a restart, and repeats only the paid call in flight', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const held = model.hold(draft)
  const { child, ended } = start(script, [], folder.path, model.environment)
  await held.arrived
  child.kill('SIGKILL')
  assert.equal((await ended).signal, 'SIGKILL')
  held.release()

  const second = await runBundled(script, [], folder.path, model.environment)
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /Next: send an assessor\./)
  assert.deepEqual(model.asked(), [analyze, draft, draft])
})

test('a script whose second task failed continues with that task', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  using _ = environmentOf(model.environment)
  await using crew = crewOn(stateIn(folder.path))
  await crew.kickoff({ id, inputs, through: analyzeTask })
  model.fail(401, 'this key was revoked')

  const failed = await runBundled(script, [], folder.path, model.environment)
  assert.notEqual(failed.code, 0)
  assert.match(failed.stderr, /continue with crew\.run\('case-1'\)\.resume\(\)/)
  const state = await crew.run(id).view()
  assert.equal(state.status, 'failed')
  assert.match(state.error?.message ?? '', /401|revoked|key/)
  assert.equal(state.task(analyzeTask).status, 'executed')

  const second = await runBundled(script, [], folder.path, model.environment)
  assert.equal(second.code, 0, second.stderr)
  assert.equal((await crew.run(id).view()).status, 'completed')
  assert.equal(model.asked().filter((text) => text === analyze).length, 1)
})

test('an outage that outlasts the retries fails the run, and the next start continues', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  for (let tries = 0; tries < 3; tries++) model.fail(500, 'down')
  const failed = await runBundled(script, [], folder.path, model.environment)
  assert.notEqual(failed.code, 0)
  const second = await runBundled(script, [], folder.path, model.environment)
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(model.asked().slice(-2), [analyze, draft])
})

test('a manual edit is recorded with its author, and the next start continues from it', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  using _ = environmentOf(model.environment)
  await using crew = crewOn(stateIn(folder.path))
  await crew.kickoff({ id, inputs, through: analyzeTask })
  await crew.run(id).edit(analyzeTask, '- policy number: P-78, as the caller corrected', { by: 'ada' })

  const second = await runBundled(script, [], folder.path, model.environment)
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(model.asked(), [analyze, draft])
  assert.match(model.messages().at(-1) ?? '', /P-78, as the caller corrected/)
  assert.equal((await crew.run(id).view()).task(analyzeTask).status, 'edited')
  assert.match(await readFile(stateFile(folder.path), 'utf8'), /"type":"task\.edited".*"by":"ada"/)
})

test('a run has status, timestamps, ids and its number of lives', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  await runBundled(script, [], folder.path, model.environment)
  await using crew = crewOn(stateIn(folder.path))
  const { status, lives, createdAt, updatedAt, done, total, tasks, ...state } = await crew.run(id).view()
  assert.deepEqual(
    { status, lives, done, total, id: state.runId, inputs: state.inputs },
    { status: 'completed', lives: 2, done: 2, total: 2, id, inputs },
  )
  const times = [createdAt, ...tasks.flatMap((task) => [task.startedAt ?? '', task.completedAt ?? '']), updatedAt]
  for (const time of times) assert.equal(new Date(time).toISOString(), time)
  assert.deepEqual(times.toSorted(), times)
  assert.deepEqual(
    tasks.map((task) => task.id),
    [analyzeTask.id, draftTask.id],
  )
  assert.deepEqual(
    (await crew.runs().page()).map((summary) => [summary.runId, summary.status, summary.lives]),
    [[id, 'completed', 2]],
  )
})

test('a state file without its last completion executes only that task again', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  await runBundled(script, [], folder.path, model.environment)
  await removeCompletion(stateFile(folder.path), 'draft_task')
  const second = await runBundled(script, [], folder.path, model.environment)
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(model.asked(), [analyze, draft, draft])
  assert.match(second.stdout, /Next: send an assessor\./)
})

test('a state file without an earlier completion executes only that task again, and reports later ones as stale', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  const first = await runBundled(script, [], folder.path, model.environment)
  await removeCompletion(stateFile(folder.path), 'analyze_task')
  model.answer({ match: { userMessage: analyze }, response: { content: '- policy number: P-78' } })

  using _ = environmentOf(model.environment)
  await using crew = crewOn(stateIn(folder.path))
  assert.equal((await crew.run(id).view()).status, 'stopped')
  const result = await crew.kickoff({ id, inputs })
  assert.deepEqual(model.asked(), [analyze, draft, analyze])
  assert.equal(result.task(analyzeTask).raw, '- policy number: P-78')
  assert.ok(first.stdout.includes(result.task(draftTask).raw))
  assert.deepEqual(result.stale, [
    { task: 'draft_task', reasons: ['context analyze_task changed'], fields: ['context:analyze_task'] },
  ])
})

test('the run id and the names of the tasks are logged before anything is saved', async () => {
  await using model = await openModel(fixtures)
  using _ = environmentOf(model.environment)
  const happened: string[] = []
  const store = memoryStore()
  const watched: Store = {
    ...store,
    create(...args) {
      happened.push('create')
      return store.create(...args)
    },
  }
  await using crew = crewOn(watched, { info: (message) => void happened.push(message), warn() {} })
  await crew.kickoff({ id, inputs, through: analyzeTask })
  const [message = '', second] = happened
  for (const word of [id, 'analyze_task', analyzeTask.id, 'draft_task', draftTask.id])
    assert.ok(message.includes(word), message)
  assert.equal(second, 'create')
})

test('other inputs under the same id are refused before anything is spent', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel(fixtures)
  using _ = environmentOf(model.environment)
  await using crew = crewOn(stateIn(folder.path))
  await crew.kickoff({ id, inputs })
  await assert.rejects(crew.kickoff({ id, inputs: { notes: 'another case' } }), { code: 'INPUTS_DIFFER' })
  assert.equal(model.asked().length, 2)
})

async function typesIn(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  return lines.map((line) => {
    const { type, path = '' } = JSON.parse(line) as { type: string; path?: string }
    return `${type} ${path}`.trim()
  })
}

async function removeCompletion(file: string, task: string): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  const left = lines.filter(
    (line) => !(line.includes('"type":"task.completed"') && line.includes(`"path":"${task}#1"`)),
  )
  assert.equal(left.length, lines.length - 1)
  await writeFile(file, left.join('\n'))
}
