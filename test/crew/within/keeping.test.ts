// Runs that a function task kicked off follow their parent.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openStore } from 'reprise/stores'
import { parentRunId, childAddress, rootRunId, isInTreeOf } from '../../../src/journal/paths.ts'
import { readTimeline } from '../../../src/studio/routes/runs.ts'
import { newStore, refusal, stateOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { kindsHere, storePlace } from '../../support/store-place.ts'
import { copyAll } from '../copy/copy-support.ts'
import { book } from './book.ts'

const approve = { decision: 'approve' } as const

describe('the name of a run that a function kicked off', () => {
  test('contains the parent run and its key there', () => {
    const run = 'b/chapters#1/1.0/one#2'
    assert.equal(parentRunId(run), 'b')
    assert.equal(parentRunId(`${run}/sub#1`), run)
    assert.equal(parentRunId('a/b#1/1.0/c#1/d#2/1.0/e#1'), 'a/b#1/1.0/c#1')
    assert.equal(rootRunId('a/b#1/1.0/c#1/d#2/1.0/e#1'), 'a')
    assert.ok(isInTreeOf(run, 'b'))
    assert.ok(!isInTreeOf(run, 'b/chapters#1'))
    assert.equal(childAddress('chapters', 'chapters#1/1.0/one#2'), 'chapters/one')
  })

  test('cannot be given to a run, nor can an id whose children would have such names', async () => {
    const { crew } = book()
    for (const id of ['b/chapters#1/1.0/one#1', 'b/chapters#1/1.0'])
      assert.equal((await refusal(() => crew.kickoff({ id }))).code, 'OPTION_INVALID')
  })

  test('is made from any id, without special characters of paths and not too long', async () => {
    const { crew, store } = book({
      run: async ({ chapter, context }) => {
        await chapter.kickoff({ id: `${context.runId}: a/b#1 100%`, inputs: { chapter: 'one' } })
        await chapter.kickoff({ id: `long ${'x'.repeat(180)}`, inputs: { chapter: 'two' } })
        await chapter.kickoff({ id: context.runId, inputs: { chapter: 'three' } })
        return 'done'
      },
    })
    await crew.kickoff({ id: 'b' })
    assert.equal((await stateOf(store, 'b/chapters#1/1.0/a%2Fb%231 100%25#1')).status, 'completed')
    assert.equal((await stateOf(store, 'b/chapters#1/1.0/chapter#1')).status, 'completed')
    const long = (await store.list({ root: 'b' }, { limit: 9 })).rows.find(({ run }) => run.includes('/long '))
    assert.match(long?.run ?? '', /^b\/chapters#1\/1\.0\/long x{55}~[\w-]{12}#1$/)
  })
})

describe('a run that a function kicked off', () => {
  test('is exported and imported with its parent, which continues with it', async () => {
    await using folder = await temporaryFolder()
    const { crew, asked } = book({ humanInput: true, chapters: ['one', 'two'] })
    await crew.kickoff({ id: 'b' })
    await crew.run('b').answer('chapters/one/q1', approve)
    await crew.resume('b')
    const file = join(folder.path, 'b.jsonl')
    await crew.run('b').export(file)
    const store = newStore()
    await using other = crew.with({ store })
    await other.import(file, { as: 'c' })
    assert.equal((await other.run('c').view()).questions.length, 1)
    await other.run('c').answer('chapters/two/q1', approve)
    assert.equal((await other.resume('c')).status, 'completed')
    assert.equal((await stateOf(store, 'c/chapters#1/1.0/one#1')).status, 'completed')
    assert.equal(asked('Task: Polish'), 2)
  })

  test('is copied with its parent to another store', async () => {
    const { crew, store } = book({ chapters: ['one'] })
    await crew.kickoff({ id: 'b' })
    const to = newStore()
    await copyAll(store, to)
    assert.equal((await stateOf(to, 'b/chapters#1/1.0/one#1')).status, 'completed')
  })

  test('is deleted with its parent, whatever it waits for', async () => {
    const { crew, store } = book({ humanInput: true })
    await crew.kickoff({ id: 'b' })
    assert.equal((await store.list({}, { limit: 9 })).rows.length, 5)
    await crew.run('b').delete()
    assert.deepEqual((await store.list({}, { limit: 9 })).rows, [])
  })

  test('is a child of its parent in lists and lineage', async () => {
    const { crew, chapter, store } = book({ chapters: ['one'] })
    await crew.kickoff({ id: 'b' })
    const again = await crew.replay('chapters', { id: 'c' })
    await using chapters = chapter.with({ store })
    const { rows } = await store.list({ roots: true }, { limit: 9 })
    assert.deepEqual(new Set(rows.map(({ run }) => run)), new Set(['b', 'c']))
    const lineage = await crew.run('b').lineage()
    assert.deepEqual(
      lineage.run.children.map(({ runId }) => runId),
      [again.runId],
    )
    assert.equal((await chapters.run('b/chapters#1/1.0/one#1').view()).caller, 'b')
  })

  test('is in the timeline inside the call that kicked it off', async () => {
    const { crew, store } = book({ chapters: ['one'] })
    await crew.kickoff({ id: 'b' })
    const { attempts } = await readTimeline(store, 'b')
    const child = attempts.find(({ path }) => path === 'chapters#1/1.0/one#1')
    assert.equal(child?.within, 'chapters#1/1.0')
    assert.equal(child?.child, 'b/chapters#1/1.0/one#1')
    assert.equal(child?.status, 'completed')
  })
})

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis')) {
  test(
    `a run that a function kicked off waits, continues and is deleted with its parent in ${kind}`,
    { skip },
    async () => {
      await using folder = await temporaryFolder()
      await using place = await storePlace(kind, folder.path)
      const store = await openStore(place.url)
      try {
        const { crew } = book({ store, humanInput: true, chapters: ['one', 'two'] })
        const run = await crew.enqueue({ id: 'b' })
        assert.equal((await crew.advance('b')).status, 'waiting')
        const { questions } = await run.view()
        assert.equal(questions.length, 2)
        for (const { id } of questions) await run.answer(id, approve)
        assert.deepEqual(await crew.advance('b'), { status: 'completed' })
        assert.equal((await stateOf(store, 'b/chapters#1/1.0/one#1')).status, 'completed')
        assert.equal((await run.view()).usage.calls, 7)
        await run.delete()
        assert.deepEqual((await store.list({}, { limit: 9 })).rows, [])
      } finally {
        await store.close()
      }
    },
  )
}
