// Copying runs from one store to another: what is copied, what is moved, and what is refused by name.
import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Crew, file, Task } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { fileStore, memoryStore, currentOwner, type Store } from 'reprise/stores'
import { jumpingClock } from 'reprise/testing'
import { copyEngines, copyRun } from '../../../src/engine/history/copy-run.ts'
import { recordMessages } from '../../../src/engine/inbox/send-message.ts'
import { waitingQuestions } from '../../../src/runs/waiting-questions.ts'
import { elsewhere, linesOf, message } from '../../../src/testing/store-contract/harness.ts'
import { dyingStore, entriesOf, longTexts, newStore, oneTask, orDeath } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { claims, copyAll, everyKind, settling } from './copy-support.ts'
import { everythingIn } from './everything.ts'

const done = [{ when: 'Do it', reply: 'done' }]
const lane = (crew: string) => ({ crew, version: '', format: journalVersion })

async function claimed(store: Store, crew = 'claims'): Promise<string[]> {
  const leases = await store.claim(currentOwner(), 30_000, [lane(crew)], { limit: 10 })
  for (const lease of leases) await store.release(lease)
  return leases.map(({ run }) => run)
}

/** Two runs that are completed, and one that waits for a person in a nested crew. */
async function threeRuns(store: Store): Promise<void> {
  const { crew } = oneTask({ script: done, store })
  await crew.kickoff({ id: 'a' })
  await crew.kickoff({ id: 'b' })
  await claims(store).kickoff({ id: 'c' })
}

/** A run that waits for a person in a nested crew, moved. */
async function movedRun(): Promise<{ source: Store; target: Store; crew: Crew }> {
  const source = newStore()
  const target = newStore()
  const crew = claims(source)
  await crew.kickoff({ id: 'c' })
  assert.deepEqual(await copyAll(source, target), { c: 'copied' })
  return { source, target, crew }
}

test('all runs are copied byte for byte with their child runs, and the result counts them', async () => {
  const source = newStore()
  const target = newStore()
  await threeRuns(source)
  const expected = await everythingIn(source)
  const lines = [...(await linesOf(source, 'c')), ...(await linesOf(source, 'c/settle#1'))]
  assert.deepEqual(await copyAll(source, target, ['a', 'b']), { a: 'copied', b: 'copied' })
  const { row, bytes, ...copied } = await copyRun(copyEngines(source, target), 'c', false)
  assert.deepEqual(copied, { outcome: 'copied', runs: 2, entries: lines.length })
  assert.equal(row.status, 'suspended')
  assert.ok(bytes > lines.reduce((sum, line) => sum + line.bytes.length, 0))
  assert.deepEqual(await everythingIn(target), expected)
})

test('the files among the inputs of a run are copied and can be read there', async () => {
  const source = newStore()
  const target = newStore()
  const crew = (store: Store): Crew => {
    const read = new Task({
      name: 'read',
      run: async (context) => Buffer.from(await context.readFile('notes.txt')).toString(),
      effect: 'read',
    })
    const stop = new Task({ name: 'stop', run: () => 'stopped', effect: 'read' })
    return new Crew({ name: 'files', tasks: [stop, read], store })
  }
  const notes = file(new Uint8Array(Buffer.from('Water in the cellar')), { name: 'notes.txt' })
  await crew(source).kickoff({ id: 'r', inputs: { notes }, through: 'stop' })
  const expected = await everythingIn(source)
  await copyAll(source, target)
  const copied = await everythingIn(target)
  assert.deepEqual(copied, expected)
  assert.ok(JSON.stringify(copied).includes('Water in the cellar'))
  assert.equal(String(await crew(target).resume('r')), 'Water in the cellar')
})

test('copying an ended run changes nothing in the source', async () => {
  const source = newStore()
  await oneTask({ script: done, store: source }).crew.kickoff({ id: 'a' })
  const never = (): never => assert.fail('something was written')
  const watched: Store = { ...source, create: never, append: never, acquire: never, claim: never, release: never }
  const target = newStore()
  assert.deepEqual(await copyAll({ ...watched, renew: never, post: never, delete: never }, target), { a: 'copied' })
  assert.deepEqual(await copyAll(source, target), { a: 'present' })
})

test("a run that a process executes is left out, and copied by the same call once it isn't", async () => {
  const source = newStore()
  const target = newStore()
  await threeRuns(source)
  const lease = await source.acquire('c', elsewhere('box'), 30_000)
  assert.deepEqual(await copyAll(source, target), { a: 'copied', b: 'copied', c: 'held' })
  assert.equal(await target.row('c'), undefined)
  await source.release(lease)
  assert.deepEqual(await copyAll(source, target), { a: 'present', b: 'present', c: 'copied' })
})

