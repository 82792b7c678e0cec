// The plan of a new run that is made from an old one: for each task, inherit its stored output, execute it, or put a
// person's value in its place; and why. Outputs are found by the task's name, never by its position. Which of them are
// executed:
// - `from` and everything after it, or, with `only: 'descendants'`, just what depends on it;
// - what depends on a person's value, and what has no output that could be inherited;
// - what is stale, if the policy says so; else it is kept and reported, or the whole plan is refused.
// A task that is executed only because of another one is offered its old output, which it keeps if the other's turns
// out equal.
import { defined } from '../../base/defined.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Fingerprint, NewEntry, OnceCall, PlannedTask, StoredOutput } from '../../journal/entries.ts'
import { taskFailures } from '../../journal/state/failures.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { isMissing } from '../../journal/state/tally.ts'
import { conditionChange, type FieldChanges } from '../run/condition.ts'
import type { CrewDefinition, Inputs, Outputs, TaskDefinition } from '../definition.ts'
import { conversationFor } from '../model/conversation.ts'
import { namesWords } from '../../text/words.ts'
import { positionsIn, waitsFor } from '../run/waits-for.ts'
import { callsToInherit, toOnceCall } from '../calls/once.ts'
import { outputPlace } from '../read/incarnation.ts'
import { outputChange, schemaMismatch } from './stale-tasks.ts'

/** What happens to restored outputs that were made from other inputs, texts or code. */
export const stalePolicies = ['keep', 'rerun', 'refuse'] as const
export type StalePolicy = (typeof stalePolicies)[number]

/** What of its parent a new run tries again. */
export const retryPolicies = ['failed'] as const
export type RetryPolicy = (typeof retryPolicies)[number]

/** What a new run does with the `once` calls of its parent: use their results, make them again, or ask a person. */
export const effectsPolicies = ['reuse', 'again', 'ask'] as const
export type EffectsPolicy = (typeof effectsPolicies)[number]

export interface ForkRequest {
  readonly inputs: Inputs
  readonly stale: StalePolicy
  readonly from?: TaskDefinition | undefined
  /** Execute what failed or was skipped for that, and what depends on it. */
  readonly retry?: RetryPolicy | undefined
  readonly only?: 'descendants' | undefined
  /** By task: what a person puts in place of its output. */
  readonly outputs?: ReadonlyMap<string, ReplacementOutput> | undefined
  readonly effects?: EffectsPolicy | undefined
}

export interface ReplacementOutput {
  readonly raw: string
  readonly structured: boolean
  readonly by?: string
}

export interface ForkPlan {
  readonly tasks: readonly PlannedTask[]
  /** The entries after `run.created`: everything that the new run needs from the old one. */
  readonly entries: readonly NewEntry[]
}

/** OUTPUT_STALE when the policy is to refuse; OPTION_INVALID when there is nothing to retry. Nothing is written. */
export async function planFork(crew: CrewDefinition, parent: RunState, request: ForkRequest): Promise<ForkPlan> {
  if (request.retry && ![...parent.tasks.values()].some((task) => hasFailed(parent, task))) throw nothingToRetry(parent)
  const missing = new Set<string>()
  const scene: ForkContext = {
    crew,
    parent,
    request,
    outputs: Object.assign(new Map<string, PlannedOutput>(), { lacks: (name: string) => missing.has(name) }),
    missing,
    open: new Set(),
    unknown: new Set(),
    touched: new Set(),
    places: new Map(),
  }
  const tasks: PlannedTask[] = []
  const entries: NewEntry[] = []
  const stale: Pick<PlannedTask, 'task' | 'reasons'>[] = []
  for (const task of crew.tasks) {
    const { planned, entry, stale: reasons = [] } = await planTask(scene, task)
    tasks.push(planned)
    if (entry) entries.push(entry)
    // the first entry is `run.created`
    const text = entryOutput(entry)
    if (text !== undefined) scene.places.set(text, entries.length + 1)
    if (reasons.length > 0) stale.push({ task: task.name, reasons })
  }
  if (request.stale === 'refuse' && stale.length > 0) throw staleRefusedError(parent, stale)
  return { tasks, entries }
}

