// A function task that is renamed or removed during its kickoffs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { newStore, refusal, stateOf } from '../../engine/support.ts'
import { book } from './book.ts'

const approve = { decision: 'approve' } as const

test('a renamed function continues its children, and asks their questions under its new name', async () => {
  const store = newStore()
  const first = book({ store, humanInput: true, chapters: ['one', 'two'] })
  await first.crew.kickoff({ id: 'b' })
  const { crew, asked, filed } = book({ store, humanInput: true, chapters: ['one', 'two'], name: 'parts' })
  const error = await refusal(() => crew.resume('b'))
  assert.equal(error.code, 'TASKS_CHANGED')
  assert.match(
    error.message,
    /chapters \(6 recorded steps, 2 calls that must not be repeated, 2 open questions, 2 child runs/,
  )
  const waiting = await crew.resume('b', { renamed: { chapters: 'parts' } })
  assert.deepEqual(waiting.questions.map(({ id }) => id).toSorted(), ['parts/one/q1', 'parts/two/q1'])
  for (const { id } of waiting.questions) await crew.run('b').answer(id, approve)
  const result = await crew.resume('b')
  assert.equal(result.status, 'completed', String(result))
  assert.deepEqual(result.task('parts').output, ['polished draft of one', 'polished draft of two'])
  assert.equal(asked('Task: Draft'), 0)
  assert.deepEqual(filed, [])
  const again = await crew.replay('parts', { id: 'c', onQuestion: () => approve })
  assert.equal(again.status, 'completed', String(again))
  assert.deepEqual(filed, [])
})

test('the children of a removed function are cancelled', async () => {
  const store = newStore()
  await book({ store, humanInput: true, chapters: ['one'] }).crew.kickoff({ id: 'b' })
  const crew = new Crew({ name: 'book', tasks: [new Task({ name: 'end', effect: 'read', run: () => 'over' })], store })
  const result = await crew.resume('b', { removed: ['chapters'] })
  assert.equal(result.status, 'completed')
  assert.equal((await stateOf(store, 'b/chapters#1/1.0/one#1')).status, 'cancelled')
})

test("the once calls of a function's kickoffs do not put those of other tasks in doubt", async () => {
  const saved: string[] = []
  const { crew: scene, store } = book({ chapters: ['one'] })
  const [write] = scene.tasks
  const save = new Task({ name: 'save', run: () => `saved ${saved.push('x')}` })
  const crew = new Crew({ name: 'book', tasks: [write as Task, save], store })
  assert.equal((await crew.kickoff({ id: 'b' })).status, 'completed')
  assert.equal(saved.length, 1)
})
