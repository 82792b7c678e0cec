// The identity of a run beyond its id, which an earlier run or one in another store may share: services, which identify
// calls by their keys, must never confuse the two.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type Tool } from 'reprise'
import { openStore, type Store } from 'reprise/stores'
import { faultyStore, onNthCall, scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { copyAll } from '../crew/copy/copy-support.ts'
import { kindsHere, storePlace } from '../support/store-place.ts'
import { dyingStore, newStore, stateOf } from './support.ts'

/** A service that makes each payment once per key, and tells what became of it. */
class Bank {
  readonly paid = new Map<string, number>()
  readonly pay: Tool = tool({
    name: 'pay',
    description: 'Pay',
    effect: 'once',
    input: z.object({ amount: z.number() }),
    run: ({ amount }, { idempotencyKey }) => {
      if (!this.paid.has(idempotencyKey)) this.paid.set(idempotencyKey, amount)
      return 'paid'
    },
    settle: (key) => (this.paid.has(key) ? { happened: true, result: 'paid' } : { happened: false }),
  })

  crew(store: Store): Crew {
    const call = { tool: 'pay', input: { amount: 999 } }
    const model = scriptedModel([
      { when: 'Pay it', after: 0, calls: [call], repeat: true },
      { when: 'Pay it', after: 1, reply: 'done', repeat: true },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'Pay', model, tools: [this.pay] })
    return new Crew({ name: 'bank', tasks: [new Task({ name: 'job', description: 'Pay it', agent })], store })
  }

  /** A run that was killed when its first entry of this type was recorded. */
  async killAt(type: 'model.replied' | 'tool.called', store: Store, id: string): Promise<void> {
    const dying = dyingStore(store, (types) => types.includes(type))
    await assert.rejects(this.crew(dying).kickoff({ id }), /the process is dead/)
  }
}

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis')) {
  describe(`an incarnation in ${kind}`, { skip }, () => {
    test("ends with the run: a new run under a deleted run's id pays, although settle finds the old receipt", async () => {
      await using there = await stores(kind)
      const { store } = there
      const bank = new Bank()
      await bank.crew(store).kickoff({ id: 'r' })
      await bank.crew(store).run('r').delete()
      await bank.killAt('tool.called', store, 'r')
      const { status } = await bank.crew(store).resume('r')
      assert.equal(status, 'completed')
      assert.deepEqual([...bank.paid.values()], [999, 999])
    })

    test('travels with the run: an imported and a copied run find the receipts of the original', async () => {
      await using there = await stores(kind)
      const { store, folder } = there
      const bank = new Bank()
      const first = newStore()
      await bank.killAt('model.replied', first, 'r')
      const file = join(folder, 'r.jsonl')
      await bank.crew(first).run('r').export(file)
      await bank.crew(store).import(file)
      await bank.crew(store).import(file, { as: 'renamed' })
      const copied = newStore()
      const left = await copyAll(store, copied)
      assert.deepEqual(left, { r: 'copied', renamed: 'copied' })
      const runs = [{ where: first, id: 'r' }, ...['r', 'renamed'].map((id) => ({ where: copied, id }))]
      for (const { where, id } of runs) assert.equal((await bank.crew(where).resume(id)).status, 'completed')
      assert.deepEqual([...bank.paid.values()], [999])
      const states = await Promise.all(runs.map(({ where, id }) => stateOf(where, id)))
      assert.equal(new Set(states.map(({ incarnation }) => incarnation)).size, 1)
    })

    test('differs between stores: a run of the same id in another store makes its own payment', async () => {
      await using there = await stores(kind)
      const bank = new Bank()
      await bank.crew(there.store).kickoff({ id: 'r' })
      await bank.crew(newStore()).kickoff({ id: 'r' })
      assert.equal(bank.paid.size, 2)
    })
  })
}

test('a run whose creation was acknowledged late is recognised, and enqueued once', async () => {
  for (const nth of [1, 2]) {
    const bank = new Bank()
    const store = newStore()
    const inner = bank.crew(store)
    const faulty = faultyStore(store, onNthCall('create', nth, 'reply lost'))
    const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'settle', crew: inner })], store: faulty })
    assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
    assert.equal(bank.paid.size, 1)
  }
  const store = newStore()
  const crew = new Bank().crew(faultyStore(store, onNthCall('create', 1, 'reply lost')))
  await crew.enqueue({ id: 'r' })
  const { incarnation } = await stateOf(store, 'r')
  await crew.enqueue({ id: 'r' })
  assert.equal((await stateOf(store, 'r')).incarnation, incarnation)
})

test('a call approved again in a fork has another key, like a repeated call', async () => {
  const bank = new Bank()
  const crew = bank.crew(newStore())
  await crew.kickoff({ id: 'r' })
  const asked = await crew.fork({ runId: 'r', id: 'asking', from: 'job', effects: 'ask' })
  assert.equal(asked.status, 'suspended')
  assert.equal(bank.paid.size, 1)
  await crew.run('asking').answer('q1', { decision: 'approve' })
  await crew.resume('asking')
  assert.equal(bank.paid.size, 2)
  await crew.fork({ runId: 'r', id: 'again', from: 'job', effects: 'again' })
  assert.equal(bank.paid.size, 3)
})

