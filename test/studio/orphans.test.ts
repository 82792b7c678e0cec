// A run whose crew has no task for recorded work, as the studio's API shows it, plans its resume and takes the
// decision.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { posted, problemOf, served } from './support.ts'

const quiet = { info() {}, warn() {} }

/** Each task waits for a person to accept its output. */
function trips(store: Store, names: readonly string[]): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Book', model: scriptedModel([{ when: /./, reply: 'Done.' }]) })
  const tasks = names.map((name) => new Task({ name, description: `Do ${name}`, agent, humanInput: true }))
  return new Crew({ name: 'trips', tasks, store, logger: quiet })
}

test('a run with an orphaned task shows it before anything resumes the run, and is resumed by a decision alone', async () => {
  const store = memoryStore()
  await trips(store, ['book', 'mail']).kickoff({ id: 'r' })
  await using studio = await served({ crews: [trips(store, ['post', 'mail'])] })
  const { status, orphaned, can } = await studio.get('GET /runs/{run}', '/runs/r')
  assert.deepEqual(
    [status, orphaned],
    ['waiting', [{ task: 'book', holds: ['1 recorded step', '1 open question'], nearest: 'post' }]],
  )
  assert.ok(can.includes('resume'))

  const refused = await studio.send('/runs/r/resume', posted({}))
  assert.deepEqual(await problemOf(refused.clone()), {
    status: 409,
    code: 'TASKS_CHANGED',
    message:
      'run r has recorded work that crew trips has no task for: book (1 recorded step, 1 open question; is it post now?)',
  })
  assert.deepEqual(((await refused.json()) as { next?: unknown }).next, {
    type: 'resume',
    runId: 'r',
    renamed: { book: 'post' },
  })

  const decided = { renamed: { book: 'post' } }
  const plan = await studio.post('POST /runs/{run}/plan', '/runs/r/plan', { of: 'resume', ...decided })
  assert.deepEqual([plan.orphaned, plan.changes], [[], decided])
  await studio.post('POST /runs/{run}/resume', '/runs/r/resume', decided)
  const after = await studio.get('GET /runs/{run}', '/runs/r')
  assert.deepEqual([after.orphaned, after.tasks.map(({ name }) => name)], [[], ['post', 'mail']])
})

test('an ended run shows no orphaned tasks, whatever its crew has become', async () => {
  const store = memoryStore()
  const answer = { onQuestion: () => ({ decision: 'approve' }) as const }
  await trips(store, ['book']).kickoff({ id: 'r', ...answer })
  await using studio = await served({ crews: [trips(store, ['post'])] })
  assert.deepEqual((await studio.get('GET /runs/{run}', '/runs/r')).orphaned, [])
})
