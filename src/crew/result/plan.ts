// A plan as callers see it: what a call would do with each task and why, and what that may take.
import type { CrewDefinition, Inputs } from '../../engine/definition.ts'
import { changeWords, orphanWords } from '../../journal/state/change-words.ts'
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
  const reached = tasks.map((planned, index) => (index < end ? planned : notReached(planned, through)))
  const executed = reached.slice(0, end).filter((planned) => planned.action === 'execute')
  const plan = {
    of,
    runId,
    inputs: plainInputs(inputs),
    tasks: reached,
    execute: executed.map((planned) => planned.task),
    estimate: sumOf(executed),
    changes,
    orphaned,
    warnings: [...warnings, ...unnamed(crew), ...unseen(crew, reached)],
  }
  Object.defineProperty(plan, 'toString', { value: () => planText(plan) })
  Object.defineProperty(plan, Symbol.for('nodejs.util.inspect.custom'), { value: () => planText(plan) })
  return plan
}

function unnamed(crew: CrewDefinition): string[] {
  return crew.tasks
    .filter((task) => !task.named)
    .map(
      ({ name }) =>
        `task ${name} has no name: it is known by its texts, and its outputs are lost to it when they change`,
    )
}

/** Functions whose outputs are kept, or may be, although nobody can tell whether they still do the same. */
function unseen(crew: CrewDefinition, tasks: readonly PlannedTask[]): string[] {
  const kept = new Set(tasks.flatMap(({ task, action, unless }) => (action === 'inherit' || unless ? [task] : [])))
  const names = unversioned(crew.tasks.filter((task) => kept.has(task.name)))
  if (names.length === 0) return []
  const what = names.length > 1 ? `tasks ${names.join(', ')} are functions` : `task ${names[0]} is a function`
  return [
    `${what} without a version: a change of the code is not noticed; give a version, and another one whenever the code changes`,
  ]
}

/** `research/facts` is the task facts of the crew that the task research is. */
function unversioned(tasks: CrewDefinition['tasks']): string[] {
  return tasks.flatMap(({ name, code, child }) => {
    if (child) return unversioned(child.crew.tasks).map((inner) => `${name}/${inner}`)
    return code && !code.versioned ? [name] : []
  })
}

function notReached(planned: PlannedTask, through: string | undefined): PlannedTask {
  if (planned.action !== 'execute') return planned
  return { ...planned, reasons: [...planned.reasons, `but the run stops after ${through}`] }
}

function sumOf(executed: readonly PlannedTask[]): PlanEstimate {
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
  readonly is: 'title' | 'task' | 'expected' | 'warning'
  readonly text: string
  readonly action?: PlannedTask['action']
}

const planText = (plan: Plan): string =>
  planLines(plan)
    .map(({ is, text }) => (is === 'task' ? `  ${text}` : text))
    .join('\n')

export function planLines({ of, runId, tasks, execute, estimate, changes, orphaned, warnings }: Plan): PlanLine[] {
  const count =
    execute.length === 0
      ? 'nothing is'
      : `${execute.length} of ${tasks.length} tasks ${execute.length === 1 ? 'is' : 'are'}`
  const width = Math.max(...tasks.map((planned) => planned.task.length))
  const lines = tasks.map((planned): PlanLine => {
    const { action, task } = planned
    const expected = execute.includes(planned.task) ? `; ${estimateWords(planned)}` : ''
    const [why, ...more] = planned.reasons
    const reasons = [`${why}${unlessWords(planned)}`, ...more].join('; ')
    return { is: 'task', action, text: `${action.padEnd(7)}  ${task.padEnd(width)}  ${reasons}${expected}` }
  })
  return [
    { is: 'title', text: `${headlines[of]}${runId === undefined ? '' : ` ${runId}`}: ${count} executed` },
    ...lines,
    ...(execute.length > 0 ? [{ is: 'expected', text: `Expected: ${expectedWords(estimate, tasks)}` } as const] : []),
    ...(changes ? [{ is: 'warning', text: `Tasks changed: ${changeWords(changes)}` } as const] : []),
    ...orphaned.map((orphan) => ({ is: 'warning', text: `Orphaned: ${orphanWords(orphan)}; ${fates[of]}` }) as const),
    ...warnings.map((warning) => ({ is: 'warning', text: `Warning: ${warning}` }) as const),
  ]
}

const fates = {
  resume: 'the resume is refused until renamed or removed says what becomes of it',
  fork: 'the new run does not use it, unless renamed says that it is another task now',
  kickoff: '',
}

function unlessWords({ unless = [] }: PlannedTask): string {
  if (unless.length === 0) return ''
  return ` (unless ${unless.join(' and ')} ${unless.length > 1 ? 'give' : 'gives'} the same as before)`
}

function estimateWords({ estimate, uncounted }: PlannedTask): string {
  if (uncounted) return 'tokens and cost unknown, it began runs that are not counted'
  if (!estimate) return 'tokens and cost unknown, never completed before'
  const { usage, cost, samples } = estimate
  if (usage.calls === 0) return `no model calls before (median of ${samples})`
  return `about ${tokens(usage)} tokens, ${costWords(cost)} (median of ${samples})`
}

function expectedWords({ usage, cost, unknown }: PlanEstimate, tasks: readonly PlannedTask[]): string {
  if (!usage) return `unknown: ${unknownWords(unknown, tasks)}`
  if (usage.calls === 0) return 'no model calls, as before'
  return `about ${tokens(usage)} tokens, ${costWords(cost)}`
}

function unknownWords(unknown: readonly string[], tasks: readonly PlannedTask[]): string {
  const uncounted = unknown.filter((name) => tasks.some(({ task, uncounted: not }) => task === name && not))
  const never = unknown.filter((name) => !uncounted.includes(name))
  return [
    ...(never.length > 0 ? [`${never.join(', ')} ${never.length > 1 ? 'were' : 'was'} never completed before`] : []),
    ...(uncounted.length > 0 ? [`${uncounted.join(', ')} began runs that are not counted`] : []),
  ].join('; ')
}

function costWords(cost: number | undefined): string {
  return cost === undefined ? 'cost unknown' : dollars(cost)
}

function tokens({ input, output }: Usage): string {
  return (input + output).toLocaleString('en')
}
