// Plans forks of flows, whose steps are not declared. A fork from a step on, or with retried or edited steps, is
// planned from the record alone: what was requested after these steps is executed or offered. For any other fork, the
// function is called without executing a step, and a recorded result is inherited if nothing that it depends on has
// changed. What follows the first step to execute is known only when the run gets there.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import type { NewEntry, OutputPlace, PlannedTask } from '../../journal/entries.ts'
import { noUsage, type RunState, type TaskState } from '../../journal/state/state.ts'
import { digest } from '../../journal/hash.ts'
import { throughJson } from '../../journal/json.ts'
import { outputPlace } from '../../read/incarnation.ts'
import type { Store } from '../../stores/store.ts'
import type { CrewDefinition, Engine, FlowDefinition, Inputs, World } from '../definition.ts'
import { isSettled } from '../../journal/state/steps.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { questionOf } from '../flow/wait.ts'
import type { StepCall } from '../flow/pass.ts'
import { dryPass, type DryPass } from './dry-pass.ts'
import { planFork, type ForkPlan, type ForkRequest } from './plan-fork.ts'

export interface FlowPlan extends ForkPlan {
  /** Why the plan is unreliable: the function throws, or waits for something that is not a step. */
  readonly warnings: readonly string[]
  /** Further steps may follow, which are found while the run is executed. */
  readonly open: boolean
  /** The new run would equal its parent. */
  readonly isUnchanged: boolean
  /** For a replay from a task within a step: the tasks that are executed within it, such as `chapter[3]/write`. */
  readonly within: ReadonlyMap<string, readonly string[]>
}

type Action = 'inherit' | 'offer' | 'execute' | 'edit' | 'drop'

/** What becomes of a recorded step, and why. */
interface StepPlan {
  readonly action: Action
  readonly reasons: readonly string[]
}

/** Plans a fork. Rejects with TASK_NOT_FOUND if the run has no such step, or with OPTION_INVALID. */
export async function planFlowFork(
  { store, world }: Pick<Engine, 'store' | 'world'>,
  crew: CrewDefinition,
  flow: FlowDefinition,
  parent: RunState,
  request: ForkRequest,
): Promise<FlowPlan> {
  const byRecord = planByRecord(parent, request)
  const address = request.from && addressWithin(request.from.name)
  if (request.from && address) await checkWithin(store, parent, request.from.name)
  const inner =
    address && (await executedWithin({ store, world }, crew, flow, { ...parent, inputs: request.inputs }, address))
  const inputs = { ...parent, inputs: request.inputs }
  using dry = byRecord ? undefined : await dryPass(world, crew, flow, inputs, { compared: 'all' })
  const steps = byRecord ?? planByPass(dry as DryPass)
  const entries: NewEntry[] = []
  const tasks: PlannedTask[] = []
  /** Maps the place of a result in the parent to its place in the new run. */
  const places = new Map<number, number>([[0, 0]])
  const recorded = [...(dry?.state ?? parent).tasks.values()].toSorted((a, b) => placeOf(a) - placeOf(b))
  for (const step of recorded) {
    const { action, reasons } = steps.get(step.name) ?? { action: 'drop', reasons: [] }
    if (action === 'drop') continue
    const planned =
      action === 'offer'
        ? ({ task: step.name, action: 'execute', reasons: [...reasons, 'kept if its input comes out equal'] } as const)
        : { task: step.name, action, reasons }
    const replacement = request.outputs?.get(step.name)
    if (action === 'edit' && replacement) entries.push({ type: 'task.edited', path: step.name, ...replacement })
    else if (action === 'inherit' || action === 'offer') entries.push(entryFor(parent, step, action, places))
    tasks.push(planned)
    // the first entry is `run.created`
    if (action === 'inherit' || action === 'edit') places.set(placeOf(step), entries.length + 1)
  }
  for (const call of dry?.added ?? []) tasks.push(newStep(call, `run ${parent.run} has no record of it`))
  const isUnchanged = dry !== undefined && endsAs(parent, dry) && tasks.every(({ action }) => action === 'inherit')
  const within = new Map(address && inner ? [[address.step, inner]] : [])
  return { tasks, entries, open: !dry?.ended, isUnchanged, within, warnings: dry?.warnings ?? [] }
}

