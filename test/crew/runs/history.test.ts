// A crew's history of runs: lists, lineage, diff, retention, export and import.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RunsOptions } from 'reprise'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { asked, diamond, diamondInputs as inputs } from '../verbs/diamond.ts'

describe('a list of runs', () => {
  test('is filtered by status, time and parent, and paged', async () => {
    const { crew } = diamond()
    for (const id of ['a', 'b', 'c']) await crew.kickoff({ id, inputs })
    await crew.kickoff({ id: 'half', inputs, through: 'left' })
    await crew.replay('end', { id: 'child', runId: 'a' })
    const ids = async (filter: RunsOptions, limit?: number) =>
      (await crew.runs(filter).page(limit)).map(({ runId }) => runId)
    assert.deepEqual(await ids({ status: 'stopped' }), ['half'])
    assert.deepEqual(await ids({ parent: 'a' }), ['child'])
    assert.deepEqual(await ids({}, 2), ['child', 'half'])
    assert.deepEqual(await ids({ before: 'half' }, 2), ['c', 'b'])
    const { createdAt } = await crew.run('c').view()
    assert.ok((await ids({ since: createdAt })).includes('c'))
    assert.ok(!(await ids({ until: createdAt })).includes('c'))
    assert.deepEqual(await ids({ until: new Date('2020-01-01') }), [])
    assert.throws(() => crew.runs({ since: 'May' }), {
      code: 'OPTION_INVALID',
      message: /since is "May"/,
    })
  })

  test('has backtests only on request', async () => {
    const { crew } = diamond()
    await crew.kickoff({ id: 'a', inputs })
    const { cases } = await crew.backtest('left')
    assert.deepEqual(
      (await crew.runs().page()).map(({ runId }) => runId),
      ['a'],
    )
    assert.deepEqual(
      (await crew.runs({ backtests: true }).page()).map(({ runId }) => runId),
      [cases[0]?.trial],
    )
  })
})

test('lineage names ancestors and derived runs, of a deleted run too', async () => {
  const { crew } = diamond()
  await crew.kickoff({ id: 'a', inputs })
  await crew.replay('end', { id: 'b', runId: 'a' })
  await crew.replay('end', { id: 'c', runId: 'b' })
  await crew.run('a').delete()
  const { ancestors, run } = await crew.run('b').lineage()
  assert.deepEqual(ancestors, [{ runId: 'a', deleted: true }])
  assert.deepEqual(
    run.children.map(({ runId }) => runId),
    ['c'],
  )
  // nothing is missing in what was made from it
  assert.equal((await crew.run('c').view()).task('start').raw, 'start')
})

test('diff lists the differences between two runs, and where they begin', async () => {
  const first = diamond()
  await first.crew.kickoff({ id: 'a', inputs })
  const { crew } = diamond({ store: first.store, answers: { left: 'other' } })
  await crew.kickoff({ id: 'b', inputs: { ...inputs, topic: 'fire' } })
  const diff = await crew.run('a').diff('b')
  assert.equal(diff.same, false)
  assert.equal(diff.first, 'start')
  assert.deepEqual(
    diff.inputs.map(({ path }) => path),
    ['inputs.topic'],
  )
  assert.match(String(diff), /- left\n.*\+ other/s)
  assert.equal((await crew.run('a').diff('a')).same, true)
  await assert.rejects(crew.run('a').diff('gone'), { code: 'RUN_NOT_FOUND' })
})

describe('retention', () => {
  test('prunes the crew’s old runs and backtests, and lists them beforehand', async () => {
    const { crew, store } = diamond()
    for (const id of ['a', 'b', 'c']) await crew.kickoff({ id, inputs })
    await crew.backtest('left', { id: 'test' })
    const other = diamond({ store, more: { name: 'another' } })
    await other.crew.kickoff({ id: 'theirs', inputs })
    const dry = await crew.prune({ keep: 1, dryRun: true })
    const gone = dry.runs.map(({ runId }) => runId)
    assert.deepEqual(
      gone.filter((id) => !id.startsWith('test:')),
      ['b', 'a'],
    )
    assert.equal(gone.length, 4)
    assert.equal((await crew.runs().page()).length, 3)
    await crew.prune({ keep: 1 })
    assert.deepEqual(
      (await crew.runs().page()).map(({ runId }) => runId),
      ['c'],
    )
    assert.equal((await other.crew.runs().page()).length, 1)
    await assert.rejects(crew.prune({}), { code: 'OPTION_INVALID' })
    await assert.rejects(crew.run('theirs').delete(), { code: 'RUN_NOT_FOUND', message: /belongs to crew another/ })
  })
})

test('an exported run is imported elsewhere and replayed there', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'a.run')
  const here = diamond()
  await here.crew.kickoff({ id: 'a', inputs })
  await here.crew.run('a').export(file)
  const there = diamond()
  assert.deepEqual(await there.crew.import(file), {
    runId: 'a',
    crew: 'diamond',
    status: 'completed',
    next: [],
    runs: 1,
    entries: 20,
    existed: false,
  })
  await there.crew.replay('join')
  assert.deepEqual(asked(there.model), ['join', 'end'])
  assert.equal((await there.crew.import(file, { as: 'copy' })).runId, 'copy')
  await assert.rejects(here.crew.run('gone').export(file), { code: 'RUN_NOT_FOUND' })
})
