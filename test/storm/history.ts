// The steps of a history, each chosen by the results of the earlier ones.
import type { At, Step } from './act.ts'
import { changedPlan, inputNames, isOrdered, tasksIn, type CrewPlan, type TaskPlan } from './crew-plan.ts'
import type { Random } from './random.ts'

/** A step, with the code that executes it and the state of the stage. */
export interface Scene {
  readonly step: Step
  readonly plan: CrewPlan
  readonly outOfOrder: boolean
}

/** What is known of a run. */
export interface Known {
  readonly id: string
  readonly at: At
  readonly status: 'completed' | 'suspended' | 'failed' | 'cancelled'
  readonly inputs: { readonly [name: string]: string }
  /** Whether a person has edited an output, in this run or in an ancestor. */
  readonly edited: boolean
  /** The run that it was derived or imported from. */
  readonly parent?: string | undefined
  /** Length of the ledger when the run was created: it doesn't have what its ancestors did later. */
  readonly born: number
  /** Whether it repeats the calls of its ancestors. */
  readonly again: boolean
  /** Deleted, or exported and continued elsewhere. */
  readonly gone: boolean
}

/** Chooses the next step, or two that belong together. */
export function nextScenes(random: Random, plan: CrewPlan, runs: readonly Known[], number: number): Scene[] {
  const asks = random.pick(['live', 'later', 'later', 'doubts'] as const)
  const scene = (step: Step, changes: Partial<Scene> = {}): Scene => ({ plan, outOfOrder: false, ...changes, step })
  const here = runs.filter((run) => !run.gone)
  const unfinished = here.filter(({ status }) => status === 'suspended' || status === 'failed')
  const id = `r${number}`
  const kickoff = (): Scene[] => {
    const stops = random.chance(0.3) ? { through: random.pick(plan.tasks).name } : {}
    const step = { act: 'kickoff', at: 'here', id, inputs: inputsOf(random), ...stops, asks } as const
    return [scene({ ...step, reuse: random.chance(0.3) }, { outOfOrder: random.chance(0.4) && isOrdered(plan) })]
  }
  if (here.length === 0) return kickoff()
  const { id: run, at, inputs } = random.pick(here)
  const task = random.pick(plan.tasks)
  const other = random.chance(0.4) ? { inputs: { ...inputs, ...inputsOf(random) } } : {}
  const made = { id, at, run, asks }
  const kinds: readonly (readonly [weight: number, make: () => Scene[]])[] = [
    [8, kickoff],
    [18, () => [scene({ act: 'fork', ...made, from: task.name, ...other, ...forkOptions(random) })]],
    [8, () => [scene({ act: 'fork', ...made, outputs: { [task.name]: valueFor(task, number) }, ...other })]],
    [14, () => [scene({ act: 'refresh', ...made, ...other })]],
    [20, () => [scene({ act: 'refresh', ...made, ...other }, { plan: changedPlan(random, plan) })]],
    [8, () => [scene({ act: 'fork', ...made, from: task.name }, { plan: changedPlan(random, plan) })]],
    [
      8,
      () => [
        scene(
          { act: 'backtest', at, id: `b${number}`, task: task.name, runs: 2 },
          { plan: random.chance(0.6) ? changedPlan(random, plan) : plan },
        ),
      ],
    ],
    [
      10,
      () => {
        const there: At = random.chance(0.5) ? 'there' : at
        const as = there !== at && random.chance(0.5) ? run : `i${number}`
        const file = `${id}.export`
        return [scene({ act: 'export', at, run, file }), scene({ act: 'import', at: there, file, of: run, as })]
      },
    ],
    [
      8,
      () => {
        const again = { act: 'kickoff', at, id: run, inputs: inputsOf(random), asks } as const
        return [scene({ act: 'delete', at, run }), ...(random.chance(0.6) ? [scene(again)] : [])]
      },
    ],
    [
      6,
      () => [
        scene({
          act: 'prune',
          at,
          crew: pruned(random, plan),
          status: ['failed', 'completed', 'cancelled'],
          keep: random.below(3),
        }),
      ],
    ],
  ]
  const more = unfinished.flatMap((one): (typeof kinds)[number][] => {
    const resume = (changes: Partial<Scene> = {}): Scene =>
      scene({ act: 'resume', at: one.at, id: one.id, asks }, changes)
    return [
      [14, () => [resume(random.chance(0.25) ? { plan: changedPlan(random, plan) } : {})]],
      [
        6,
        () => [
          scene({ act: 'edit', at: one.at, run: one.id, task: task.name, value: valueFor(task, number) }),
          resume(),
        ],
      ],
      [6, () => [scene({ act: 'invalidate', at: one.at, run: one.id, task: task.name }), resume()]],
      [2, () => [scene({ act: 'cancel', at: one.at, run: one.id })]],
    ]
  })
  const all = [...kinds, ...more]
  let mark = random.below(all.reduce((sum, [weight]) => sum + weight, 0))
  const chosen = all.find(([weight]) => (mark -= weight) < 0) ?? all[0]!
  return chosen[1]()
}

function inputsOf(random: Random): { in0: string; in1: string } {
  return Object.fromEntries(inputNames.map((name) => [name, random.pick(['a', 'b'])])) as { in0: string; in1: string }
}

function forkOptions(random: Random) {
  return {
    ...(random.chance(0.3) ? { only: 'descendants' as const } : {}),
    ...(random.chance(0.3) ? { stale: 'rerun' as const } : {}),
    ...(random.chance(0.1) ? { effects: random.pick(['again', 'ask'] as const) } : {}),
  }
}

function pruned(random: Random, plan: CrewPlan): string {
  return random.pick([plan.name, ...new Set(tasksIn(plan).map(({ crew }) => crew))])
}

/** An output that a person could enter instead. */
function valueFor(task: TaskPlan, number: number): unknown {
  const last = task.crew?.tasks.at(-1)
  if (last) return valueFor(last, number)
  return task.structured ? { name: 'edited', is: number, tries: 1 } : `edited ${number}`
}