test('a moved run continues in the target, and is parked in the source with the target in its reason', async () => {
  const { source, target, crew } = await movedRun()
  const view = await crew.run('c').view()
  assert.deepEqual([view.status, view.why], ['stopped', `it was moved to ${target.url}`])
  assert.deepEqual(await claimed(source), [])
  assert.deepEqual((await waitingQuestions(source)).questions, [])
  assert.deepEqual(await Array.fromAsync(crew.check()), [])
  const there = claims(target)
  assert.deepEqual((await waitingQuestions(target)).questions.length, 1)
  await there.run('c').answer('settle/q1', { decision: 'approve' })
  await there.resume('c')
  await there.run('c').answer('q1', { decision: 'approve' })
  assert.equal((await there.resume('c')).status, 'completed')
  assert.deepEqual(await copyAll(source, target), { c: 'present' })
})

test('a moved run is refused in the source, by one sentence that names the target and the way back', async () => {
  const { source, target, crew } = await movedRun()
  const before = await everythingIn(source)
  const refusal = {
    code: 'RUN_MOVED',
    message: `run c was moved to ${target.url} and continues only there; if that copy was deleted, take it back with crew.run('c').requeue()`,
  }
  const run = crew.run('c')
  const acts: readonly (() => Promise<unknown>)[] = [
    () => crew.resume('c'),
    () => crew.kickoff({ id: 'c' }),
    () => crew.enqueue({ id: 'c' }),
    () => run.answer('settle/q1', { decision: 'approve' }),
    () => settling(source).run('c/settle#1').answer('q1', { decision: 'approve' }),
    () => run.edit('plan', 'x'),
    () => run.cancel(),
  ]
  for (const act of acts) await assert.rejects(act, refusal)
  await assert.rejects(crew.resume(), { code: 'RUN_NOT_FOUND' })
  assert.equal((await crew.advance('c')).status, 'waiting')
  assert.deepEqual(await everythingIn(source), before)
})

test('a moved run whose copy was deleted is taken back by a requeue, and can be moved again', async () => {
  const { source, target, crew } = await movedRun()
  await crew.run('c').requeue()
  assert.deepEqual(await claimed(source), ['c'])
  const { c } = await copyAll(source, target)
  assert.match(String(c), /memory:\S+ already has a run c, so it could continue in both stores; delete one of the two/)
  assert.deepEqual(await claimed(source), ['c'])
  await target.delete('c')
  const expected = await everythingIn(source)
  assert.deepEqual(await copyAll(source, target), { c: 'copied' })
  assert.deepEqual(await everythingIn(target), expected)
})

test('a run that was moved and then deleted in the target is not made again, since its effects would be repeated', async () => {
  const { source, target } = await movedRun()
  await target.delete('c')
  assert.deepEqual(await copyAll(source, target), { c: 'present' })
  assert.equal(await target.row('c'), undefined)
})

test('a run that was moved to one store is not copied to another', async () => {
  const { source, target } = await movedRun()
  const { c } = await copyAll(source, newStore())
  assert.match(String(c), new RegExp(`run c was moved to ${target.url} and continues only there`))
})

test('a requeue sent before the move does not undo it', async () => {
  const { source, target, crew } = await movedRun()
  const { from } = copyEngines(source, target)
  const { to } = { to: target.url }
  for (const [index, move] of [undefined, { to }, { to: 'sqlite:elsewhere.db', arrived: true }].entries()) {
    await source.post('c', message(`requeue:${index}`, JSON.stringify({ type: 'requeue', move })))
    await recordMessages(from, 'c')
    assert.equal((await crew.run('c').view()).status, 'stopped')
  }
  assert.deepEqual(await source.inbox('c'), [])
})

test('a copy records waiting messages first, and passes on a message that arrives meanwhile', async () => {
  const source = newStore()
  const target = newStore()
  await everyKind(source)
  const late = message('edit:late', JSON.stringify({ type: 'edit', task: 'plan', raw: 'late', structured: false }))
  const slow: Store = {
    ...target,
    async create(row, ...rest) {
      const made = await target.create(row, ...rest)
      if (row.run === 'told') await source.post('told', late)
      return made
    },
  }
  assert.deepEqual(await copyAll(source, slow, ['told', 'queued and told']), {
    told: 'copied',
    'queued and told': 'copied',
  })
  assert.deepEqual(await target.inbox('told'), [late])
  assert.deepEqual(await source.inbox('told'), [])
  const edits = (await entriesOf(target, 'told')).filter(({ type }) => type === 'task.edited')
  assert.equal(edits.length, 1)
  assert.equal((await target.row('queued and told'))?.status, 'cancelled')
  assert.match(
    JSON.stringify((await entriesOf(source, 'told')).at(-1)),
    /message\.refused.*the run was moved to memory:/,
  )
})