/** Splits `chapter[3]/write` into the step and the task within its child run. Undefined for a step alone. */
export function addressWithin(from: string): { readonly step: string; readonly task: string } | undefined {
  const slash = from.indexOf('/')
  return slash < 0 ? undefined : { step: from.slice(0, slash), task: from.slice(slash + 1) }
}

/** Plans the child run of a step, which begins at a task within it. `parent`: the recorded child run. */
export async function planChildFork(
  engine: Pick<Engine, 'store' | 'world'>,
  crew: CrewDefinition,
  parent: RunState,
  { inputs, from }: { readonly inputs: Inputs; readonly from: string },
): Promise<ForkPlan & Partial<Pick<FlowPlan, 'within'>>> {
  const request = { inputs, stale: 'keep', from: { name: from } } as const
  return crew.flow ? planFlowFork(engine, crew, crew.flow, parent, request) : planFork(crew, parent, request)
}

/** The tasks that a replay executes within a step. Undefined if today's function doesn't request such a child run. */
async function executedWithin(
  engine: Pick<Engine, 'store' | 'world'>,
  crew: CrewDefinition,
  flow: FlowDefinition,
  parent: RunState,
  { step, task }: { readonly step: string; readonly task: string },
): Promise<readonly string[] | undefined> {
  using pass = await dryPass(engine.world, crew, flow, parent, { compared: 'kind', stopAt: step })
  const { work } = pass.calls.get(step) ?? {}
  const child = work && 'child' in work ? work.child : undefined
  const recorded = child && (await childOfStep(engine.store, pass.state, step))
  if (!recorded) return undefined
  const inputs = child.known(parent.inputs) ?? recorded.inputs
  const { tasks, within } = await planChildFork(engine, child.crew, recorded, { inputs, from: task })
  const executed = tasks.filter(({ action }) => action === 'execute')
  return executed.flatMap(({ task: name }) => (within?.get(name) ?? [name]).map((inner) => `${step}/${inner}`))
}

/** Whether the function ends today as it did in the completed run. */
function endsAs({ status, value, next }: RunState, { ended }: DryPass): boolean {
  if (status !== 'completed' || !ended || 'error' in ended) return false
  if ('again' in ended) return next !== undefined
  const json = ended.value === undefined ? undefined : throughJson(ended.value, '')
  return json === undefined
    ? value === undefined
    : json.ok && value !== undefined && digest(json.value) === digest(value)
}

function placeOf({ settled }: TaskState): number {
  return settled?.place ?? Infinity
}

/** The entry by which the new run gets a recorded step. `after` is translated to the places of the new run. */
function entryFor(
  parent: RunState,
  step: TaskState,
  action: 'inherit' | 'offer',
  places: ReadonlyMap<number, number>,
): NewEntry {
  const { name: path, output, error, timedOut, status } = step
  const from: OutputPlace = step.seq === undefined ? placeOfFailure(parent, step) : outputPlace(parent, step)
  const after = places.get(step.after ?? 0) ?? 0
  if (status === 'skipped') return { type: 'task.skipped', path, reason: `it was skipped in run ${parent.run}` }
  if (!output) {
    const fingerprint = fingerprintOf(parent, step)
    return { type: 'task.inherited', path, from, after, ...defined({ error, fingerprint }) }
  }
  if (action === 'offer') return { type: 'task.offered', path, from, output }
  return { type: 'task.inherited', path, from, output, after, ...(timedOut ? { timedOut } : {}) }
}

function placeOfFailure({ run, incarnation }: RunState, { from, settled }: TaskState): OutputPlace {
  return from ?? { run, incarnation, seq: settled?.place ?? 1 }
}

function fingerprintOf({ attempts }: RunState, step: TaskState): TaskState['fingerprint'] {
  return attempts.get(step.attempts.at(-1) ?? '')?.fingerprint ?? step.fingerprint
}