describe('a child run', () => {
  const outer = (bank: Bank, store: Store) => {
    const settle = new Task({ name: 'settle', crew: bank.crew(store) })
    const note = new Task({ name: 'note', run: () => 'noted' })
    return new Crew({ name: 'outer', tasks: [settle, note], store })
  }

  test('is the same one when its creation is repeated, even if its parent was imported', async () => {
    await using folder = await temporaryFolder()
    const bank = new Bank()
    const store = newStore()
    const create: Store['create'] = (row, ...rest) =>
      row.run === 'r' ? store.create(row, ...rest) : Promise.reject(new Error('the process is dead'))
    await assert.rejects(outer(bank, { ...store, create }).kickoff({ id: 'r' }), /the process is dead/)
    const file = join(folder.path, 'r.jsonl')
    await outer(bank, store).run('r').export(file)
    const elsewhere = newStore()
    await outer(bank, elsewhere).import(file, { as: 'renamed' })
    await outer(bank, store).resume('r')
    await outer(bank, elsewhere).resume('renamed')
    assert.equal(bank.paid.size, 1)
  })

  test('is another one if its run was made again after the root was deleted', async () => {
    const bank = new Bank()
    const store = newStore()
    for (let times = 1; times <= 2; times++) {
      await outer(bank, store).kickoff({ id: 'r' })
      assert.equal(bank.paid.size, times)
      await outer(bank, store).run('r').delete()
    }
  })

  test('of a fork that repeats calls makes them once, even if it is abandoned for another fork', async () => {
    const bank = new Bank()
    const store = newStore()
    const crew = outer(bank, store)
    await crew.kickoff({ id: 'r' })
    await crew.fork({ runId: 'r', id: 'fork', from: 'settle', effects: 'again', through: 'settle' })
    assert.equal(bank.paid.size, 2)
    await crew.run('fork').invalidate('settle')
    await crew.resume('fork')
    assert.equal(bank.paid.size, 2)
  })

  test('left behind by a deleted root does not belong to the run that has its id now', async () => {
    const bank = new Bank()
    const store = newStore()
    await outer(bank, store).kickoff({ id: 'r' })
    const [root, child] = [await store.row('r'), await store.row('r/settle#1')]
    assert.ok(root && child)
    const lines = await Array.fromAsync(store.read('r/settle#1'))
    await outer(bank, store).run('r').delete()
    await store.create(child, { lines, row: child })
    await outer(bank, store).kickoff({ id: 'r' })
    assert.equal(bank.paid.size, 2)
    assert.deepEqual([...(await stateOf(store, 'r')).attempts.keys()], ['settle#2', 'note#1'])
  })
})

test('a run whose deletion was cut off in a folder is made again as another one', async () => {
  await using there = await stores('file')
  const { store, folder } = there
  const bank = new Bank()
  const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'settle', crew: bank.crew(store) })], store })
  await outer.kickoff({ id: 'r' })
  const { incarnation } = await stateOf(store, 'r')
  // the journal goes first; the note of its end, and the files of the child run, are left
  await rm(join(folder, 'state', 'r.jsonl'))
  await outer.kickoff({ id: 'r' })
  const again = await stateOf(store, 'r')
  assert.notEqual(again.incarnation, incarnation)
  assert.deepEqual([...again.attempts.keys()], ['settle#2'])
  assert.equal(bank.paid.size, 2)
})

describe('a run with the id of a deleted parent', () => {
  const withFork = async () => {
    const bank = new Bank()
    const store = newStore()
    const crew = bank.crew(store)
    await crew.kickoff({ id: 'parent' })
    await crew.fork({ runId: 'parent', id: 'fork' })
    await crew.run('parent').delete()
    return { crew, store }
  }

  test("isn't that parent in lineages, lists and views", async () => {
    const { crew, store } = await withFork()
    const deleted = { runId: 'parent', from: undefined, deleted: true }
    const idsOf = async () => (await Array.fromAsync(crew.runs({ parent: 'parent' }))).map(({ runId }) => runId)
    assert.deepEqual(await idsOf(), ['fork'], 'a deleted run is still named')
    await crew.kickoff({ id: 'parent' })
    const lineage = await crew.run('fork').lineage()
    assert.deepEqual(lineage.ancestors, [{ runId: 'parent', deleted: true }])
    assert.deepEqual((await crew.run('parent').lineage()).run.children, [])
    assert.deepEqual((await crew.run('fork').view()).parent, deleted)
    assert.deepEqual((await Array.fromAsync(crew.runs())).find(({ runId }) => runId === 'fork')?.parent, deleted)
    assert.deepEqual(await idsOf(), [])
    await crew.fork({ runId: 'parent', id: 'other' })
    assert.deepEqual(await idsOf(), ['other'])
    assert.equal((await crew.run('other').view()).parent?.deleted, false)
    assert.notEqual((await stateOf(store, 'other')).parent?.incarnation, undefined)
  })

  test("isn't the parent of an equal fork", async () => {
    const { crew } = await withFork()
    await crew.fork({ runId: 'parent', id: 'fork' })
    await crew.kickoff({ id: 'parent' })
    await assert.rejects(crew.fork({ runId: 'parent', id: 'fork' }), {
      code: 'INPUTS_DIFFER',
      message: /forked from an earlier run parent, deleted since/,
    })
  })

  test("isn't the case of its output in a backtest", async () => {
    const { crew } = await withFork()
    const before = await crew.backtest('job', { runs: ['fork'], id: 'first' })
    await crew.kickoff({ id: 'parent' })
    const { cases } = await crew.backtest('job', { runs: ['fork'], id: 'second' })
    assert.deepEqual(
      cases.map(({ runId }) => runId),
      before.cases.map(({ runId }) => runId),
    )
  })
})

async function stores(kind: Parameters<typeof storePlace>[0]) {
  const folder = await temporaryFolder()
  const place = await storePlace(kind, folder.path)
  const store = await openStore(place.url)
  return {
    store,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await store.close()
      await place[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}
