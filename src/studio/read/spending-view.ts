// What a run has spent: by task, by model, and call by call, so that it can be shown over time.
import { costOfCalls, costOfTask } from '../../engine/plan/estimate.ts'
import { readEntries } from '../../engine/read/read-run.ts'
import { attemptsIn, taskOf } from '../../journal/paths.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { spentByModel, spentOn } from '../../journal/state/state.ts'
import { unitOf } from '../../runs/unit.ts'
import type { SpendingView } from '../api/contract.ts'
import type { Place } from '../place.ts'

export async function spendingView({ store, crews }: Place, runId: string): Promise<SpendingView> {
  const folded = emptyState(runId)
  const asked: { at: string; task: string; model: string; usage: SpendingView['calls'][number]['usage'] }[] = []
  for await (const { entry } of readEntries(store, runId)) {
    applyEntry(folded, entry)
    if (entry.type !== 'model.replied' || entry.usage.calls === 0) continue
    const { at, path = '', usage } = entry
    const model = folded.attempts.get(attemptsIn(path).at(-1) ?? '')?.request.model ?? ''
    asked.push({ at, task: taskOf(path), model, usage })
  }
  const { state } = await unitOf(store, folded)
  const prices = crews.get(state.crew)?.definition.prices
  const costOf = (model: string, usage: (typeof asked)[number]['usage'], at?: string): Promise<number | undefined> =>
    costOfCalls([{ model, usage, own: true, ...(at === undefined ? {} : { at }) }], prices)
  return {
    tasks: await Promise.all(
      [...state.tasks.values()].map(async (task) => ({
        task: task.name,
        usage: spentOn(state, task),
        cost: await costOfTask(state, task.name, prices),
      })),
    ),
    models: await Promise.all(
      Object.entries(spentByModel(state)).map(async ([model, usage]) => ({
        model,
        usage,
        cost: await costOf(model, usage),
      })),
    ),
    calls: await Promise.all(
      asked.map(async (call) => ({ ...call, cost: await costOf(call.model, call.usage, call.at) })),
    ),
  }
}
