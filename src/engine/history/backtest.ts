// One task, with the code as it is now, over what it was given in earlier runs. Each case is a run of its own beside the crew's,
// under the name `<crew>/backtest`: it inherits the stored context, executes the task, and does nothing to the world: tools that
// may change something are not called, the results of equal calls are taken from the record. The earlier runs are only read.
import { RepriseError } from '../../errors.ts'
import type { NewEntry, StoredOutput } from '../../journal/entries.ts'
import { explainChange } from '../../journal/fingerprint.ts'
import type { RunState } from '../../journal/state.ts'
import type { CrewDefinition, Engine, ExecuteOptions, TaskDefinition } from '../definition.ts'
import { executeRun } from '../execute-run.ts'
import { outputsFor } from '../execute-task.ts'
import { checkReadable, createRun, resumeRun } from '../lifecycle.ts'
import { onceCalls, toOnceCall } from '../once.ts'
import { readRun } from '../read-run.ts'

/** Runs of a crew with this name are never the latest of the crew itself, nor is what they made found by `reuse`. */
export function backtestName(crew: string): string {
  return `${crew}/backtest`
}

/** A run whose context is there, with what the task gave then. */
export interface StoredCase {
  readonly state: RunState
  readonly output: StoredOutput
}

export interface StoredCases {
  readonly cases: readonly StoredCase[]
  /** Runs that were passed over, and why. */
  readonly passed: readonly { readonly run: string; readonly reason: string }[]
}

/** How many runs are looked at for each case that is asked for. */
const lookedAt = 10

/** The newest runs, or those that are named, in which the task has an output and everything that it is given is there. */
export async function storedCases(
  { store }: Engine,
  crew: CrewDefinition,
  task: TaskDefinition,
  wanted: number | readonly string[],
): Promise<StoredCases> {
  const named = typeof wanted !== 'number'
  const runs = named
    ? wanted
    : (await store.list({ crew: crew.name }, { limit: wanted * lookedAt })).rows.map((row) => row.run)
  const cases: StoredCase[] = []
  const passed: { run: string; reason: string }[] = []
  const made = new Set<string>()
  for (const run of runs) {
    if (!named && cases.length >= wanted) break
    const { state } = await readRun(store, run)
    checkReadable(state, crew.name)
    const known = state.tasks.get(task.name)
    const missing = task.context.find((name) => !isThere(state, name))
    const origin = `${known?.from?.run ?? run} ${known?.from?.seq ?? known?.seq}`
    if (!known?.output) passed.push({ run, reason: `it has no output of ${task.name}` })
    else if (missing !== undefined) passed.push({ run, reason: `it has no output of ${missing}` })
    else if (made.has(origin)) passed.push({ run, reason: `its ${task.name} is that of a run which is there already` })
    else {
      made.add(origin)
      cases.push({ state, output: known.output })
    }
  }
  return { cases, passed }
}

/** Executes the task on one stored case, under an id of its own: gone on with when it was begun, read back when it is done. */
export async function backtestCase(
  engine: Engine,
  crew: CrewDefinition,
  task: TaskDefinition,
  { state: parent, output }: StoredCase,
  run: string,
  options: ExecuteOptions,
): Promise<RunState> {
  const given = task.context.flatMap((name) => crew.tasks.find((other) => other.name === name) ?? [])
  // it was executed then, so it is now: what its condition says is not the question
  const trial: CrewDefinition = {
    ...crew,
    name: backtestName(crew.name),
    tasks: [...given, { ...task, when: undefined }],
  }
  const now = task.fingerprint(parent.inputs, outputsFor(parent, task))
  const changes = output.fingerprint ? explainChange(output.fingerprint, now) : []
  const calls = onceCalls(parent, task.name, (call) => call.effect !== 'read' && call.outcome !== undefined)
  const entries = given.map((other) => inheritedFrom(parent, other.name))
  const hold = await createRun(engine, trial, {
    run,
    inputs: parent.inputs,
    entries,
    origin: {
      parent: { run: parent.run, from: task.name },
      plan: [
        ...given.map(({ name }) => ({ task: name, action: 'inherit', reasons: ['its output is there'] }) as const),
        { task: task.name, action: 'execute', reasons: changes.length > 0 ? changes : ['nothing has changed'] },
      ],
      calls: calls.map(toOnceCall),
      effects: 'never',
    },
  })
  const taken = hold ?? (await resumeRun(engine, trial, run, (state) => checkSameCase(state, parent.run, task.name)))
  return 'append' in taken ? executeRun(taken, trial, options) : taken
}

function isThere(state: RunState, name: string): boolean {
  const task = state.tasks.get(name)
  return task?.output !== undefined || task?.status === 'skipped'
}

function inheritedFrom(parent: RunState, name: string): NewEntry {
  const task = parent.tasks.get(name)
  if (!task?.output) return { type: 'task.skipped', path: name, reason: `it was skipped in run ${parent.run}` }
  const from = task.from ?? { run: parent.run, seq: task.seq ?? 0 }
  return { type: 'task.inherited', path: name, from, output: task.output }
}

function checkSameCase(state: RunState, parent: string, task: string): void {
  if (state.parent?.run === parent && state.parent.from === task) return
  const words = `run ${state.run} is another one, not the backtest of task ${task} on run ${parent}; give the backtest another id`
  throw new RepriseError('INPUTS_DIFFER', words, { runId: state.run })
}
