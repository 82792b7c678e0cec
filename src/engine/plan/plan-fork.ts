// Plans a fork: for each task, whether the new run inherits its stored output, executes it, or takes a person's value
// instead, and why. Outputs are found by the task's name, never by its position. `planTask` has the rules as a table.
// If a task is to be executed only because another task is, its old output becomes an offer: the task inherits it after
// all if the other task's new output comes out equal. Planning writes nothing.
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Fingerprint, NewEntry, OnceCall, PlannedTask, StoredOutput } from '../../journal/entries.ts'
import { taskFailures, isMissing } from '../../journal/state/tally.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { conditionChange, type FieldChanges } from '../run/task-context.ts'
import type { CrewDefinition, Inputs, Outputs, TaskDefinition } from '../definition.ts'
import { conversationFor } from '../../read/conversation.ts'
import { namesWords } from '../../text/words.ts'
import { isItemOf, isListTask } from '../run/for-each.ts'
import { waitsFor } from '../run/task-scheduler.ts'
import { callsToInherit, toOnceCall } from '../calls/once.ts'
import { outputPlace } from '../../read/incarnation.ts'
import { dependenciesOf, planList, positionOf, type TaskPlan } from './plan-items.ts'
import { outputChange, schemaMismatch } from './inheritance.ts'

/** What to do with stale outputs, which were made from other inputs, texts or code. */
export const stalePolicies = ['keep', 'rerun', 'refuse'] as const
export type StalePolicy = (typeof stalePolicies)[number]

/** What a fork tries again. */
export const retryPolicies = ['failed'] as const
export type RetryPolicy = (typeof retryPolicies)[number]

/** What a fork does about the `once` calls of its parent: use their results, make them again, or ask a person. */
export const effectsPolicies = ['reuse', 'again', 'ask'] as const
export type EffectsPolicy = (typeof effectsPolicies)[number]

export interface ForkRequest {
  readonly inputs: Inputs
  readonly stale: StalePolicy
  readonly from?: Pick<TaskDefinition, 'name' | 'of'> | undefined
  /** Execute failed tasks, tasks skipped because of them, and their dependents. */
  readonly retry?: RetryPolicy | undefined
  readonly only?: 'descendants' | undefined
  /** Values from a person that replace outputs, by task. */
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
  /** The entries after `run.created`: everything that the new run needs from its parent. */
  readonly entries: readonly NewEntry[]
}

/**
 * Plans a fork. Rejects with OUTPUT_STALE if an output is stale and `stale` is `refuse`, or with OPTION_INVALID if
 * there is nothing to retry.
 */
export async function planFork(crew: CrewDefinition, parent: RunState, request: ForkRequest): Promise<ForkPlan> {
  if (request.retry && ![...parent.tasks.values()].some((task) => hasFailed(parent, task))) throw nothingToRetry(parent)
  const missing = new Set<string>()
  const fork: ForkContext = {
    crew,
    parent,
    request,
    outputs: Object.assign(new Map<string, PlannedOutput>(), {
      lacks: (name: string) => missing.has(name),
      lackedItems: (name: string) => [...missing].filter((item) => isItemOf({ name }, item)),
    }),
    missing,
    executed: new Set(),
    unknown: new Set(),
    touched: new Set(),
    seqByText: new Map(),
  }
  const tasks: PlannedTask[] = []
  const entries: NewEntry[] = []
  const stale: Pick<PlannedTask, 'task' | 'reasons'>[] = []
  for await (const { planned, entry, stale: reasons = [] } of planTasks(fork)) {
    tasks.push(planned)
    if (entry) entries.push(entry)
    // the first entry is `run.created`
    const text = entryOutput(entry)
    if (text !== undefined) fork.seqByText.set(text, entries.length + 1)
    if (reasons.length > 0) stale.push({ task: planned.task, reasons })
  }
  if (request.stale === 'refuse' && stale.length > 0) throw staleRefusedError(parent, stale)
  return { tasks, entries }
}

async function* planTasks(fork: ForkContext): AsyncGenerator<TaskPlan> {
  const { crew, parent, request, touched } = fork
  for (const task of crew.tasks) {
    if (!isListTask(task)) yield await planTask(fork, task)
    else
      yield* await planList(parent, task, {
        plan: (one) => planTask(fork, one),
        planExecution(list, why) {
          touched.add(list.name)
          return planExecution(fork, list, [why])
        },
        isForced: (list) => forcedReason(fork, list) !== undefined,
        isGiven: ({ name }) => request.outputs?.has(name) === true,
      })
  }
}

/** Returns the calls that the parent made or inherited. The new run must know them before it makes a call. */
export function inheritedCalls(parent: RunState): OnceCall[] {
  return callsToInherit(parent).map(toOnceCall)
}