test('a damaged run is refused by name before any of it is written, and the others are copied', async () => {
  await using folder = await temporaryFolder()
  const source = await fileStore(join(folder.path, 'runs'))
  const { crew } = oneTask({ script: done, store: source })
  for (const id of ['cut', 'gap', 'changed', 'torn', 'whole']) await crew.kickoff({ id })
  await longTexts(source).kickoff({ id: 'bare' })
  const edit = async (run: string, change: (lines: string[]) => string[]): Promise<void> => {
    const path = join(folder.path, 'runs', `${run}.jsonl`)
    const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
    await writeFile(
      path,
      change(lines)
        .map((line) => `${line}\n`)
        .join(''),
    )
  }
  await edit('cut', (lines) => lines.slice(0, -1))
  await edit('gap', (lines) => lines.toSpliced(2, 1))
  await edit('changed', (lines) => lines.map((line) => line.replace('"text":"done"', '"text":"gone"')))
  await edit('torn', (lines) => lines.toSpliced(1, 1, '{"seq":'))
  await rm(join(folder.path, 'runs', 'bare.blobs'), { recursive: true })
  const target = newStore()
  const outcomes = Object.fromEntries(
    Object.entries(await copyAll(source, target)).map(([run, came]) => [
      run,
      came instanceof Error ? came.message : came,
    ]),
  )
  assert.match(outcomes['cut'] ?? '', /entry 5 of run cut is missing/)
  assert.match(outcomes['gap'] ?? '', /entry 3 of run gap is missing/)
  assert.match(outcomes['changed'] ?? '', /entry 3 of run changed is not as it was written/)
  assert.match(outcomes['torn'] ?? '', /line 2 of .*torn\.jsonl cannot be read/)
  assert.match(outcomes['bare'] ?? '', /run bare.* refers to the stored value/)
  assert.deepEqual(
    (await target.list({}, { limit: 10 })).rows.map(({ run }) => run),
    ['whole'],
  )
  await source.close()
})

test('runs that are ready for workers keep their order in the copy, by priority, age and time', async () => {
  const clock = jumpingClock()
  const [source, target] = ['a', 'b'].map((name) => memoryStore({ now: clock.now, url: `memory:queue-${name}` }))
  assert.ok(source && target)
  const crew = oneTask({ script: done, store: source }).crew
  await crew.enqueue({ id: 'later', delay: 3_600 })
  await crew.enqueue({ id: 'low', priority: 'low' })
  await crew.enqueue({ id: 'first' })
  // entries have the time of day, and the order of equal times is nobody's promise
  while (Date.parse((await source.row('first'))?.createdAt ?? '') === Date.now());
  await crew.enqueue({ id: 'second' })
  await crew.enqueue({ id: 'high', priority: 'high' })
  await copyAll(source, target, ['second'])
  clock.jump(1_000)
  await copyAll(source, target)
  const claim = async (): Promise<string[]> =>
    (await target.claim(currentOwner(), 30_000, [lane('engine')], { limit: 10 })).map(({ run }) => run)
  assert.deepEqual(await claim(), ['high', 'first', 'second', 'low'])
  clock.jump(3_700_000)
  assert.ok((await claim()).includes('later'))
})

test('the next entry of a copy has another token than its last, so that the pause does not count as work', async () => {
  const source = newStore()
  const first = dyingStore(source, (types) => types.includes('model.replied'))
  await orDeath(oneTask({ script: done, store: first }).crew.kickoff({ id: 'r' }))
  for (const dies of ['run.resumed', 'run.resumed']) {
    const dying = dyingStore(source, (types) => types.includes(dies))
    await orDeath(oneTask({ script: done, store: dying }).crew.resume('r'))
  }
  // a process that is dead holds nothing
  await source.release(await source.acquire('r', currentOwner(), 30_000))
  const target = newStore()
  await copyAll(source, target)
  const last = (await entriesOf(target, 'r')).at(-1)
  const { token } = await target.acquire('r', currentOwner(), 30_000)
  assert.equal(last?.token, 3)
  assert.ok(token > 3, `the next one is ${token}`)
})

test('a failing store ends the copy of a run, which is repeated as a whole', async () => {
  const source = newStore()
  const target = newStore()
  await claims(source).kickoff({ id: 'c' })
  const expected = await everythingIn(source)
  const broken: Store = {
    ...target,
    create(row, ...rest) {
      if (row.run === 'c') throw new Error('the disk is full')
      return target.create(row, ...rest)
    },
  }
  await assert.rejects(copyAll(source, broken), /the disk is full/)
  const { why } = await claims(source).run('c').view()
  assert.equal(why, `it was being moved to ${target.url} when the copy was cut off: copy it there again`)
  assert.deepEqual(await copyAll(source, target), { c: 'copied' })
  assert.deepEqual(await everythingIn(target), expected)
})

test('leftover child runs of a copy do not block the next one, even if the run was taken back meanwhile', async () => {
  const source = newStore()
  const target = newStore()
  const crew = claims(source)
  await crew.kickoff({ id: 'c' })
  const create: Store['create'] = (row, ...rest) =>
    row.run === 'c' ? Promise.reject(new Error('the disk is full')) : target.create(row, ...rest)
  await assert.rejects(copyAll(source, { ...target, create }), /the disk is full/)
  assert.ok(await target.row('c/settle#1'))
  await crew.run('c').requeue()
  await crew.run('c').answer('settle/q1', { decision: 'approve' })
  await crew.resume('c')
  const expected = await everythingIn(source)
  assert.deepEqual(await copyAll(source, target), { c: 'copied' })
  assert.deepEqual(await everythingIn(target), expected)
})
