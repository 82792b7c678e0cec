// Verbs that can be followed, and the handle of a run: the same in the process that executes it and in any other.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Run, type Crew, type RunSummary } from 'reprise'
import { dyingStore, newStore, orDeath } from '../../engine/support.ts'
import { diamond, diamondInputs as inputs } from '../verbs/diamond.ts'
import { gate, speakingCrew, speakingModel } from './speaking-model.ts'

describe('the return value of a verb', () => {
  test('is the result, and the run as soon as it is on disk', async () => {
    const go = gate()
    const crew = speakingCrew(speakingModel(() => ['Done', go.wait]))
    const call = crew.kickoff({ id: 'r' })
    const run = await call.started
    assert.ok(run instanceof Run)
    assert.equal((await run.view()).status, 'running')
    go.open()
    assert.equal(await run.result(), await call)
  })

  test('can be followed for a resume, a replay, a fork and a refresh alike, on the crew and on a run', async () => {
    const { crew } = diamond()
    await crew.kickoff({ id: 'r', inputs, through: 'left' })
    const run = crew.run('r')
    const given = { runId: 'r', inputs: { topic: 'fire' } }
    for (const begin of [
      () => crew.resume('r'),
      () => crew.replay('end', given),
      () => crew.fork(given),
      () => crew.refresh(given),
      () => run.resume(),
      () => run.replay('end'),
      () => run.fork({ outputs: { left: 'mine' } }),
      () => run.refresh({ inputs: { topic: 'ice' } }),
    ]) {
      const made = await begin().started
      let last = ''
      for await (const { type } of made.events()) last = type
      assert.equal(last, 'run.completed')
      assert.equal((await made.result()).runId, made.id)
    }
  })

  test('leaves its other promise handled for a caller of only one', async () => {
    const unhandled: unknown[] = []
    const hear = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', hear)
    try {
      const { crew } = diamond({ script: [{ when: 'Task: Join', error: 'down' }] })
      const run = await crew.kickoff({ inputs }).started
      for await (const _ of run.events());
      await assert.rejects(crew.resume('none').started, { code: 'RUN_NOT_FOUND' })
      await assert.rejects(crew.resume('none'), { code: 'RUN_NOT_FOUND' })
      await new Promise(setImmediate)
      assert.deepEqual(unhandled, [])
    } finally {
      process.off('unhandledRejection', hear)
    }
  })
})

describe('the result of a run that others execute', () => {
  test('comes from the journal if the run is completed or suspended', async () => {
    const { crew, store } = diamond()
    const done = await crew.kickoff({ id: 'done', inputs })
    const half = await crew.kickoff({ id: 'half', inputs, through: 'left' })
    const later = diamond({ store }).crew
    for (const before of [done, half]) {
      const result = await later.run(before.runId).result()
      assert.deepEqual([result.status, result.tasks], [before.status, before.tasks])
    }
  })

  test('is awaited while another process executes the run', async () => {
    const store = newStore()
    const go = gate()
    const here = speakingCrew(
      speakingModel(() => ['Done', go.wait]),
      { store },
    )
    const call = here.kickoff({ id: 'r' })
    await call.started
    const there = here.with({ store }).run('r').result()
    assert.equal(await Promise.race([there, new Promise((resolve) => setImmediate(resolve, 'waits'))]), 'waits')
    go.open()
    assert.equal(String(await there), String(await call))
  })

  test('rejects as the run did, and as abandoned if no process executes it', async () => {
    const { crew, store } = diamond({ script: [{ when: 'Task: Join', error: 'down' }] })
    await assert.rejects(crew.kickoff({ id: 'failed', inputs }))
    await crew.kickoff({ id: 'cancelled', inputs, through: 'left' })
    await crew.run('cancelled').cancel({ by: 'ada' })
    const dying = dyingStore(store, (types) => types.includes('task.completed'))
    await orDeath(diamond({ store: dying }).crew.kickoff({ id: 'killed', inputs }))
    const later = diamond({ store }).crew
    const failure = { code: 'MODEL_FAILED', runId: 'failed', task: 'join', message: /down/ }
    await assert.rejects(later.run('failed').result(), failure)
    await assert.rejects(later.run('cancelled').result(), { code: 'RUN_CANCELLED' })
    await assert.rejects(later.run('killed').result(), {
      code: 'RUN_ABANDONED',
      message: /continue with crew\.run\('killed'\)\.resume\(\)/,
    })
    await assert.rejects(later.run('none').result(), { code: 'RUN_NOT_FOUND' })
  })
})