/** The calls that the parent made or inherited, which the new run must know about before it makes another. */
export function inheritedCalls(parent: RunState): OnceCall[] {
  return callsToInherit(parent).map(toOnceCall)
}

interface ForkContext {
  readonly crew: CrewDefinition
  readonly parent: RunState
  readonly request: ForkRequest
  /** What each task planned so far will give; for one that is executed, what it gave before. */
  readonly outputs: Map<string, PlannedOutput> & Outputs
  /** Tasks that gave nothing since one failed, which is assumed to happen again. */
  readonly missing: Set<string>
  /** Tasks that are executed, so their output may change. */
  readonly open: Set<string>
  /** Those of them without even a known earlier output. */
  readonly unknown: Set<string>
  /** Those that the caller's request affects: what depends on one is not kept when it is stale. */
  readonly touched: Set<string>
  /** For each text of an output that the new run begins with: the entry that holds it. */
  readonly places: Map<string, number>
}

type PlannedOutput = Pick<StoredOutput, 'raw' | 'structured' | 'within'>

interface TaskPlan {
  readonly planned: PlannedTask
  readonly entry?: NewEntry | undefined
  /** Why it is stale, although it is inherited. */
  readonly stale?: readonly string[]
}

async function planTask(scene: ForkContext, task: TaskDefinition): Promise<TaskPlan> {
  const { parent, request, outputs, touched } = scene
  const given = request.outputs?.get(task.name)
  if (given) {
    outputs.set(task.name, given)
    touched.add(task.name)
    const planned = { task: task.name, action: 'edit', reasons: ['its output is given'] } as const
    return { planned, entry: { type: 'task.edited', path: task.name, ...given } }
  }
  const forced = whyForced(scene, task)
  if (forced !== undefined) {
    touched.add(task.name)
    return planExecution(scene, task, [forced])
  }
  const stored = parent.tasks.get(task.name)
  if (request.retry && stored && (hasFailed(parent, stored) || stored.failed)) {
    touched.add(task.name)
    return planExecution(scene, task, [whyMissing(stored, parent.run)])
  }
  const output = stored?.status === 'completed' ? stored.output : undefined
  if (stored?.status === 'skipped' && !stored.failed && task.when && request.stale !== 'rerun') {
    const seen = certainChanges(
      scene,
      stored.condition,
      conditionChange(scene.crew, task, stored, request.inputs, outputs),
    )
    if (!conditionMayChange(scene, task, seen)) return inheritSkip(scene, task, stored, seen)
  }
  if (!stored || !output) return planExecution(scene, task, [whyMissing(stored, parent.run)])
  const unfit = await schemaMismatch(task, output)
  if (unfit !== undefined) return planExecution(scene, task, [unfit])
  return inheritOrExecute(scene, task, stored, output)
}

