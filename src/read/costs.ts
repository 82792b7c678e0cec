// What runs, tasks and model calls have cost, in dollars.
import { modelCalls, type ModelCalls, type RunState } from '../journal/state/state.ts'
import { addCost, costOf, costOfSpending, type Prices } from '../models/cost.ts'

/** What a task has cost in this run, including its coworkers and child runs. Undefined if a price is not known. */
export async function costOfTask(
  state: RunState,
  task: string,
  prices: Prices | undefined,
): Promise<number | undefined> {
  const found = state.tasks.get(task)
  return found ? costOfCalls(modelCalls(state, found), prices) : 0
}

/** What a whole run has spent, in dollars. Undefined if a price is not known. */
export async function costOfRun({ spending }: RunState, prices: Prices | undefined): Promise<number | undefined> {
  return costOfSpending(spending.values(), prices)
}

/** Without `at`, today's prices count. */
export type PricedCall = Omit<ModelCalls, 'at'> & { readonly at?: string }

/** The total cost of calls. Undefined if a price is not known. */
export async function costOfCalls(
  calls: readonly PricedCall[],
  prices: Prices | undefined,
): Promise<number | undefined> {
  const costs = await Promise.all(
    calls.map(({ model, usage, at }) =>
      costOf(model, usage, { prices, at: at === undefined ? undefined : new Date(at) }),
    ),
  )
  return costs.reduce(addCost, 0)
}
