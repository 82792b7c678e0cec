// What a run and its child runs have spent: by task, by model, and by call. Each breakdown adds up to the total.
import { costOfCalls, costOfTask } from '../../read/costs.ts'
import { readEntries } from '../../read/read-run.ts'
import type { Usage } from '../../journal/entries.ts'
import { parentPath, taskInPath } from '../../journal/paths.ts'
import type { Spending } from '../../journal/state/tally.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { addUsage } from '../../journal/state/state.ts'
import { spentByModel, spentOn } from '../../journal/state/spent.ts'
import { childStartedBy, spentIn } from '../../journal/table/entry-table.ts'
import { addCost, costOfSpending } from '../../models/cost.ts'
import { groupName } from '../../journal/paths.ts'
import type { RunTree } from '../../runs/run-view.ts'
import type { Store } from '../../stores/store.ts'
import type { SpendingView } from '../api/contract.ts'
import { runPrices, useRunTree, type StudioContext } from '../context.ts'

/** Rejects with RUN_NOT_FOUND. */
export function spendingView(context: StudioContext, runId: string): Promise<SpendingView> {
  return useRunTree(context, runId, (tree) => spendingOf(context, tree))
}

async function spendingOf(context: StudioContext, { state }: RunTree): Promise<SpendingView> {
  const { run: runId } = state
  const prices = await runPrices(context, runId, state.crew)
  const calls = await modelCallsOfTree(context.store, runId)
  const spendingByModel = Map.groupBy<string, Spending>(state.spending.values(), ({ model }) => model)
  const tasks = await Promise.all(
    [...state.tasks.values()].map(async (task) => ({
      task: task.name,
      usage: spentOn(state, task),
      cost: await costOfTask(state, task.name, prices),
    })),
  )
  return {
    tasks: state.flow ? sumByName(tasks) : tasks,
    models: await Promise.all(
      Object.entries(spentByModel(state)).map(async ([model, usage]) => ({
        model,
        usage,
        cost: await costOfSpending(spendingByModel.get(model) ?? [], prices),
      })),
    ),
    calls: await Promise.all(
      calls.map(async (call) => ({ ...call, cost: await costOfCalls([{ ...call, own: true }], prices) })),
    ),
  }
}

type SpentTask = SpendingView['tasks'][number]

/** A flow may have thousands of steps. */
function sumByName(steps: readonly SpentTask[]): SpentTask[] {
  const sums = new Map<string, SpentTask>()
  for (const { task, usage, cost } of steps) {
    const name = groupName(task)
    const sum = sums.get(name)
    sums.set(
      name,
      sum
        ? { task: name, usage: addUsage(sum.usage, usage), cost: addCost(sum.cost, cost) }
        : { task: name, usage, cost },
    )
  }
  return [...sums.values()]
}

interface SpentCall {
  readonly at: string
  readonly task: string
  readonly model: string
  readonly usage: Usage
}

/** The model calls by time of completion. Calls of a child run count as calls of the task that it executes. */
async function modelCallsOfTree(store: Store, runId: string): Promise<SpentCall[]> {
  const state = emptyState(runId)
  const calls: SpentCall[] = []
  for await (const { entry } of readEntries(store, runId)) {
    applyEntry(state, entry)
    const { path = '' } = entry
    const task = taskInPath(path)
    const child = childStartedBy(runId, entry)
    if (child !== undefined && (await store.row(child)))
      calls.push(...(await modelCallsOfTree(store, child)).map((call) => ({ ...call, task })))
    const model = state.attempts.get(parentPath(path))?.request.model ?? ''
    for (const call of spentIn(entry)) if (call.usage.calls > 0) calls.push({ ...call, task, model })
  }
  return calls.toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
}