/** Plans from the record: which steps were requested after which results. Undefined if today's code decides. */
function planByRecord(
  parent: RunState,
  { from, only, retry, outputs }: ForkRequest,
): Map<string, StepPlan> | undefined {
  const starts = new Map<string, StepPlan>()
  const steps = [...parent.tasks.values()]
  if (from) {
    const [first = '', ...rest] = from.name.split('/')
    const isWithin = rest.length > 0
    const named = isWithin ? (parent.tasks.has(first) ? [first] : []) : keysOf(parent, first)
    if (named.length === 0) throw unknownStep(parent, first)
    const why = isWithin ? `its child run starts at ${rest.join('/')}` : 'the new run starts here'
    for (const name of named) starts.set(name, { action: 'execute', reasons: [why] })
  }
  if (retry) {
    const failed = steps.filter(({ status }) => status === 'failed')
    if (failed.length === 0) {
      const words = `no step of run ${parent.run} failed, so there is nothing to retry; leave out retry`
      throw new RepriseError('OPTION_INVALID', words, { runId: parent.run })
    }
    for (const { name } of failed) starts.set(name, { action: 'execute', reasons: [`it failed in run ${parent.run}`] })
  }
  for (const name of outputs?.keys() ?? []) {
    if (addressWithin(name)) throw withinRefused(parent, name)
    if (!parent.tasks.has(name)) throw unknownStep(parent, name)
    starts.set(name, { action: 'edit', reasons: ['its output is given'] })
  }
  if (starts.size === 0) return undefined
  const first = steps.reduce(
    (least, step) => (starts.has(step.name) ? Math.min(least, placeOf(step)) : least),
    Infinity,
  )
  const executesAll = from !== undefined && only === undefined
  return new Map(
    steps.map((step): [string, StepPlan] => {
      const start = starts.get(step.name)
      if (start) return [step.name, start]
      if (!isSettled(step)) return [step.name, { action: 'execute', reasons: [`run ${parent.run} did not finish it`] }]
      if ((step.after ?? 0) < first) return [step.name, { action: 'inherit', reasons: ['its result is recorded'] }]
      const name = from?.name ?? [...starts.keys()].join(' and ')
      const reasons = [`it was requested after ${name}`]
      return [step.name, { action: !executesAll && canBeOffered(parent, step) ? 'offer' : 'execute', reasons }]
    }),
  )
}

/** The recorded steps that a name stands for: the step, and all of its keys. */
export function keysOf({ tasks }: RunState, step: string): string[] {
  return [...tasks.keys()].filter((name) => name === step || name.startsWith(`${step}[`))
}

/** Whether the result may be kept if the step is requested again: only if it declares what it depends on. */
function canBeOffered({ attempts }: RunState, { output, attempts: paths }: TaskState): boolean {
  const last = attempts.get(paths.at(-1) ?? '')
  return output?.fingerprint !== undefined && (last?.input !== undefined || last?.child !== undefined)
}

/** Rejects with TASK_NOT_FOUND if the recorded child run of a step has no such task: `chapter[3]/write`. */
async function checkWithin(store: Store, parent: RunState, address: string): Promise<void> {
  const [step = '', ...rest] = address.split('/')
  const child = await childOfStep(store, parent, step)
  if (!child) {
    const { from } = parent.tasks.get(step) ?? {}
    const where = from ? ` any more: run ${from.run}, which executed it, is gone` : ''
    throw new RepriseError('TASK_NOT_FOUND', `step ${step} of run ${parent.run} has no child run${where}`, {
      runId: parent.run,
    })
  }
  if (!child.tasks.has(rest[0] ?? '')) throw unknownStep(child, rest[0] ?? '')
  if (rest.length > 1) await checkWithin(store, child, rest.join('/'))
}

