// Estimates the usage and cost of executing a task: the medians over its newest executions. A task that was never
// executed has no estimate, which is not an estimate of zero; nor has a function that kicked off runs outside of its
// tree. Whether a function calls models is only known from its earlier executions.
import { defined } from '../../base/options.ts'
import type { Estimate, PlannedTask, Usage } from '../../journal/entries.ts'
import { itemsOf } from '../../journal/state/at-path.ts'
import { addUsage, noUsage, type RunState, type TaskState } from '../../journal/state/state.ts'
import { modelCalls, type ModelCalls } from '../../journal/state/spent.ts'
import { costOfCalls, type PricedCall } from '../../read/costs.ts'
import { addCost } from '../../models/cost.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../definition.ts'
import { groupName } from '../../journal/paths.ts'
import { outputPlace } from '../../read/incarnation.ts'
import { readRun } from '../../read/read-run.ts'
import { declaredTask, isItemOf } from '../run/for-each.ts'
import { childOfStep } from './plan-flow.ts'

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
      // the steps of a flow are not known before it runs
      const withModel = (call: PricedCall): PricedCall => (call.own && !crew.flow ? { ...call, model } : call)
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

/**
 * Like `withEstimates`, for a replay that begins within a step of a flow: the step takes what the tasks within it take
 * that are executed.
 */
export async function withEstimatesWithin(
  engine: Engine,
  crew: CrewDefinition,
  plan: readonly PlannedTask[],
  within: ReadonlyMap<string, readonly string[]>,
  loaded?: RunState,
): Promise<PlannedTask[]> {
  const partsOf = (planned: PlannedTask): readonly PlannedTask[] =>
    within.get(planned.task)?.map((task) => ({ ...planned, task })) ?? [planned]
  const estimated = await withEstimates(engine, crew, plan.flatMap(partsOf), loaded)
  const byTask = new Map(estimated.map((planned) => [planned.task, planned]))
  return plan.map((planned) => {
    const parts = within.get(planned.task)?.flatMap((task) => byTask.get(task) ?? [])
    if (!parts) return byTask.get(planned.task) as PlannedTask
    if (parts.some(({ uncounted }) => uncounted)) return { ...planned, uncounted: true }
    const known = parts.flatMap(({ estimate }) => estimate ?? [])
    if (known.length < parts.length) return planned
    const cost = known.reduce((sum: number | undefined, one) => addCost(sum, one.cost), 0)
    const usage = known.map((one) => one.usage).reduce(addUsage, noUsage)
    const samples = Math.min(...known.map((one) => one.samples))
    return { ...planned, estimate: { usage, ...defined({ cost }), samples } }
  })
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
      for (const { state: made, task: one } of await executionsIn(store, crew, state, task)) {
        if (!one.output || one.source === 'edited') continue
        const { usage, uncounted } = one.output
        if (usage.calls === 0 && !canDoWithoutModel(crew, declaredTask(crew, task))) continue
        const { incarnation, seq } = outputPlace(made, one)
        const origin = `${incarnation} ${seq}`
        if (executions.has(origin) ? one.from : executions.size >= enoughSamples) continue
        const inherited = usage.calls === 0 ? [] : [{ model: '', usage, own: true }]
        // only the run that produced the output knows the models of its calls
        executions.set(origin, {
          calls: one.from
            ? inherited
            : [one, ...itemsOf(made, one)].flatMap((part) => modelCalls(made, part)).map(asNewCall),
          counted: uncounted === undefined,
        })
      }
    }
  }
  return new Map([...samples].map(([task, executions]) => [task, [...executions.values()]]))
}

/** The executions of a task in a run. Of a flow: of the step, or of its other keys; or of a task within them. */
async function executionsIn(
  store: Engine['store'],
  { flow }: { readonly flow?: unknown },
  state: RunState,
  task: string,
): Promise<{ readonly state: RunState; readonly task: TaskState }[]> {
  const [first = '', ...within] = flow ? task.split('/') : [task]
  const own = state.tasks.get(first)
  const found = own ? [own] : flow ? sameSteps(state, first) : []
  if (within.length === 0) return found.map((one) => ({ state, task: one }))
  const children = await Promise.all(found.map(({ name }) => childOfStep(store, state, name)))
  const inner = children.map(async (child) => (child ? executionsIn(store, child, child, within.join('/')) : []))
  return (await Promise.all(inner)).flat()
}

/** The steps of a flow with the same name and other keys, as many as an estimate needs. */
function sameSteps({ tasks }: RunState, step: string): TaskState[] {
  const done = [...tasks.values()].filter(({ name, output }) => output && groupName(name) === groupName(step))
  return done.slice(0, enoughSamples)
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
