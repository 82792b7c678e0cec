// What executing a task may take, judged by what it took: the medians over its newest executions. A task that was never
// executed has no estimate, which is not the same as an estimate of zero. Neither has a function that began runs which
// are not counted. Whether a function makes calls is not known before it is executed: only what it took says so.
import { defined } from '../../base/defined.ts'
import type { Estimate, PlannedTask, Usage } from '../../journal/entries.ts'
import { addUsage, modelCalls, noUsage, type ModelCalls, type RunState } from '../../journal/state/state.ts'
import { addCost, costOf, costOfSpending } from '../../models/cost.ts'
import type { Prices } from '../../models/prices.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../definition.ts'
import { outputPlace } from '../read/incarnation.ts'
import { readRun } from '../read/read-run.ts'
import { tasksNamed } from '../run/waits-for.ts'

/** Enough for a median that one odd run does not move. */
const enoughSamples = 5
/** Each is a journal to read: a plan must not take longer than what it plans. */
const mostRuns = 20

/**
 * The plan, with an estimate for each task that it executes and that was executed before. `atHand` is a run that was
 * read already.
 */
export async function withEstimates(
  engine: Engine,
  crew: CrewDefinition,
  plan: readonly PlannedTask[],
  atHand?: RunState,
): Promise<PlannedTask[]> {
  const samples = await collectSamples(engine, crew, executedTasks(plan), atHand)
  return Promise.all(
    plan.map(async (planned) => {
      const earlier = samples.get(planned.task) ?? []
      const [task] = tasksNamed(crew, [planned.task])
      if (planned.action !== 'execute' || earlier.length === 0) return planned
      if (earlier.some(({ counted }) => !counted)) return { ...planned, uncounted: true }
      // what the same calls would cost with the model that the task has now
      // which model of a crew an inherited output was made by is not known
      const model = task?.child ? '' : modelName(task?.agent.model)
      const now = (call: PricedCall): PricedCall => (call.own ? { ...call, model } : call)
      const costs = await Promise.all(earlier.map(({ calls }) => costOfCalls(calls.map(now), crew.prices)))
      const known = costs.filter((cost) => cost !== undefined)
      const cost = median(known)
      const usages = earlier.map(({ calls }) => calls.map(({ usage: used }) => used).reduce(addUsage, noUsage))
      const usage = medianUsage(usages)
      const estimate: Estimate = { usage, ...defined({ cost }), samples: earlier.length }
      return { ...planned, estimate }
    }),
  )
}

/** A function may take nothing; of a task for an agent, an execution without a call is none. */
function mayTakeNothing(task: TaskDefinition | undefined): boolean {
  return task?.code !== undefined || task?.child !== undefined
}

/** One execution of a task. */
interface TaskSample {
  readonly calls: readonly PricedCall[]
  /** Whether all that it took is known. */
  readonly counted: boolean
}

/** What a task has cost in this run, including everything done for it; undefined when a model's price is not known. */
export async function costOfTask(
  state: RunState,
  task: string,
  prices: Prices | undefined,
): Promise<number | undefined> {
  const found = state.tasks.get(task)
  return found ? costOfCalls(modelCalls(state, found), prices) : 0
}

/** What a whole run has spent, in dollars; undefined when a model's price is not known. */
export async function costOfRun({ spending }: RunState, prices: Prices | undefined): Promise<number | undefined> {
  return costOfSpending(spending.values(), prices)
}

/** `at` is left out for what it would cost now. */
export type PricedCall = Omit<ModelCalls, 'at'> & { readonly at?: string }

/** What calls cost together; undefined when the price of a model is not known. */
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

function asNewCall({ model, usage, own }: ModelCalls): PricedCall {
  return { model, usage, own }
}

function executedTasks(plan: readonly PlannedTask[]): string[] {
  return plan.filter((planned) => planned.action === 'execute').map((planned) => planned.task)
}

/** By task, its newest executions. */
async function collectSamples(
  { store }: Engine,
  crew: CrewDefinition,
  tasks: readonly string[],
  atHand: RunState | undefined,
): Promise<Map<string, TaskSample[]>> {
  // an inherited output says what making it took, wherever that was: counted once, by where it was made
  const samples = new Map<string, Map<string, TaskSample>>(tasks.map((task) => [task, new Map()]))
  const { rows } = await store.list({ crew: crew.name }, { limit: mostRuns })
  for (const { run } of rows) {
    if ([...samples.values()].every((executions) => executions.size >= enoughSamples)) break
    // one that cannot be read, or was just deleted, must not prevent planning
    const state =
      atHand?.run === run
        ? atHand
        : await readRun(store, run).then(
            (read) => read.state,
            () => undefined,
          )
    if (!state) continue
    for (const [task, executions] of samples) {
      const made = state.tasks.get(task)
      if (!made?.output || made.source === 'edited') continue
      const { usage, uncounted } = made.output
      if (usage.calls === 0 && !mayTakeNothing(tasksNamed(crew, [task])[0])) continue
      const { incarnation, seq } = outputPlace(state, made)
      const origin = `${incarnation} ${seq}`
      if (executions.has(origin) ? made.from : executions.size >= enoughSamples) continue
      const inherited = usage.calls === 0 ? [] : [{ model: '', usage, own: true }]
      // the run that made it knows more: its calls, each with its model
      executions.set(origin, {
        calls: made.from ? inherited : modelCalls(state, made).map(asNewCall),
        counted: uncounted === undefined,
      })
    }
  }
  return new Map([...samples].map(([task, executions]) => [task, [...executions.values()]]))
}

/** Field by field; a detail that only some reported is the median of those. */
function medianUsage(usages: readonly Usage[]): Usage {
  const of = (field: keyof Usage): number | undefined => rounded(median(usages.flatMap((usage) => usage[field] ?? [])))
  const details = (['cacheRead', 'cacheWrite', 'reasoning'] as const).flatMap((field) => {
    const value = of(field)
    return value === undefined ? [] : [[field, value] as const]
  })
  return {
    calls: of('calls') ?? 0,
    input: of('input') ?? 0,
    output: of('output') ?? 0,
    ...Object.fromEntries(details),
  }
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value)
}

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle]
  if (upper === undefined || sorted.length % 2 === 1) return upper
  return ((sorted[middle - 1] ?? 0) + upper) / 2
}
