// Plans: what a call would do with each task, why, and at what estimated cost.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { isItemOf } from '../../engine/run/for-each.ts'
import { nextWords, type NextStep } from '../../base/next.ts'
import { describeTaskChanges, describeOrphan, suggestDecision, suggestNames } from '../../journal/describe.ts'
import type { OrphanedTask, PlannedTask, TaskListChanges, Usage } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { addUsage, noUsage } from '../../journal/state/state.ts'
import { joinKeys, namesByGroup } from '../../journal/paths.ts'
import { dollars, someNames } from '../../text/words.ts'
import { addCost } from '../../models/cost.ts'

export interface Plan {
  readonly of: 'fork' | 'resume' | 'kickoff'
  /** The run to fork or resume. */
  readonly runId: string | undefined
  readonly inputs: Inputs
  /** Tasks in crew order. */
  readonly tasks: readonly PlannedTask[]
  /** Names of the tasks to execute, including those whose execution may turn out unnecessary. */
  readonly execute: readonly string[]
  /** Estimated usage of the tasks in `execute`. */
  readonly estimate: PlanEstimate
  /** Differences between the tasks of the crew and the run. */
  readonly changes: TaskListChanges | undefined
  /**
   * Recorded work that the crew has no task for. A resume is refused as long as there is any; a fork does not use it.
   */
  readonly orphaned: readonly OrphanedTask[]
  readonly warnings: readonly string[]
  /** A plan of a flow: further steps may follow, which are found while the run is executed. */
  readonly open: boolean
  /** Returns the plan as a readable table. */
  toString(): string
}

/** Decides whether a call may execute its plan. */
export type OnPlan = (plan: Plan) => boolean | Promise<boolean>

/** Undefined means unknown, not zero. */
export interface PlanEstimate {
  readonly usage: Usage | undefined
  readonly cost: number | undefined
  /** Tasks without an estimate: they never completed before, or started child runs that are not counted. */
  readonly unknown: readonly string[]
}

interface PlanParts {
  readonly of: Plan['of']
  readonly runId: string | undefined
  readonly inputs: Inputs
  readonly tasks: readonly PlannedTask[]
  /** The run stops after this task. */
  readonly through: string | undefined
  readonly changes?: TaskListChanges | undefined
  readonly orphaned?: readonly OrphanedTask[] | undefined
  readonly open?: boolean | undefined
  readonly warnings: readonly string[]
}

export function toPlan(crew: CrewDefinition, parts: PlanParts): Plan {
  const { of, runId, inputs, tasks, through, changes, orphaned = [], open = false, warnings } = parts
  const names = tasks.map((planned) => planned.task)
  // the items of a task follow it
  const isLast = (name: string): boolean => name === through || isItemOf({ name: through ?? '' }, name)
  // a flow may request the step later
  const isUnknown = through === undefined || (crew.flow !== undefined && !names.some(isLast))
  const end = isUnknown ? names.length : names.findLastIndex(isLast) + 1
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
    open,
  }
  Object.defineProperty(plan, 'toString', { value: () => planText(plan) })
  Object.defineProperty(plan, Symbol.for('nodejs.util.inspect.custom'), { value: () => planText(plan) })
  return plan
}

function unnamedTasks(crew: CrewDefinition): string[] {
  return crew.tasks
    .filter((task) => !task.named)
    .map(({ name }) => `task ${name} has no name: its texts identify it, and its outputs are lost when they change`)
}

/**
 * Warns about function tasks without a version whose outputs are kept, or may be: Reprise would not notice that their
 * code changed.
 */
function functionsWithoutVersion(crew: CrewDefinition, tasks: readonly PlannedTask[]): string[] {
  const kept = new Set(tasks.flatMap(({ task, action, unless }) => (action === 'inherit' || unless ? [task] : [])))
  const isKept = (task: TaskDefinition): boolean =>
    kept.has(task.name) || (task.forEach !== undefined && [...kept].some((name) => isItemOf(task, name)))
  const names = unversionedFunctions(crew.tasks.filter(isKept))
  if (names.length === 0) return []
  const what = names.length > 1 ? `tasks ${names.join(', ')} are functions` : `task ${names[0]} is a function`
  return [
    `${what} without a version: Reprise does not notice when the code changes; give a version, and change it with the code`,
  ]
}

/**
 * Returns names of function tasks, including those of nested crews: `research/facts` is task facts of crew research.
 */
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

/** One line of a plan. Each user interface indents and colours it. The line of a task starts with its action. */
export interface PlanLine {
  readonly type: 'title' | 'task' | 'expected' | 'warning'
  readonly text: string
  readonly action?: PlannedTask['action']
}

