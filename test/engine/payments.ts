// Shared by the tests of `once` calls: a once tool, and runs that were cut off around it.
import assert from 'node:assert/strict'
import { tool, type Tool } from 'reprise'
import { z } from 'zod'
import { dyingStore, newStore, oneTask } from './support.ts'

export const paymentInput = z.object({ amount: z.number() })
type Options = Partial<Parameters<typeof tool<typeof paymentInput, unknown>>[0]>

/** A `once` tool that counts what it does. */
export function payment(options: Options = {}): Tool & { done: number[] } {
  const done: number[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    effect: 'once',
    input: paymentInput,
    run({ amount }) {
      done.push(amount)
      return { paid: amount }
    },
    ...options,
  })
  return Object.assign(pay as Tool, { done })
}

/** An `idempotent` one, which notes the key of each call. */
export function keyedPayment(keys: string[]): Tool {
  return payment({ effect: 'idempotent', run: (_, { idempotencyKey }) => void keys.push(idempotencyKey) })
}

export const payOnce = [
  { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
  { when: 'Do it', after: 1, reply: 'paid' },
]

/** A run that died right after the call was written down, before its outcome was. */
export async function inDoubt(pay: Tool, script = payOnce) {
  const store = newStore()
  const { crew, model } = oneTask({ tools: [pay], script, store })
  const dying = crew.with({ store: dyingStore(store, (types) => types.includes('tool.called')) })
  await assert.rejects(dying.kickoff({ id: 'r' }), { code: 'STORE_FAILED', message: /the process is dead/ })
  return { crew, model, store }
}
