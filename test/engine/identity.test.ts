// What tells a run apart from another one that had its id, or has it elsewhere: services, which know its calls by their
// keys, must never take the one for the other.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, copyRuns, Task, tool, type Tool } from 'reprise'
import { openStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { temporaryFolder } from '../stores/temporary-folder.ts'
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

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis', 'sharded')) {
  describe(`an incarnation in ${kind}`, { skip }, () => {
    test('ends with the run: a new run of a deleted one’s id pays, although settle finds the old receipt', async () => {
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
      await copyRuns(store, copied)
      const runs = [
        { where: first, id: 'r' },
        ...[store, copied].flatMap((where) => ['r', 'renamed'].map((id) => ({ where, id }))),
      ]
      for (const { where, id } of runs) assert.equal((await bank.crew(where).resume(id)).status, 'completed')
      assert.deepEqual([...bank.paid.values()], [999])
      const states = await Promise.all(runs.map(({ where, id }) => stateOf(where, id)))
      assert.equal(new Set(states.map(({ incarnation }) => incarnation)).size, 1)
    })

    test('is another one in another store: a run of the same id there makes its own payment', async () => {
      await using there = await stores(kind)
      const bank = new Bank()
      await bank.crew(there.store).kickoff({ id: 'r' })
      await bank.crew(newStore()).kickoff({ id: 'r' })
      assert.equal(bank.paid.size, 2)
    })
  })
}

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
