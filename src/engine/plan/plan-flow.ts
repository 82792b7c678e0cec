// Plans forks of flows, whose steps are not declared. A fork from a step on, or with retried or edited steps, is
// planned from the record alone: what was requested after these steps is executed or offered. For any other fork, the
// function is called without executing a step, and a recorded result is inherited if nothing that it depends on has
// changed. What follows the first step to execute is known only when the run gets there.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import type { NewEntry, OutputPlace, PlannedTask } from '../../journal/entries.ts'
import { renameTasks, withTaskChanges } from '../../journal/state/change-tasks.ts'
import { noUsage, type RunState, type TaskState } from '../../journal/state/state.ts'
import { digest } from '../../journal/hash.ts'
import { throughJson } from '../../journal/json.ts'
import { outputPlace } from '../../read/incarnation.ts'
import { redact } from '../../secrets/redact.ts'
import type { Store } from '../../stores/store.ts'
import { createNotifier } from '../../base/notifier.ts'
import type { CrewDefinition, Engine, FlowDefinition, World } from '../definition.ts'
import { isSettled } from '../../journal/state/steps.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { questionOf } from '../flow/wait.ts'
import { Misfit, oldName, startPass, stepError, type PassEnd, type StepCall } from '../flow/pass.ts'
import type { ForkPlan, ForkRequest } from './plan-fork.ts'

export interface FlowPlan extends ForkPlan {
  /** Why the plan is unreliable: the function throws, or waits for something that is not a step. */
  readonly warnings: readonly string[]
  /** Further steps may follow, which are found while the run is executed. */
  readonly open: boolean
  /** The new run would equal its parent. */
  readonly isUnchanged: boolean
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
  if (request.from?.name.includes('/')) await checkWithin(store, parent, request.from.name)
  const dry = byRecord ? undefined : await dryPass(world, crew, flow, { ...parent, inputs: request.inputs }, 'all')
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
  return { tasks, entries, open: !dry?.ended, isUnchanged, warnings: dry?.warnings ?? [] }
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
    const named = steps.filter(({ name }) => name === first || (!isWithin && name.startsWith(`${first}[`)))
    if (named.length === 0) throw unknownStep(parent, first)
    const why = isWithin ? `its child run starts at ${rest.join('/')}` : 'the new run starts here'
    for (const { name } of named) starts.set(name, { action: 'execute', reasons: [why] })
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
  const { fresh, stale, added, ended, warnings } = await dryPass(world, crew, flow, { ...state, tasks }, 'inputs')
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

/** What the function of a flow requests if nothing is executed. */
interface DryPass {
  /** The recorded state, in which renamed steps have their new names. */
  readonly state: RunState
  /** Recorded steps whose result the function received. */
  readonly fresh: ReadonlySet<string>
  /** Recorded steps that are executed again, and why. */
  readonly stale: ReadonlyMap<string, readonly string[]>
  /** Requested steps without a result. */
  readonly added: readonly StepCall[]
  /** How the function ended, if it did. */
  readonly ended: PassEnd | undefined
  readonly warnings: readonly string[]
}

/** The function may wait this long for something that is not a step. */
const dryLimitMs = 5_000

/** Calls the function with the recorded results. Writes nothing, and executes no step. */
async function dryPass(
  world: World,
  crew: CrewDefinition,
  flow: FlowDefinition,
  recorded: RunState,
  compared: 'inputs' | 'all',
): Promise<DryPass> {
  // a copy: steps are renamed in it
  const state = withTaskChanges(recorded, {})
  const stop = new AbortController()
  const waker = createNotifier()
  const pass = startPass({ state, crew, signal: stop.signal, waker }, flow)
  const fresh = new Set<string>()
  const stale = new Map<string, readonly string[]>()
  const added: StepCall[] = []
  const until = world.monotonic() + dryLimitMs
  try {
    for (;;) {
      await world.turn()
      for (const call of pass.requested.splice(0)) {
        const old = oldName(state, pass, call)
        if (old !== undefined) renameTasks(state, { [old]: call.name })
        const step = state.tasks.get(call.name)
        const reasons = step && pass.whyStale(call, step, compared)
        if (!step || !isSettled(step)) added.push(call)
        else if (reasons && reasons.length > 0) stale.set(call.name, reasons)
        else pass.settle(call)
      }
      const next = pass.next(new Map())
      if (next) {
        const step = state.tasks.get(next.name) as TaskState
        const { raw = '', structured = false } = step.output ?? {}
        try {
          const value = step.timedOut || step.status === 'failed' ? undefined : await next.read(raw, structured, step)
          pass.deliver(step)
          fresh.add(next.name)
          if (step.status === 'failed' && step.error) next.reject(stepError(state.run, next.name, step.error))
          else next.resolve(value)
        } catch (error) {
          if (!(error instanceof Misfit)) throw error
          stale.set(next.name, [`its result no longer fits its schema: ${error.message}`])
        }
        continue
      }
      if (pass.ended) break
      const isWaiting = stale.size + added.length > 0
      if (isWaiting || world.monotonic() > until) break
      await world.sleep(5, stop.signal)
    }
    const { ended } = pass
    const isWaiting = stale.size + added.length > 0
    const warnings = ended && 'error' in ended ? [`flow ${crew.name} fails: ${redact(messageOf(ended.error))}`] : []
    if (!ended && !isWaiting)
      warnings.push(`flow ${crew.name} waits for something that is not a step; what follows is unknown`)
    return { state, fresh, stale, added, ended, warnings }
  } finally {
    pass.drop()
    stop.abort(new Error('the plan is made'))
  }
}