describe('a handle', () => {
  test('is made without a read of the store, and an invalid id is refused at once', () => {
    const { crew } = diamond({ more: { store: 'sqlite:/nowhere/at/all/runs.db' } })
    assert.equal(crew.run('r').id, 'r')
    assert.throws(() => crew.run(''), { code: 'OPTION_INVALID' })
  })

  test('names the run for its verbs, which accept no other', async () => {
    const { crew } = diamond()
    await crew.kickoff({ id: 'r', inputs })
    const other = { runId: 'x' } as object
    await assert.rejects(crew.run('r').fork(other), { code: 'OPTION_UNKNOWN', message: /fork has no option "runId"/ })
    await assert.rejects(crew.run('r').plan(other), { code: 'OPTION_UNKNOWN', message: /plan has no option "runId"/ })
    await assert.rejects(crew.run('r').plan({ of: 'kickoff' } as object), { code: 'OPTION_INVALID' })
    assert.deepEqual((await crew.run('r').plan({ from: 'end' })).execute, ['end'])
  })

  test('records who did something, from the last argument', async () => {
    const { crew } = diamond()
    await crew.kickoff({ id: 'r', inputs, through: 'left' })
    const run = crew.run('r')
    await run.edit('left', 'mine', { by: 'ada' })
    await run.invalidate('start', { by: 'bob' })
    await run.cancel({ by: 'eve' })
    const signed: unknown[] = []
    for await (const entry of run.events()) if ('by' in entry) signed.push([entry.type, entry.by])
    assert.deepEqual(signed, [
      ['task.edited', 'ada'],
      ['task.invalidated', 'bob'],
      ['run.cancelled', 'eve'],
    ])
  })

  test('of another run is compared by handle or by id', async () => {
    const { crew } = diamond()
    await crew.kickoff({ id: 'a', inputs })
    await crew.kickoff({ id: 'b', inputs: { ...inputs, reader: 'Bob' } })
    const [byId, byHandle] = [await crew.run('a').diff('b'), await crew.run('a').diff(crew.run('b'))]
    assert.deepEqual(byHandle, byId)
    assert.equal(byId.first, 'end')
    await assert.rejects(crew.run('a').diff(3 as never), { code: 'OPTION_INVALID' })
  })

  test('follows no missing run', async () => {
    const { crew } = diamond()
    const follow = async (): Promise<void> => {
      for await (const _ of crew.run('none').events());
    }
    await assert.rejects(follow(), { code: 'RUN_NOT_FOUND' })
    await assert.rejects(crew.run('none').toResponse(), { code: 'RUN_NOT_FOUND' })
  })
})

describe('the list of runs of a crew', () => {
  test('has the newest first, and reads page after page on demand', async () => {
    const store = newStore()
    let lists = 0
    const counting = new Proxy(store, {
      get(target, key) {
        if (key === 'list') lists++
        const member: unknown = Reflect.get(target, key, target)
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      },
    })
    const crew: Crew = diamond({ store: counting, more: { process: 'parallel' } }).crew
    for (let number = 0; number < 120; number++) await crew.kickoff({ id: `r${number}`, inputs, through: 'start' })
    lists = 0
    const all: string[] = []
    for await (const { runId } of crew.runs()) all.push(runId)
    assert.deepEqual([all.length, all[0], all.at(-1), lists], [120, 'r119', 'r0', 2])
    for await (const { runId } of crew.runs({ status: 'stopped' })) {
      assert.equal(runId, 'r119')
      break
    }
    assert.equal(lists, 3)
    const first: RunSummary[] = await crew.runs().page(2)
    const next = await crew.runs({ before: first[1]! }).page(2)
    assert.deepEqual(
      [...first, ...next].map(({ runId }) => runId),
      ['r119', 'r118', 'r117', 'r116'],
    )
  })
})
