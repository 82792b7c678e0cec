// A plan as callers see it: what a call would do with each task and why, and what that may take.
import type { CrewDefinition, Inputs } from '../../engine/definition.ts'
import { describeTaskChanges, describeOrphan } from '../../journal/state/describe-task-changes.ts'
import type { OrphanedTask, PlannedTask, TaskListChanges, Usage } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { addUsage, noUsage } from '../../journal/state/state.ts'
import { dollars } from '../../text/words.ts'
import { addCost } from '../../models/cost.ts'

export interface Plan {
  readonly of: 'fork' | 'resume' | 'kickoff'
  /** The run that the new one is made from, or that is resumed. */
  readonly runId: string | undefined
  readonly inputs: Inputs
  /** In the order of the crew. */
  readonly tasks: readonly PlannedTask[]
  /** The names of those that are executed, also of those that may turn out not to be. */
  readonly execute: readonly string[]
  /** What executing all of these may take. */
  readonly estimate: PlanEstimate
  /** How the tasks of the crew differ from those of the run. */
  readonly changes: TaskListChanges | undefined
  /** Recorded work that the crew has no task for. A run that has some is not resumed; a new run doesn't use it. */
  readonly orphaned: readonly OrphanedTask[]
  readonly warnings: readonly string[]
  /** A table for people. */
  toString(): string
}

/** Is shown what a call is about to do, and says whether it may. */
export type OnPlan = (plan: Plan) => boolean | Promise<boolean>

/** Undefined means unknown, which is not nothing. */
export interface PlanEstimate {
  readonly usage: Usage | undefined
  readonly cost: number | undefined
  /** Tasks that were never completed before, and those that began runs which are not counted. */
  readonly unknown: readonly string[]
}

export interface PlanParts {
  readonly of: Plan['of']
  readonly runId: string | undefined
  readonly inputs: Inputs
  readonly tasks: readonly PlannedTask[]
  /** The run stops after this task. */
  readonly through: string | undefined
  readonly changes?: TaskListChanges | undefined
  readonly orphaned?: readonly OrphanedTask[] | undefined
  readonly warnings: readonly string[]
}

export function toPlan(crew: CrewDefinition, parts: PlanParts): Plan {
  const { of, runId, inputs, tasks, through, changes, orphaned = [], warnings } = parts
  const names = tasks.map((planned) => planned.task)
  const end = through === undefined ? names.length : names.indexOf(through) + 1
  const reached = tasks.map((planned, index) => (index < end ? planned : markNotReached(planned, through)))
  const executed = reached.slice(0, end).filter((planned) => planned.action === 'execute')
  const plan = {
    of,
    runId,
    inputs: plainInputs(inputs),
    tasks: reached,
    execute: executed.map((planned) => planned.task),
    estimate: sumEstimates(executed),
    changes,
    orphaned,
    warnings: [...warnings, ...unnamedTasks(crew), ...functionsWithoutVersion(crew, reached)],
  }
  Object.defineProperty(plan, 'toString', { value: () => planText(plan) })
  Object.defineProperty(plan, Symbol.for('nodejs.util.inspect.custom'), { value: () => planText(plan) })
  return plan
}

function unnamedTasks(crew: CrewDefinition): string[] {
  return crew.tasks
    .filter((task) => !task.named)
    .map(
      ({ name }) =>
        `task ${name} has no name: it is known by its texts, and its outputs are lost to it when they change`,
    )
}

/** Functions whose outputs are kept, or may be, although nobody can tell whether they still do the same. */
function functionsWithoutVersion(crew: CrewDefinition, tasks: readonly PlannedTask[]): string[] {
  const kept = new Set(tasks.flatMap(({ task, action, unless }) => (action === 'inherit' || unless ? [task] : [])))
  const names = unversionedFunctions(crew.tasks.filter((task) => kept.has(task.name)))
  if (names.length === 0) return []
  const what = names.length > 1 ? `tasks ${names.join(', ')} are functions` : `task ${names[0]} is a function`
  return [
    `${what} without a version: a change of the code is not noticed; give a version, and another one whenever the code changes`,
  ]
}

/** `research/facts` is the task facts of the crew that the task research is. */
function unversionedFunctions(tasks: CrewDefinition['tasks']): string[] {
  return tasks.flatMap(({ name, code, child }) => {
    if (child) return unversionedFunctions(child.crew.tasks).map((inner) => `${name}/${inner}`)
    return code && !code.versioned ? [name] : []
  })
}

function markNotReached(planned: PlannedTask, through: string | undefined): PlannedTask {
  if (planned.action !== 'execute') return planned
  return { ...planned, reasons: [...planned.reasons, `but the run stops after ${through}`] }
}