interface ForkContext {
  readonly crew: CrewDefinition
  readonly parent: RunState
  readonly request: ForkRequest
  /** The expected outputs of the tasks planned so far; for a task to execute, its earlier output. */
  readonly outputs: Map<string, PlannedOutput> & Outputs
  /** Tasks without an output because of a failure. The plan assumes that they fail again. */
  readonly missing: Set<string>
  /** Tasks to execute: their output may change. */
  readonly executed: Set<string>
  /** Tasks to execute that have no earlier output. */
  readonly unknown: Set<string>
  /** Tasks that the caller's request affects. Stale outputs of their dependents are never kept. */
  readonly touched: Set<string>
  /** The entries of the new run that hold outputs, by the text of the output. */
  readonly seqByText: Map<string, number>
}

type PlannedOutput = Pick<StoredOutput, 'raw' | 'structured' | 'within'>

/**
 * Plans one task, in the order of the crew. The first row that applies counts:
 *
 * | the task                                                                  | action             |
 * | ------------------------------------------------------------------------- | ------------------ |
 * | has a value from a person                                                 | edit               |
 * | is `from`, or comes after it and `only` is not given                      | execute            |
 * | failed or was skipped because of a failure, with `retry`                  | execute            |
 * | was skipped by a condition that cannot come out different (1)             | inherit the skip   |
 * | has no output, or an output that its schema now refuses                   | execute            |
 * | is stale, with `stale: 'rerun'` or a touched dependency (2)               | execute            |
 * | depends on an executed task, unless `stale: 'keep'` and none is touched   | execute, offer old |
 * | has a condition that may come out different                               | execute, offer old |
 * | otherwise; staleness is reported, and refused with `stale: 'refuse'`      | inherit            |
 *
 * (1) With `stale: 'rerun'`, conditions are always evaluated again.
 * (2) Rows 1 to 3 and 6 to 8 mark the task as touched: by the caller's request, or by a certain or possible change in
 * what it depends on.
 */
async function planTask(fork: ForkContext, task: TaskDefinition): Promise<TaskPlan> {
  const { parent, request, outputs, touched } = fork
  const replacement = request.outputs?.get(task.name)
  if (replacement) {
    outputs.set(task.name, replacement)
    touched.add(task.name)
    const planned = { task: task.name, action: 'edit', reasons: ['its output is given'] } as const
    return { planned, entry: { type: 'task.edited', path: task.name, ...replacement } }
  }
  const forced = forcedReason(fork, task)
  if (forced !== undefined) {
    touched.add(task.name)
    return planExecution(fork, task, [forced])
  }
  const stored = parent.tasks.get(task.name)
  if (request.retry && stored && (hasFailed(parent, stored) || stored.failed)) {
    touched.add(task.name)
    return planExecution(fork, task, [missingReason(stored, parent.run)])
  }
  const output = stored?.status === 'completed' ? stored.output : undefined
  if (stored?.status === 'skipped' && !stored.failed && task.when && request.stale !== 'rerun') {
    const change = conditionChange(fork.crew, task, stored, request.inputs, outputs)
    const changes = certainChanges(fork, stored.condition, change)
    if (!conditionMayChange(fork, task, changes)) return inheritSkip(fork, task, stored, changes)
  }
  if (!stored || !output) return planExecution(fork, task, [missingReason(stored, parent.run)])
  const mismatch = await schemaMismatch(task, output)
  if (mismatch !== undefined) return planExecution(fork, task, [mismatch])
  return inheritOrExecute(fork, task, stored, output)
}

