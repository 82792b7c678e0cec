// A queued run that workers execute in slices, retry after failures and give up, until a person requeues it. Also runs
// that were cancelled, or moved to another store.
import { Agent, Crew, Task } from 'reprise'
import { copyRun } from '../../../../src/engine/history/copy-run.ts'
import { exportRun } from '../../../../src/engine/history/export-run.ts'
import { importRun } from '../../../../src/engine/history/import-run.ts'
import { openEngine } from '../../../../src/engine/world.ts'
import { memoryStore } from '../../../../src/stores/memory/store.ts'
import type { Store } from '../../../../src/stores/store.ts'
import { finishRun, overloaded, type Life, type Scene } from '../lab.ts'

const via = { dispatcher: 'restate', id: 'inv_7' }

export const queue: Scene = {
  async record({ store, life, save, saveFinished, wait }) {
    const crew = jobs(life())
    crew['~open'].module = { file: 'crews/jobs.ts', export: 'jobs' }
    await crew.enqueue({ id: 'job', priority: 'high', reuse: { maxAgeSeconds: 86_400 }, delay: 3_600 })
    await save('queued', 'job', 'done')
    wait(2)
    await jobs(life()).advance('job', { via, owner: 'worker 7', until: 0 })
    await save('yielded', 'job', 'done')
    await jobs(life()).advance('job')
    await save('retried', 'job', 'done')
    wait(1)
    await jobs(life()).advance('job')
    wait(1)
    await jobs(life()).advance('job')
    await jobs(life()).run('job').requeue({ by: 'Ada' })
    await save('requeued', 'job', 'done')
    await saveFinished('done', 'job')

    await crew.enqueue({ id: 'dropped', priority: 'low' })
    await crew.run('dropped').cancel({ by: 'Ada' })
    await save('cancelled', 'dropped')

    await crew.enqueue({ id: 'moving' })
    const engineOn = (one: Store) => openEngine(one, life().options['~world'])
    await importRun(engineOn(store), exportRun(store, 'moving'), { as: 'imported' })
    await save('imported', 'imported')
    await copyRun({ from: engineOn(store), to: engineOn(memoryStore({ url: 'memory:elsewhere' })) }, 'moving', false)
    await save('moved', 'moving')
  },
  finish,
}

function finish(life: Life, run: string) {
  return finishRun(life, jobs(life), run, () => ({ decision: 'approve' }))
}

function jobs({ did, model, options }: Life) {
  const failing = (task: string, times: number) => ({
    when: `Task: ${task}`,
    reply: () => (did(`try ${task}`) < times ? overloaded() : `${task} is done`),
  })
  const worker = model([failing('Two', 2), failing('Three', 1), { when: 'Task: One', reply: 'One is done' }])
  const agent = new Agent({ role: 'Worker', goal: 'Work', maxRetries: 0, model: worker })
  const load = new Task({ name: 'load', effect: 'read', run: () => `load ${did('load')}` })
  const inner = new Crew({
    ...options,
    name: 'numbers',
    tasks: ['One', 'Two', 'Three'].map((name) => new Task({ name, description: name, agent })),
  })
  return new Crew({
    ...options,
    name: 'jobs',
    version: '3',
    retries: { times: 2, backoff: 60 },
    tasks: [load, new Task({ name: 'numbers', crew: inner })],
  })
}