function sumEstimates(executed: readonly PlannedTask[]): PlanEstimate {
  const unknown = executed.filter((planned) => !planned.estimate).map((planned) => planned.task)
  const estimates = executed.flatMap((planned) => planned.estimate ?? [])
  const known = unknown.length === 0
  return {
    usage: known ? estimates.reduce((sum, { usage }) => addUsage(sum, usage), noUsage) : undefined,
    cost: known ? estimates.reduce((sum: number | undefined, { cost }) => addCost(sum, cost), 0) : undefined,
    unknown,
  }
}

const headlines = { fork: 'A new run from run', resume: 'A resume of run', kickoff: 'A new run' }

/** A line for people; each surface colours it in its own way. The text of a task's line begins with its action. */
export interface PlanLine {
  readonly type: 'title' | 'task' | 'expected' | 'warning'
  readonly text: string
  readonly action?: PlannedTask['action']
}

const planText = (plan: Plan): string =>
  planLines(plan)
    .map(({ type, text }) => (type === 'task' ? `  ${text}` : text))
    .join('\n')

export function planLines({ of, runId, tasks, execute, estimate, changes, orphaned, warnings }: Plan): PlanLine[] {
  const count =
    execute.length === 0
      ? 'nothing is'
      : `${execute.length} of ${tasks.length} tasks ${execute.length === 1 ? 'is' : 'are'}`
  const width = Math.max(...tasks.map((planned) => planned.task.length))
  const lines = tasks.map((planned): PlanLine => {
    const { action, task } = planned
    const expected = execute.includes(planned.task) ? `; ${describeEstimate(planned)}` : ''
    const [why, ...more] = planned.reasons
    const reasons = [`${why}${describeUnless(planned)}`, ...more].join('; ')
    return { type: 'task', action, text: `${action.padEnd(7)}  ${task.padEnd(width)}  ${reasons}${expected}` }
  })
  return [
    { type: 'title', text: `${headlines[of]}${runId === undefined ? '' : ` ${runId}`}: ${count} executed` },
    ...lines,
    ...(execute.length > 0
      ? [{ type: 'expected', text: `Expected: ${describeExpected(estimate, tasks)}` } as const]
      : []),
    ...(changes ? [{ type: 'warning', text: `Tasks changed: ${describeTaskChanges(changes)}` } as const] : []),
    ...orphaned.map(
      (orphan) => ({ type: 'warning', text: `Orphaned: ${describeOrphan(orphan)}; ${orphanNotes[of]}` }) as const,
    ),
    ...warnings.map((warning) => ({ type: 'warning', text: `Warning: ${warning}` }) as const),
  ]
}

const orphanNotes = {
  resume: 'the resume is refused until renamed or removed says what becomes of it',
  fork: 'the new run does not use it, unless renamed says that it is another task now',
  kickoff: '',
}

function describeUnless({ unless = [] }: PlannedTask): string {
  if (unless.length === 0) return ''
  return ` (unless ${unless.join(' and ')} ${unless.length > 1 ? 'give' : 'gives'} the same as before)`
}

function describeEstimate({ estimate, uncounted }: PlannedTask): string {
  if (uncounted) return 'tokens and cost unknown, it began runs that are not counted'
  if (!estimate) return 'tokens and cost unknown, never completed before'
  const { usage, cost, samples } = estimate
  if (usage.calls === 0) return `no model calls before (median of ${samples})`
  return `about ${tokens(usage)} tokens, ${describeCost(cost)} (median of ${samples})`
}

function describeExpected({ usage, cost, unknown }: PlanEstimate, tasks: readonly PlannedTask[]): string {
  if (!usage) return `unknown: ${describeUnknown(unknown, tasks)}`
  if (usage.calls === 0) return 'no model calls, as before'
  return `about ${tokens(usage)} tokens, ${describeCost(cost)}`
}

function describeUnknown(unknown: readonly string[], tasks: readonly PlannedTask[]): string {
  const uncounted = unknown.filter((name) => tasks.some(({ task, uncounted: not }) => task === name && not))
  const never = unknown.filter((name) => !uncounted.includes(name))
  return [
    ...(never.length > 0 ? [`${never.join(', ')} ${never.length > 1 ? 'were' : 'was'} never completed before`] : []),
    ...(uncounted.length > 0 ? [`${uncounted.join(', ')} began runs that are not counted`] : []),
  ].join('; ')
}

function describeCost(cost: number | undefined): string {
  return cost === undefined ? 'cost unknown' : dollars(cost)
}

function tokens({ input, output }: Usage): string {
  return (input + output).toLocaleString('en')
}
