import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { memoryStore } from 'reprise/stores'

const model = scriptedModel([{ when: 'Triage', reply: 'Urgent' }])

function claims(options: object = {}) {
  const agent = new Agent({ role: 'Analyst', goal: 'Help', model })
  const note = new Task({ name: 'note', description: 'Triage {notes}' })
  return new Crew({ name: 'claims', agents: [agent], tasks: [note], store: memoryStore(), ...options })
}

test('enqueue records a run that waits for a worker, and executes nothing', async () => {
  await using crew = claims()
  const asked = model.calls.length
  const run = await crew.enqueue({ inputs: { notes: 'Water' }, id: 'claim-1', priority: 'high' })
  const { status, tasks, inputs } = await run.view()
  assert.deepEqual([run.id, status, inputs, tasks[0]?.status], ['claim-1', 'queued', { notes: 'Water' }, 'pending'])
  assert.equal(model.calls.length, asked)
  const queued = await Array.fromAsync(crew.runs({ status: ['queued'] }))
  assert.deepEqual(
    queued.map(({ runId }) => runId),
    ['claim-1'],
  )
  const row = await (crew.store as ReturnType<typeof memoryStore>).row('claim-1')
  assert.equal(row?.priority, 1)
})

test('the same id with the same inputs is the same run, for many calls at once too', async () => {
  await using crew = claims()
  const inputs = { notes: 'Water' }
  const runs = await Promise.all(Array.from({ length: 5 }, () => crew.enqueue({ inputs, id: 'claim-1' })))
  assert.deepEqual(new Set(runs.map(({ id }) => id)), new Set(['claim-1']))
  assert.equal((await Array.fromAsync(crew.runs())).length, 1)
})

test('the same id with other inputs is refused, and without inputs it is the existing run', async () => {
  await using crew = claims()
  await crew.enqueue({ inputs: { notes: 'Water' }, id: 'claim-1' })
  await assert.rejects(crew.enqueue({ inputs: { notes: 'Fire' }, id: 'claim-1' }), { code: 'INPUTS_DIFFER' })
  assert.equal((await crew.enqueue({ id: 'claim-1' } as never)).id, 'claim-1')
})

test('a queued run is executed by a resume as by a worker', async () => {
  await using crew = claims()
  const { id } = await crew.enqueue({ inputs: { notes: 'Water' } })
  const result = await crew.resume(id)
  assert.deepEqual([result.status, result.status === 'completed' && result.raw], ['completed', 'Urgent'])
})

test('enqueue refuses the inputs that a kickoff refuses, before anything is recorded', async () => {
  await using crew = claims()
  await assert.rejects(crew.enqueue({} as never), { code: 'INPUT_MISSING' })
  await assert.rejects(crew.enqueue({ inputs: { notes: 1n } } as never), { code: 'INPUT_INVALID' })
  await assert.rejects(crew.enqueue({ inputs: { notes: 'x' }, id: 'latest' }), { code: 'OPTION_INVALID' })
  await assert.rejects(crew.enqueue({ inputs: { notes: 'x' }, priority: 2 } as never), /priority is 2; give 'low'/)
  await assert.rejects(crew.enqueue({ inputs: { notes: 'x' }, delay: -1 }), /delay in seconds is -1; give a number/)
  await assert.rejects(crew.enqueue({ notes: 'x' } as never), { code: 'OPTION_UNKNOWN' })
  for (const timing of [{ schedule: { cron: '@daily' } }, { cron: '@daily' }]) {
    const [name] = Object.keys(timing)
    const instead = 'a schedule queues a run .* call crew\\.schedule\\('
    await assert.rejects(crew.enqueue({ inputs: { notes: 'x' }, ...timing } as never), {
      code: 'OPTION_UNKNOWN',
      message: new RegExp(`^enqueue has no option "${name}": ${instead}`),
    })
  }
  assert.deepEqual(await Array.fromAsync(crew.runs()), [])
})

test('a model key is needed where the run is executed, not where it is queued', async () => {
  await using crew = claims({ agents: [new Agent({ role: 'Analyst', goal: 'Help', model: 'groq/some-model' })] })
  await assert.rejects(crew.kickoff({ inputs: { notes: 'x' } }), { code: 'MODEL_KEY_MISSING' })
  assert.ok(await crew.enqueue({ inputs: { notes: 'x' } }))
  await using misspelt = claims({ agents: [new Agent({ role: 'Analyst', goal: 'Help', model: 'nobody/some-model' })] })
  await assert.rejects(misspelt.enqueue({ inputs: { notes: 'x' } }), { code: 'MODEL_INVALID' })
})

test('beforeKickoff makes the inputs of a queued run when it is queued, and the same call is still the same run', async () => {
  await using crew = claims({ beforeKickoff: () => ({ notes: 'made' }) })
  const run = await crew.enqueue({ inputs: { notes: 'given' }, id: 'claim-1' })
  assert.deepEqual((await run.view()).inputs, { notes: 'made' })
  assert.equal((await crew.enqueue({ inputs: { notes: 'given' }, id: 'claim-1' })).id, 'claim-1')
})