function inheritOrExecute(scene: ForkContext, task: TaskDefinition, stored: TaskState, output: StoredOutput): TaskPlan {
  const { request, outputs, open, touched } = scene
  const made = certainChanges(scene, output.fingerprint, outputChange(output, task, request.inputs, outputs))
  const seen = certainChanges(
    scene,
    stored.condition,
    conditionChange(scene.crew, task, stored, request.inputs, outputs),
  )
  const from = outputPlace(scene.parent, stored)
  const reached = task.context.some((name) => touched.has(name))
  const upstream = output.fingerprint ? task.context.filter((name) => open.has(name)) : []
  const conversation = conversationFor(scene.parent, stored, scene.places)
  const inherited = { path: task.name, from, output, ...defined({ conversation }) }
  const offer: NewEntry = { type: 'task.offered', ...inherited }
  if ((request.stale === 'rerun' || reached) && made.fields.length > 0) {
    touched.add(task.name)
    return planExecution(scene, task, made.reasons, { fields: made.fields })
  }
  if (request.stale !== 'keep' || reached) {
    if (upstream.length > 0) {
      touched.add(task.name)
      const why = `it depends on ${namesWords(upstream)}, which ${upstream.length > 1 ? 'are' : 'is'} executed`
      return planExecution(scene, task, [why], { unless: upstream }, offer)
    }
  }
  if (task.when && conditionMayChange(scene, task, seen) && output.fingerprint) {
    touched.add(task.name)
    const unless = namesBefore(scene.crew, task).filter((name) => open.has(name))
    const why = ['its condition is asked again, and its output kept if it holds', ...seen.reasons]
    return planExecution(scene, task, why, { ...withFields(seen), unless }, offer)
  }
  outputs.set(task.name, output)
  const reasons = [...made.reasons, ...seen.reasons]
  const there =
    from.incarnation === scene.parent.incarnation
      ? 'its output is there'
      : `its output is there, made by run ${from.run}`
  const maybe = upstream.map((name) => `${name} is executed and may come out different`)
  const kept = reasons.map((reason) => `stale: ${reason}`)
  return {
    planned: {
      task: task.name,
      action: 'inherit',
      reasons: [there, ...kept, ...maybe],
      ...withFields({ fields: [...made.fields, ...seen.fields] }),
    },
    entry: {
      type: 'task.inherited',
      ...inherited,
      ...storedCondition(stored),
      ...(kept.length > 0 ? { stale: reasons } : {}),
    },
    stale: reasons,
  }
}

/**
 * What has changed whatever the tasks executed before it give; one without a known output is assumed to give the same.
 */
function certainChanges(
  { unknown }: ForkContext,
  before: Fingerprint = {},
  { fields, reasons }: FieldChanges,
): FieldChanges {
  const certain = fields.map((field) => {
    const [, given, name] = /^(?:condition )?(context:(.*))$/s.exec(field) ?? []
    return given === undefined || name === undefined || !unknown.has(name) || !(given in before)
  })
  return { fields: fields.filter((_, at) => certain[at]), reasons: reasons.filter((_, at) => certain[at]) }
}

/** A condition sees every output that is certain to be there, including those that the task is not given. */
function conditionMayChange(
  { crew, request, open, touched }: ForkContext,
  task: TaskDefinition,
  change: FieldChanges,
): boolean {
  const seen = namesBefore(crew, task)
  // where stale outputs are kept, so is what a condition decided, unless the caller's request affects it
  if (request.stale === 'keep') return seen.some((name) => touched.has(name))
  return change.fields.length > 0 || seen.some((name) => open.has(name) || touched.has(name))
}

function namesBefore(crew: CrewDefinition, task: TaskDefinition): string[] {
  return waitsFor(crew, task).map(({ name }) => name)
}

function withFields({ fields }: Pick<FieldChanges, 'fields'>): Pick<PlannedTask, 'fields'> {
  return fields.length > 0 ? { fields } : {}
}

function storedCondition({ condition }: TaskState): { readonly condition?: Fingerprint } {
  return condition ? { condition } : {}
}

function planExecution(
  scene: ForkContext,
  task: TaskDefinition,
  why: readonly string[],
  more: Pick<PlannedTask, 'fields' | 'unless'> = {},
  entry?: NewEntry,
): TaskPlan {
  const { outputs, missing, open, unknown, parent } = scene
  const before = parent.tasks.get(task.name)
  const reasons = [...why, ...onceReasons(scene, task, before)]
  // a task that was skipped gave nothing, and is assumed to do so again
  if (before && isMissing(before)) missing.add(task.name)
  else if (before?.status !== 'skipped') outputs.set(task.name, before?.output ?? { raw: '', structured: false })
  if (!before?.output) unknown.add(task.name)
  open.add(task.name)
  return { planned: { task: task.name, action: 'execute', reasons, ...more }, entry }
}

