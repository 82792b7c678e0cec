// What runs, tasks and model calls have cost, in dollars.
import { type RunState } from '../journal/state/state.ts'
import { modelCalls, type ModelCalls } from '../journal/state/spent.ts'
import { addCost, costOf, costOfSpending, type Prices } from '../models/cost.ts'

/** Returns what a task has cost in a run, including its coworkers and child runs; undefined if a price is unknown. */
export async function costOfTask(
  state: RunState,
  task: string,
  prices: Prices | undefined,
): Promise<number | undefined> {
  const found = state.tasks.get(task)
  return found ? costOfCalls(modelCalls(state, found), prices) : 0
}

/** Returns what a whole run has spent, in dollars; undefined if a price is unknown. */
export async function costOfRun({ spending }: RunState, prices: Prices | undefined): Promise<number | undefined> {
  return costOfSpending(spending.values(), prices)
}

/** Usage to price. Without `at`, at today's prices. */
export type PricedCall = Omit<ModelCalls, 'at'> & { readonly at?: string }

/** Returns the total cost of calls; undefined if a price is unknown. */
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