const planText = (plan: Plan): string =>
  planLines(plan)
    .map(({ type, text }) => (type === 'task' ? `  ${text}` : text))
    .join('\n')

/** Returns the lines of a plan. `advice` puts a next step into words. */
export function planLines(
  { of, runId, tasks, execute, estimate, changes, orphaned, open, warnings }: Plan,
  advice: (next: NextStep) => string = nextWords,
): PlanLine[] {
  const what = open ? 'recorded steps' : 'tasks'
  const count =
    execute.length === 0
      ? open
        ? 'what follows is'
        : 'nothing is'
      : `${execute.length} of ${tasks.length} ${what}${open ? ', and what follows,' : ''} ${execute.length === 1 && !open ? 'is' : 'are'}`
  const executed = new Set(execute)
  const rows = joinKeys(
    tasks.map((planned) => {
      const expected = executed.has(planned.task) ? `; ${describeEstimate(planned)}` : ''
      const [why, ...more] = planned.reasons
      const reasons = [`${why}${describeUnless(planned)}`, ...more].join('; ')
      return { name: planned.task, action: planned.action, words: `${reasons}${expected}` }
    }),
    (row) => `${row.action} ${row.words}`,
  )
  const width = Math.max(...rows.map(({ label }) => label.length))
  const lines = rows.map(({ action, label, words }): PlanLine => {
    return { type: 'task', action, text: `${action.padEnd(7)}  ${label.padEnd(width)}  ${words}` }
  })
  return [
    { type: 'title', text: `${headlines[of]}${runId === undefined ? '' : ` ${runId}`}: ${count} executed` },
    ...lines,
    ...(execute.length > 0
      ? [{ type: 'expected', text: `Expected: ${describeExpected(estimate, tasks, open)}` } as const]
      : []),
    ...(changes ? [{ type: 'warning', text: `Tasks changed: ${describeTaskChanges(changes)}` } as const] : []),
    ...orphaned.map((orphan) => ({ type: 'warning', text: `Orphaned: ${describeOrphan(orphan)}` }) as const),
    ...(runId !== undefined && orphaned.length > 0
      ? [{ type: 'warning', text: describeOrphaned(of, runId, orphaned, advice) } as const]
      : []),
    ...warnings.map((warning) => ({ type: 'warning', text: `Warning: ${warning}` }) as const),
  ]
}

function describeOrphaned(
  of: Plan['of'],
  runId: string,
  orphaned: Plan['orphaned'],
  advice: (next: NextStep) => string,
): string {
  return of === 'resume'
    ? `The resume is refused until this is decided; ${advice(suggestDecision(runId, orphaned))}`
    : `The new run does not use this work; ${advice(suggestNames(orphaned))}`
}

function describeUnless({ unless = [] }: PlannedTask): string {
  if (unless.length === 0) return ''
  return ` (unless ${unless.join(' and ')} ${unless.length > 1 ? 'return' : 'returns'} the same as before)`
}

function describeEstimate({ estimate, uncounted }: PlannedTask): string {
  if (uncounted) return 'tokens and cost unknown, it started runs that are not counted'
  if (!estimate) return 'tokens and cost unknown, never completed before'
  const { usage, cost, samples } = estimate
  if (samples === 0) return 'no model calls'
  if (usage.calls === 0) return `no model calls before (median of ${samples})`
  return `about ${tokens(usage)} tokens, ${describeCost(cost)} (median of ${samples})`
}

function describeExpected(
  { usage, cost, unknown }: PlanEstimate,
  tasks: readonly PlannedTask[],
  open: boolean,
): string {
  const more = open ? ', and further steps, which are known only when the flow requests them' : ''
  if (!usage) return `unknown: ${describeUnknown(unknown, tasks)}${more}`
  if (usage.calls === 0) return `no model calls, as before${more}`
  return `about ${tokens(usage)} tokens, ${describeCost(cost)}${more}`
}

function describeUnknown(unknown: readonly string[], tasks: readonly PlannedTask[]): string {
  const uncounted = unknown.filter((name) =>
    tasks.some(({ task, uncounted: isUncounted }) => task === name && isUncounted),
  )
  const never = unknown.filter((name) => !uncounted.includes(name))
  return [
    ...(never.length > 0
      ? [`${someNames(namesByGroup(never))} ${never.length > 1 ? 'were' : 'was'} never completed before`]
      : []),
    ...(uncounted.length > 0 ? [`${someNames(namesByGroup(uncounted))} started runs that are not counted`] : []),
  ].join('; ')
}

function describeCost(cost: number | undefined): string {
  return cost === undefined ? 'cost unknown' : dollars(cost)
}

function tokens({ input, output }: Usage): string {
  return (input + output).toLocaleString('en')
}
