// A studio without code over PostgreSQL, and a worker that executes: what people do on the page is done by the worker.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWorker } from 'reprise/workers'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'
import { claims, eventsOf, served } from './support.ts'

test(
  'over PostgreSQL, a run that a worker executes is seen live, answered, continued, stopped, and continued again',
  { skip: await without('postgres') },
  async () => {
    await using schema = await freshSchema()
    await using crew = claims(schema.url)
    await using studio = await served({ store: schema.url, by: 'Grace' })
    await crew.kickoff({ id: 'stopped', inputs: { notes: 'P-1' }, through: 'facts' })
    await using _ = await startWorker([crew], { name: 'worker-1' })
    await crew.enqueue({ id: 'r', inputs: { notes: 'P-77' } })
    const seen = async (id: string, after = 0): Promise<readonly string[]> => {
      const events = await eventsOf(
        await studio.send(`/runs/${id}/events?after=${after}`),
        ({ type }) => type === 'end',
      )
      return events.filter(({ type }) => type !== 'caught-up').map(({ type }) => type)
    }
    const first = await seen('r')
    assert.deepEqual(first.slice(-3), ['question.asked', 'run.suspended', 'end'])
    const { questions } = await studio.get('GET /questions', '/questions')
    assert.deepEqual(
      questions.map(({ runId, id }) => [runId, id]),
      [['r', 'q1']],
    )
    await studio.post('POST /runs/{run}/questions/{question}', '/runs/r/questions/q1', { decision: 'approve' })
    while ((await studio.get('GET /runs/{run}', '/runs/r')).status !== 'completed') await seen('r', first.length - 1)
    const run = await studio.get('GET /runs/{run}', '/runs/r')
    assert.equal(run.raw, 'Paid for P-77')
    const { lives } = await studio.get('GET /runs/{run}/timeline', '/runs/r/timeline')
    assert.ok(lives.every(({ holder }) => holder?.name === 'worker-1'))
    // a run that only a person continues
    const { can, seq } = await studio.get('GET /runs/{run}', '/runs/stopped')
    assert.deepEqual(can, ['requeue', 'cancel'])
    await studio.post('POST /runs/{run}/resume', '/runs/stopped/resume', {})
    const rest = await seen('stopped', seq)
    assert.deepEqual(rest.slice(-2), ['run.suspended', 'end'])
    assert.ok(rest.includes('run.requeued'))
    assert.equal((await studio.get('GET /runs/{run}', '/runs/stopped')).status, 'waiting')
    const shown = await studio.get('GET /studio', '/studio')
    assert.ok(!/:[^/]*@/.test(shown.store.url), shown.store.url)
  },
)