/** Reads the newest child run of a step. For an inherited step, looks in the run that executed it. */
export async function childOfStep(store: Store, state: RunState, step: string): Promise<RunState | undefined> {
  const { attempts = [], from } = state.tasks.get(step) ?? {}
  if (attempts.length === 0 && from) {
    const executor = await readStateIfExists(store, from.run)
    return executor?.incarnation === from.incarnation ? childOfStep(store, executor, step) : undefined
  }
  const children = attempts.flatMap((path) => state.attempts.get(path)?.child ?? [])
  return readStateIfExists(store, children.at(-1) ?? '')
}

function unknownStep({ run, tasks }: RunState, name: string): RepriseError {
  const known = [...tasks.keys()]
  const shown = known.length > 20 ? `${known.slice(0, 20).join(', ')} and ${known.length - 20} more` : known.join(', ')
  const words = `run ${run} has no step ${name}; it has ${known.length === 0 ? 'none' : shown}`
  return new RepriseError('TASK_NOT_FOUND', words, { runId: run })
}

/** A fork takes the outputs of its own steps: those of a child run belong to that run. */
function withinRefused({ run }: RunState, address: string): RepriseError {
  const { step = '', task = '' } = addressWithin(address) ?? {}
  const words = `${address} is a task within step ${step}, whose output a fork does not replace; give the output of ${step}, or start a replay from ${address} and edit ${task} in its child run with run.edit('${address}', output)`
  return new RepriseError('OPTION_INVALID', words, { runId: run })
}

/** Plans by what the function requests today. */
function planByPass({ state, fresh, stale, ended }: DryPass): Map<string, StepPlan> {
  return new Map(
    [...state.tasks.values()].map((step): [string, StepPlan] => {
      const { name } = step
      const reasons = stale.get(name)
      if (reasons) return [name, { action: 'execute', reasons }]
      if (fresh.has(name)) return [name, { action: 'inherit', reasons: ['its result is recorded'] }]
      if (ended || !isSettled(step)) return [name, { action: 'drop', reasons: [] }]
      const why = ['whether it is requested again is known when the steps before it are done']
      return [name, { action: canBeOffered(state, step) ? 'offer' : 'execute', reasons: why }]
    }),
  )
}

/** Plans a kickoff or a resume of a flow: the steps up to the first that have no result. */
export async function planFlowRun(
  world: World,
  crew: CrewDefinition,
  flow: FlowDefinition,
  state: RunState,
): Promise<Pick<FlowPlan, 'tasks' | 'open' | 'warnings'>> {
  const tasks = new Map(state.tasks)
  for (const name of state.failedSteps ?? []) {
    const failed = tasks.get(name)
    if (failed) tasks.set(name, { ...failed, status: 'pending' })
  }
  using dry = await dryPass(world, crew, flow, { ...state, tasks }, { compared: 'inputs' })
  const { fresh, stale, added, ended, warnings } = dry
  const kept = [...fresh].map((task): PlannedTask => ({ task, action: 'inherit', reasons: ['already recorded'] }))
  const again = [...stale].map(([task, reasons]): PlannedTask => ({ task, action: 'execute', reasons }))
  const next = added.map((call) => newStep(call, whyNext(state, call)))
  return { tasks: [...kept, ...again, ...next], open: !ended, warnings }
}

/** A wait takes nothing but time. */
function newStep({ name: task, work }: StepCall, why: string): PlannedTask {
  const planned = { task, action: 'execute', reasons: [why] } as const
  return 'wait' in work ? { ...planned, estimate: { usage: noUsage, cost: 0, samples: 0 } } : planned
}

function whyNext(state: RunState, { name }: StepCall): string {
  const step = state.tasks.get(name)
  if (!step) return state.lives === 0 ? 'the run is new' : 'not reached yet'
  if (step.error) return `it failed: ${step.error.message}`
  if (step.wait === undefined) return 'it continues'
  if (step.wait !== 'question') return `it waits for ${step.wait === 'sleep' ? 'a time' : 'an event'}`
  const isAnswered = questionOf(state, step.attempts.at(-1) ?? '')?.answer !== undefined
  return isAnswered ? 'it was answered' : 'it waits for an answer'
}