/** What happens to a function that must not be called twice and was called in the old run. */
function onceReasons(
  { parent, request, outputs, open }: ForkContext,
  task: TaskDefinition,
  before?: TaskState,
): string[] {
  const { effects = 'reuse', inputs } = request
  if (task.code?.effect !== 'once' || effects === 'again') return []
  const calls = callsToInherit(parent).filter((call) => call.task === task.name)
  if (calls.length === 0) return []
  const isSame = before?.output && outputChange(before.output, task, inputs, outputs).fields.length === 0
  if (effects === 'ask' || !isSame || !calls.some(hasResult))
    return ['its function is once and was called before, so a person is asked first']
  const recorded = 'its function is once, so its recorded result is returned without a call'
  return [task.context.some((name) => open.has(name)) ? `${recorded}, if it is given the same` : recorded]
}

function hasResult({ outcome }: OnceCall): boolean {
  return typeof outcome === 'object' && 'result' in outcome
}

function inheritSkip(
  { parent }: ForkContext,
  { name }: TaskDefinition,
  stored: TaskState,
  seen: FieldChanges,
): TaskPlan {
  const reason = `it was skipped in run ${parent.run}`
  const reasons = [reason, ...seen.reasons.map((one) => `stale: ${one}`)]
  return {
    planned: { task: name, action: 'inherit', reasons, ...withFields(seen) },
    entry: { type: 'task.skipped', path: name, reason, ...storedCondition(stored) },
  }
}

function entryOutput(entry: NewEntry | undefined): string | undefined {
  if (entry?.type === 'task.edited') return entry.raw
  return entry?.type === 'task.inherited' || entry?.type === 'task.offered' ? entry.output?.raw : undefined
}

function whyForced({ crew, request: { from, only } }: ForkContext, task: TaskDefinition): string | undefined {
  if (!from) return undefined
  if (task === from) return 'the new run starts here'
  const positions = positionsIn(crew)
  const after = (positions.get(task.name) ?? 0) > (positions.get(from.name) ?? 0)
  return after && only === undefined ? `it comes after ${from.name}` : undefined
}

/** A model call that failed leaves its task as it was. */
function hasFailed({ error }: RunState, { name, status }: TaskState): boolean {
  return status === 'failed' || error?.task === name
}

function nothingToRetry(parent: RunState): RepriseError {
  const runId = parent.run
  const [nested, ...more] = taskFailures(parent).map(({ task }) => task)
  if (nested === undefined) {
    const words = `no task of run ${runId} failed, so there is nothing to retry; leave out retry`
    return new RepriseError('OPTION_INVALID', words, { runId })
  }
  const words = `in run ${runId} only ${namesWords([nested, ...more])} failed, within a nested crew whose output is kept`
  const next = { act: 'replay', runId, task: nested.slice(0, nested.indexOf('/')) } as const
  return new RepriseError('OPTION_INVALID', words, { runId, next })
}

function whyMissing(stored: TaskState | undefined, run: string): string {
  if (!stored) return `run ${run} has no such task`
  switch (stored.status) {
    case 'failed':
      return `it failed in run ${run}`
    case 'running':
      return `run ${run} did not finish it`
    case 'skipped':
      return stored.failed
        ? `it was skipped in run ${run}, since ${namesWords(stored.failed)} failed`
        : `it was skipped in run ${run}, which is decided again`
    default:
      return `run ${run} has no output of it`
  }
}

function staleRefusedError({ run }: RunState, stale: readonly Pick<PlannedTask, 'task' | 'reasons'>[]): RepriseError {
  const what = stale.map(({ task, reasons }) => `${task} (${reasons.join('; ')})`).join(', ')
  const words = `outputs of run ${run} were made from something else: ${what}; nothing was executed`
  return new RepriseError('OUTPUT_STALE', words, {
    runId: run,
    task: stale[0]?.task,
    next: { act: 'refresh', runId: run },
  })
}
