// A crew as data: generated from a seed, edited by another seed, and sent to the process that executes it.
import type { Random } from './random.ts'

export interface CrewPlan {
  readonly name: string
  readonly process: 'sequential' | 'parallel' | 'hierarchical'
  readonly tasks: readonly TaskPlan[]
}

export interface TaskPlan {
  readonly name: string
  readonly kind: 'agent' | 'code' | 'crew'
  /** Number of the variant of its text. */
  readonly text: number
  readonly version: number
  /** Inputs that its text uses. */
  readonly uses: readonly string[]
  /** Null: all earlier tasks. */
  readonly context: readonly string[] | null
  readonly condition: boolean
  readonly async: boolean
  /** Number of different answers. With one, the output stays the same whatever changes. */
  readonly answers: number
  readonly structured: boolean
  readonly file: boolean
  readonly callback: boolean
  readonly tools: readonly ToolPlan[]
  readonly guardrail: 'function' | 'sentence' | null
  readonly human: boolean
  readonly delegates: boolean
  /** The effect of a function task. */
  readonly effect: 'read' | 'idempotent' | 'once'
  readonly settles: boolean
  /** Whether the function throws while the stage is broken. */
  readonly fails: boolean
  /** The nested crew of a task. */
  readonly crew: CrewPlan | null
  readonly given: 'own' | 'fixed' | 'made'
}

export interface ToolPlan {
  readonly name: keyof typeof toolKinds
  /** Calls in one turn. */
  readonly times: number
  readonly version: number
}

export const toolKinds = {
  look: { effect: 'read' },
  put: { effect: 'idempotent' },
  pay: { effect: 'once' },
  send: { effect: 'once', approval: true },
  book: { effect: 'once', settles: true },
} as const

export const inputNames = ['in0', 'in1'] as const
const deepest = 3

export function crewPlan(random: Random, name = 'storm', depth = 0): CrewPlan {
  const process = random.chance(0.3) ? 'parallel' : random.chance(0.08) ? 'hierarchical' : 'sequential'
  const count = depth === 0 ? 2 + random.below(5) : 1 + random.below(3)
  const tasks: TaskPlan[] = []
  for (let at = 0; at < count; at++) tasks.push(taskPlan(random, { process, depth, count, tasks }))
  return { name, process, tasks }
}

interface Place {
  readonly process: CrewPlan['process']
  readonly depth: number
  readonly count: number
  readonly tasks: readonly TaskPlan[]
}

function taskPlan(random: Random, { process, depth, count, tasks: earlier }: Place): TaskPlan {
  const name = `t${earlier.length}`
  const last = earlier.length === count - 1
  const led = process === 'hierarchical'
  const kind = led
    ? 'agent'
    : depth < deepest - 1 && random.chance(0.3)
      ? 'crew'
      : random.chance(0.35)
        ? 'code'
        : 'agent'
  const names = Object.keys(toolKinds) as ToolPlan['name'][]
  return {
    name,
    kind,
    text: 0,
    version: 0,
    uses: random.some(inputNames),
    context: random.chance(0.4)
      ? null
      : random.some(
          earlier.map((task) => task.name),
          0.6,
        ),
    // the last task of a nested crew must have an output
    condition: earlier.length > 0 && !(last && depth > 0) && random.chance(0.25),
    async: process === 'sequential' && !last && random.chance(0.15),
    answers: random.pick([1, 2, 5]),
    structured: random.chance(0.3),
    file: kind !== 'crew' && random.chance(0.15),
    callback: random.chance(0.15),
    tools: led
      ? []
      : random.some(names, 0.3).map((tool) => ({ name: tool, times: random.chance(0.3) ? 2 : 1, version: 0 })),
    guardrail: random.chance(0.2) ? 'function' : random.chance(0.1) ? 'sentence' : null,
    human: random.chance(0.1),
    delegates: led || random.chance(0.12),
    effect: random.pick(['read', 'idempotent', 'once'] as const),
    settles: random.chance(0.3),
    fails: random.chance(0.2),
    crew: kind === 'crew' ? crewPlan(random, `within-${depth}-${name}`, depth + 1) : null,
    given: random.pick(['own', 'fixed', 'made'] as const),
  }
}

/** Changes one thing: a text, a version, a tool's version, a context, or such a thing in a nested crew. */
export function changedPlan(random: Random, plan: CrewPlan): CrewPlan {
  const at = random.below(plan.tasks.length)
  const tasks = plan.tasks.map((task, index) =>
    index === at ? changedTask(random, task, plan.tasks.slice(0, at)) : task,
  )
  return { ...plan, tasks }
}

function changedTask(random: Random, task: TaskPlan, earlier: readonly TaskPlan[]): TaskPlan {
  if (task.crew && random.chance(0.8)) return { ...task, crew: changedPlan(random, task.crew) }
  const changes: Partial<TaskPlan>[] = [
    { text: task.text + 1, version: task.version + 1 },
    { context: random.some(earlier.map(({ name }) => name)) },
    ...(task.tools.length > 0 ? [{ tools: task.tools.map((tool) => ({ ...tool, version: tool.version + 1 })) }] : []),
  ]
  return { ...task, ...random.pick(changes) }
}

/** The tasks of the crew and of all nested crews, by address: `t1/t0`. */
export function tasksIn(
  plan: CrewPlan,
  path = '',
): { readonly path: string; readonly task: TaskPlan; readonly crew: string }[] {
  return plan.tasks.flatMap((task) => [
    { path: `${path}${task.name}`, task, crew: plan.name },
    ...(task.crew ? tasksIn(task.crew, `${path}${task.name}/`) : []),
  ])
}

/**
 * Whether the tasks are sequential everywhere. Otherwise, timing decides what is done when another task fails.
 */
export function isOrdered(plan: CrewPlan): boolean {
  const ordered = ({ crew, async }: TaskPlan): boolean => !async && (crew === null || isOrdered(crew))
  return plan.process !== 'parallel' && plan.tasks.every(ordered)
}
