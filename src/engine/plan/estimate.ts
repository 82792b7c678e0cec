// Estimates the usage and cost of executing a task: the medians over its newest executions. A task that was never
// executed has no estimate, which is not an estimate of zero; nor has a function that kicked off runs outside of its
// tree. Whether a function calls models is only known from its earlier executions.
import { defined } from '../../base/options.ts'
import type { Estimate, PlannedTask, Usage } from '../../journal/entries.ts'
import { itemsOf } from '../../journal/state/at-path.ts'
import { addUsage, noUsage, type RunState, type TaskState } from '../../journal/state/state.ts'
import { modelCalls, type ModelCalls } from '../../journal/state/spent.ts'
import { costOfCalls, type PricedCall } from '../../read/costs.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../definition.ts'
import { outputPlace } from '../../read/incarnation.ts'
import { readRun } from '../../read/read-run.ts'
import { declaredTask, isItemOf } from '../run/for-each.ts'

/** Enough that one unusual run does not move the median. */
const enoughSamples = 5
/** Each run is a journal to read, and planning must stay quick. */
const maxRuns = 20

/** Adds estimates to tasks that are to be executed and were executed before. `loaded`: a run that was already read. */
export async function withEstimates(
  engine: Engine,
  crew: CrewDefinition,
  plan: readonly PlannedTask[],
  loaded?: RunState,
): Promise<PlannedTask[]> {
  // a list has no usage of its own: if its items are planned, they have all of it
  const lists = crew.tasks.filter((task) => task.forEach && plan.some((planned) => isItemOf(task, planned.task)))
  const estimated = plan.filter((planned) => lists.every(({ name }) => name !== planned.task))
  const samples = await collectSamples(engine, crew, executedTasks(estimated), loaded)
  return Promise.all(
    plan.map(async (planned) => {
      const earlier = samples.get(planned.task) ?? []
      const task = declaredTask(crew, planned.task)
      if (planned.action === 'execute' && !estimated.includes(planned))
        return { ...planned, estimate: { usage: noUsage, cost: 0, samples: 1 } }
      if (planned.action !== 'execute' || earlier.length === 0) return planned
      if (earlier.some(({ counted }) => !counted)) return { ...planned, uncounted: true }
      // own calls get the price of the task's current model. Those of a nested crew get none: they come from an
      // inherited output, which doesn't record its models
      const model = task?.child ? '' : modelName(task?.agent.model)
      const withModel = (call: PricedCall): PricedCall => (call.own ? { ...call, model } : call)
      const costs = await Promise.all(earlier.map(({ calls }) => costOfCalls(calls.map(withModel), crew.prices)))
      const known = costs.filter((cost) => cost !== undefined)
      const cost = median(known)
      const usages = earlier.map(({ calls }) => calls.map(({ usage: used }) => used).reduce(addUsage, noUsage))
      const usage = medianUsage(usages)
      const estimate: Estimate = { usage, ...defined({ cost }), samples: earlier.length }
      return { ...planned, estimate }
    }),
  )
}

/** Whether a task can be executed without a model call. An agent task that made none was not really executed. */
function canDoWithoutModel({ flow }: CrewDefinition, task: TaskDefinition | undefined): boolean {
  return flow !== undefined || task?.code !== undefined || task?.child !== undefined
}

/** One execution of a task. */
interface TaskSample {
  readonly calls: readonly PricedCall[]
  /** False if it kicked off runs whose usage is not known. */
  readonly counted: boolean
}

function asNewCall({ model, usage, own }: ModelCalls): PricedCall {
  return { model, usage, own }
}

function executedTasks(plan: readonly PlannedTask[]): string[] {
  return plan.filter((planned) => planned.action === 'execute').map((planned) => planned.task)
}

/** Returns the newest executions of each task. */
async function collectSamples(
  { store }: Engine,
  crew: CrewDefinition,
  tasks: readonly string[],
  loaded: RunState | undefined,
): Promise<Map<string, TaskSample[]>> {
  // by task, then by the origin of the output, so that an output inherited by several runs counts once
  const samples = new Map<string, Map<string, TaskSample>>(tasks.map((task) => [task, new Map()]))
  const { rows } = await store.list({ crew: crew.name }, { limit: maxRuns })
  for (const { run } of rows) {
    if ([...samples.values()].every((executions) => executions.size >= enoughSamples)) break
    // an unreadable or just deleted run must not prevent planning
    const state =
      loaded?.run === run
        ? loaded
        : await readRun(store, run).then(
            (read) => read.state,
            () => undefined,
          )
    if (!state) continue
    for (const [task, executions] of samples) {
      const made = state.tasks.get(task) ?? (crew.flow && sameStep(state, task))
      if (!made?.output || made.source === 'edited') continue
      const { usage, uncounted } = made.output
      if (usage.calls === 0 && !canDoWithoutModel(crew, declaredTask(crew, task))) continue
      const { incarnation, seq } = outputPlace(state, made)
      const origin = `${incarnation} ${seq}`
      if (executions.has(origin) ? made.from : executions.size >= enoughSamples) continue
      const inherited = usage.calls === 0 ? [] : [{ model: '', usage, own: true }]
      // only the run that produced the output knows the models of its calls
      executions.set(origin, {
        calls: made.from
          ? inherited
          : [made, ...itemsOf(state, made)].flatMap((one) => modelCalls(state, one)).map(asNewCall),
        counted: uncounted === undefined,
      })
    }
  }
  return new Map([...samples].map(([task, executions]) => [task, [...executions.values()]]))
}

/** Returns a step of a flow with the same name and another key. */
function sameStep({ tasks }: RunState, step: string): TaskState | undefined {
  const name = step.split('[', 1)[0]
  return [...tasks.values()].find((other) => other.name.split('[', 1)[0] === name && other.output)
}

/** Returns the median of each field, over the usages that report it. */
function medianUsage(usages: readonly Usage[]): Usage {
  const medianOf = (field: keyof Usage): number | undefined =>
    rounded(median(usages.flatMap((usage) => usage[field] ?? [])))
  const details = (['cacheRead', 'cacheWrite', 'reasoning'] as const).flatMap((field) => {
    const value = medianOf(field)
    return value === undefined ? [] : [[field, value] as const]
  })
  return {
    calls: medianOf('calls') ?? 0,
    input: medianOf('input') ?? 0,
    output: medianOf('output') ?? 0,
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