/** The last four rows of the table above. */
function inheritOrExecute(fork: ForkContext, task: TaskDefinition, stored: TaskState, output: StoredOutput): TaskPlan {
  const { request, outputs, executed, touched } = fork
  const made = certainChanges(fork, output.fingerprint, outputChange(output, task, request.inputs, outputs))
  const decided = certainChanges(
    fork,
    stored.condition,
    conditionChange(fork.crew, task, stored, request.inputs, outputs),
  )
  const from = outputPlace(fork.parent, stored)
  const dependencies = dependenciesOf(fork.crew, task)
  const dependsOnTouched = dependencies.some((name) => touched.has(name))
  const upstream = output.fingerprint ? dependencies.filter((name) => executed.has(name)) : []
  const conversation = conversationFor(fork.parent, stored, fork.seqByText)
  const inherited = { path: task.name, from, output, ...defined({ conversation }) }
  const offer: NewEntry = { type: 'task.offered', ...inherited }
  if ((request.stale === 'rerun' || dependsOnTouched) && made.fields.length > 0) {
    touched.add(task.name)
    return planExecution(fork, task, made.reasons, { fields: made.fields })
  }
  if (request.stale !== 'keep' || dependsOnTouched) {
    if (upstream.length > 0) {
      touched.add(task.name)
      const why = `it depends on ${namesWords(upstream)}, which ${upstream.length > 1 ? 'are' : 'is'} executed`
      return planExecution(fork, task, [why], { unless: upstream }, offer)
    }
  }
  if (task.when && conditionMayChange(fork, task, decided) && output.fingerprint) {
    touched.add(task.name)
    const unless = namesBefore(fork.crew, task).filter((name) => executed.has(name))
    const why = ['its condition is evaluated again, and its output is kept if it holds', ...decided.reasons]
    return planExecution(fork, task, why, { ...withFields(decided), unless }, offer)
  }
  outputs.set(task.name, output)
  const reasons = [...made.reasons, ...decided.reasons]
  const origin =
    from.incarnation === fork.parent.incarnation
      ? 'its output is recorded'
      : `its output is recorded, from run ${from.run}`
  const maybe = upstream.map((name) => `${name} is executed and may come out different`)
  const kept = reasons.map((reason) => `stale: ${reason}`)
  return {
    planned: {
      task: task.name,
      action: 'inherit',
      reasons: [origin, ...kept, ...maybe],
      ...withFields({ fields: [...made.fields, ...decided.fields] }),
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

/** Leaves out changes of outputs that are not known yet: the plan assumes that these outputs will be equal. */
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

/** Whether a condition may come out different. It sees all earlier outputs, even those outside the task's context. */
function conditionMayChange(
  { crew, request, executed, touched }: ForkContext,
  task: TaskDefinition,
  change: FieldChanges,
): boolean {
  const visible = namesBefore(crew, task)
  // `keep` also keeps the decisions of conditions, unless the caller's request affects them
  if (request.stale === 'keep') return visible.some((name) => touched.has(name))
  return change.fields.length > 0 || visible.some((name) => executed.has(name) || touched.has(name))
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
  fork: ForkContext,
  task: TaskDefinition,
  why: readonly string[],
  more: Pick<PlannedTask, 'fields' | 'unless'> = {},
  entry?: NewEntry,
): TaskPlan {
  const { outputs, missing, executed, unknown, parent } = fork
  const before = parent.tasks.get(task.name)
  const reasons = [...why, ...onceReasons(fork, task, before)]
  // a skipped task is assumed to be skipped again
  if (before && isMissing(before)) missing.add(task.name)
  else if (before?.status !== 'skipped') outputs.set(task.name, before?.output ?? { raw: '', structured: false })
  if (!before?.output) unknown.add(task.name)
  executed.add(task.name)
  return { planned: { task: task.name, action: 'execute', reasons, ...more }, entry }
}

/** Returns what happens to a `once` function that the parent has called, as a reason in the plan. */
function onceReasons(
  { parent, request, outputs, executed }: ForkContext,
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
  return [task.context.some((name) => executed.has(name)) ? `${recorded}, if its context comes out equal` : recorded]
}

function hasResult({ outcome }: OnceCall): boolean {
  return typeof outcome === 'object' && 'result' in outcome
}

function inheritSkip(
  { parent }: ForkContext,
  { name }: TaskDefinition,
  stored: TaskState,
  changes: FieldChanges,
): TaskPlan {
  const reason = `it was skipped in run ${parent.run}`
  const reasons = [reason, ...changes.reasons.map((one) => `stale: ${one}`)]
  return {
    planned: { task: name, action: 'inherit', reasons, ...withFields(changes) },
    entry: { type: 'task.skipped', path: name, reason, ...storedCondition(stored) },
  }
}

function entryOutput(entry: NewEntry | undefined): string | undefined {
  if (entry?.type === 'task.edited') return entry.raw
  return entry?.type === 'task.inherited' || entry?.type === 'task.offered' ? entry.output?.raw : undefined
}

function forcedReason({ crew, request: { from, only } }: ForkContext, task: TaskDefinition): string | undefined {
  if (!from) return undefined
  if (task.name === from.name) return 'the new run starts here'
  const after = positionOf(crew, task) > positionOf(crew, from)
  return after && only === undefined ? `it comes after ${from.name}` : undefined
}

/** Whether a task failed. Its status doesn't show that if its failed model call ended the run. */
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
  const next = { type: 'replay', runId, task: nested.slice(0, nested.indexOf('/')) } as const
  return new RepriseError('OPTION_INVALID', words, { runId, next })
}

function missingReason(stored: TaskState | undefined, run: string): string {
  if (!stored) return `run ${run} has no such task`
  switch (stored.status) {
    case 'failed':
      return `it failed in run ${run}`
    case 'running':
      return `run ${run} did not finish it`
    case 'skipped':
      return stored.failed
        ? `it was skipped in run ${run}, since ${namesWords(stored.failed)} failed`
        : `it was skipped in run ${run}, and its condition is evaluated again`
    default:
      return `run ${run} has no output of it`
  }
}

function staleRefusedError({ run }: RunState, stale: readonly Pick<PlannedTask, 'task' | 'reasons'>[]): RepriseError {
  const what = stale.map(({ task, reasons }) => `${task} (${reasons.join('; ')})`).join(', ')
  const words = `outputs of run ${run} are stale: ${what}; nothing was executed`
  return new RepriseError('OUTPUT_STALE', words, {
    runId: run,
    task: stale[0]?.task,
    next: { type: 'refresh', runId: run },
  })
}
