// What a crew does with its runs, without the types of the user's tasks: start, resume, make one from another, plan. Everything is
// checked before anything is spent; the engine does the rest.
import type {
  ChangedPolicy,
  CrewDefinition,
  Engine,
  ExecuteOptions,
  Inputs,
  TaskDefinition,
} from '../engine/definition.ts'
import { withEstimates } from '../engine/plan/estimate.ts'
import { executeRun } from '../engine/execute-run.ts'
import type { Hold } from '../engine/hold.ts'
import { checkReadable, createRun, resumeRun } from '../engine/lifecycle.ts'
import { inheritedCalls, planFork, type ForkPlan, type ForkRequest } from '../engine/plan/fork.ts'
import { planKickoff, planResume } from '../engine/plan/run.ts'
import { readRun } from '../engine/read-run.ts'
import { staleTasks } from '../engine/plan/stale.ts'
import { realWorld } from '../engine/world.ts'
import { RepriseError } from '../errors.ts'
import type { Entry, RunStatus } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { canonicalJson, type Json } from '../journal/json.ts'
import type { RunState } from '../journal/state.ts'
import { checkModel } from '../models/resolve-model.ts'
import type { Store } from '../stores/store.ts'
import { openCrewStore } from './default-store.ts'
import { checkInputs } from './define.ts'
import { describeEntry } from './log.ts'
import { toPlan, type Plan } from './plan.ts'
import { toResult, type RunResult } from './result.ts'
import { Run } from './run.ts'

export interface StartRequest {
  readonly id: string | undefined
  /** Undefined where none were given, which a run that is there already does not mind. */
  readonly inputs: Inputs | undefined
  readonly reuse: RunState['reuse']
  readonly choices: ExecuteOptions
}

/** A fork, replay or refresh: its inputs are still to be merged over those of the run that it is made from. */
export interface MakeRequest extends ForkRequest {
  readonly run: string | undefined
  readonly id: string | undefined
  readonly choices: ExecuteOptions
}

export interface PlanRequest extends MakeRequest {
  readonly of: Plan['of'] | undefined
  readonly changed: ChangedPolicy | undefined
  readonly reuse: RunState['reuse']
}

export interface CrewRuns {
  open(): Promise<Engine>
  close(): Promise<void>
  /** INPUT_MISSING, MODEL_INVALID, MODEL_KEY_MISSING: what a kickoff with these inputs would be refused for. */
  check(inputs: Inputs): void
  start(request: StartRequest): Promise<Run>
  resume(run: string | undefined, choices: ExecuteOptions): Promise<RunResult>
  make(request: MakeRequest): Promise<RunResult>
  plan(request: PlanRequest): Promise<Plan>
}

export function crewRuns(crew: CrewDefinition, store: string | Store | undefined, named: boolean): CrewRuns {
  let opened: Promise<Engine> | undefined

  function open(): Promise<Engine> {
    opened ??= openCrewStore(store).then((found) => ({ store: found, world: realWorld(), appended: logEntries(crew) }))
    opened.catch(() => (opened = undefined))
    return opened
  }

  async function latest(engine: Engine, status?: RunStatus[]): Promise<string> {
    const found = await latestRun(engine, crew.name, status)
    if (found !== undefined) return found
    const unnamed = named ? '' : ' (it has no name, so it is known by its tasks)'
    const words = status ? 'no unfinished run' : 'no run'
    throw new RepriseError(
      'RUN_NOT_FOUND',
      `crew ${crew.name}${unnamed} has ${words} in ${engine.store.url}; kick it off first`,
    )
  }

  function take(engine: Engine, run: string, check?: (state: RunState) => void): Promise<Hold | RunState> {
    return resumeRun(engine, crew, run, (state) => {
      check?.(state)
      const done = state.status === 'completed'
      if (!done) checkBefore(crew, state.inputs, (task) => state.tasks.get(task.name)?.status !== 'completed')
      announce(crew, run, done ? 'completed before' : `resume, life ${state.lives + 1}`)
    })
  }

  async function execute(taken: Hold | RunState, choices: ExecuteOptions): Promise<RunResult> {
    const state = 'append' in taken ? await executeRun(taken, crew, choices) : taken
    const stale = staleTasks(crew, state)
    for (const { task, reasons } of stale) crew.logger.warn(`task ${task} is stale: ${reasons.join('; ')}`)
    return toResult(state, crew, stale)
  }

  async function planMake(engine: Engine, request: MakeRequest): Promise<Made> {
    const run = request.run ?? (await latest(engine))
    const { state: parent } = await readRun(engine.store, run)
    checkReadable(parent, crew.name)
    const made = await beforeKickoff(crew, { ...parent.inputs, ...request.inputs })
    const { inputs } = made
    const given = made.given === undefined ? {} : { given: digest(request.inputs) }
    const plan = await planFork(crew, parent, { ...request, inputs })
    const executed = new Set(plan.tasks.filter((item) => item.action === 'execute').map((item) => item.task))
    checkBefore(crew, inputs, (task) => executed.has(task.name))
    return { parent, inputs, ...given, plan: { ...plan, tasks: await withEstimates(engine, crew, plan.tasks) } }
  }

  return {
    open,

    async close() {
      const engine = await opened
      opened = undefined
      await engine?.store.close()
    },

    check(inputs) {
      // what the callback will make of them is not known yet
      if (!crew.callbacks?.before) checkTasks(crew.tasks, inputs)
    },

    async start({ id, inputs: given, reuse, choices }) {
      const engine = await open()
      const run = id ?? engine.world.newRunId()
      const inputs = given ?? {}
      const known = id === undefined ? undefined : await engine.store.row(run)
      if (!known) {
        const made = await beforeKickoff(crew, inputs)
        checkBefore(crew, made.inputs, () => true)
        announce(crew, run, 'kickoff')
        const hold = await createRun(engine, crew, { run, ...made, ...(reuse ? { origin: { reuse } } : {}) })
        if (hold) return new Run(run, engine, execute(hold, choices))
      }
      const taken = await take(engine, run, (state) => given && checkSameInputs(state, given))
      return new Run(run, engine, execute(taken, choices))
    },

    async resume(run, choices) {
      const engine = await open()
      const id = run ?? (await latest(engine, ['running', 'suspended', 'failed']))
      return execute(await take(engine, id), choices)
    },

    async make(request) {
      const engine = await open()
      const { id, from, effects, choices } = request
      if (id !== undefined && (await engine.store.row(id))) {
        return execute(await take(engine, id, (state) => checkSameOrigin(state, request)), choices)
      }
      const { parent, inputs, given, plan } = await planMake(engine, request)
      const run = id ?? engine.world.newRunId()
      const calls = inheritedCalls(parent, plan, effects)
      announce(crew, run, `made from run ${parent.run}${from ? `, from task ${from.name} on` : ''}`)
      const origin = {
        parent: { run: parent.run, ...(from ? { from: from.name } : {}) },
        plan: plan.tasks,
        ...(calls.length > 0 ? { calls } : {}),
        ...(effects === 'ask' ? { effects } : {}),
      }
      const hold = await createRun(engine, crew, { run, inputs, given, origin, entries: plan.entries })
      // a run of that id came into being just now
      return execute(hold ?? (await take(engine, run, (state) => checkSameOrigin(state, request))), choices)
    },

    async plan(request) {
      const engine = await open()
      const { run, changed, reuse, choices } = request
      const there = run ?? (await latestRun(engine, crew.name))
      const of = request.of ?? (there === undefined ? 'kickoff' : 'fork')
      const { through } = choices
      if (of === 'kickoff') {
        const { inputs } = await beforeKickoff(crew, request.inputs)
        checkBefore(crew, inputs, () => true)
        const tasks = await withEstimates(engine, crew, await planKickoff(engine, crew, inputs, reuse))
        return toPlan(crew, { of, run: undefined, inputs, tasks, through })
      }
      if (of === 'resume') {
        const id = run ?? (await latest(engine, ['running', 'suspended', 'failed']))
        const { state } = await readRun(engine.store, id)
        checkReadable(state, crew.name)
        const tasks = await withEstimates(engine, crew, planResume(crew, state, changed))
        return toPlan(crew, { of, run: id, inputs: state.inputs, tasks, through })
      }
      const { parent, inputs, plan } = await planMake(engine, request)
      return toPlan(crew, { of, run: parent.run, inputs, tasks: plan.tasks, through })
    },
  }
}

interface Made {
  readonly parent: RunState
  readonly inputs: Inputs
  /** The digest of what the caller gave, where `beforeKickoff` made other inputs. */
  readonly given?: string
  readonly plan: ForkPlan
}

async function latestRun(engine: Engine, crew: string, status?: RunStatus[]): Promise<string | undefined> {
  const { rows } = await engine.store.list({ crew, ...(status ? { status } : {}) }, { limit: 1 })
  return rows[0]?.run
}

/** Everything that can be known to be wrong before a model is asked. */
function checkBefore(crew: CrewDefinition, inputs: Inputs, executed: (task: TaskDefinition) => boolean): void {
  checkTasks(crew.tasks.filter(executed), inputs)
  const used = new Set(crew.tasks.flatMap((task) => task.inputs))
  for (const name of Object.keys(inputs).filter((input) => !used.has(input))) {
    crew.logger.warn(`input ${name} is used by no text of crew ${crew.name}`)
  }
}

function checkTasks(tasks: readonly TaskDefinition[], inputs: Inputs): void {
  for (const task of tasks) {
    checkInputs(task, inputs)
    checkModel(task.agent.model)
  }
}

/** Logged before the first append, so that a run can be traced to wherever it stopped. */
function announce(crew: CrewDefinition, run: string, what: string): void {
  const tasks = crew.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  crew.logger.info(`[${run}] crew ${crew.name}: ${what}; tasks: ${tasks}`)
}

function logEntries(crew: CrewDefinition): Engine['appended'] {
  return (run: string, entries: readonly Entry[]) => {
    for (const entry of entries) {
      const line = describeEntry(entry)
      if (line !== undefined) crew.logger.info(`[${run}] ${line}`)
    }
  }
}

/** The inputs that a run is made with, and a digest of the given ones where the crew's callback made others of them. */
async function beforeKickoff(
  { callbacks }: CrewDefinition,
  given: Inputs,
): Promise<{ readonly inputs: Inputs; readonly given?: string }> {
  if (!callbacks?.before) return { inputs: given }
  const inputs = await callbacks.before(given)
  return digest(inputs) === digest(given) ? { inputs } : { inputs, given: digest(given) }
}

function checkSameInputs(state: RunState, inputs: Inputs): void {
  if (digest(inputs) === (state.given ?? digest(state.inputs))) return
  const names = [...new Set([...Object.keys(state.inputs), ...Object.keys(inputs)])]
  const words = differences(state.inputs, inputs, names)
  throw new RepriseError(
    'INPUTS_DIFFER',
    `run ${state.run} was started with other inputs: ${words}; use another id, or replay it with new inputs`,
    { runId: state.run },
  )
}

/** A run that is to be made under an id that is taken must be the one that was made by the same call. */
function checkSameOrigin(state: RunState, { run, from, inputs }: MakeRequest): void {
  const other =
    !state.parent || (run !== undefined && run !== state.parent.run)
      ? `from ${state.parent ? `run ${state.parent.run}` : 'no other run'}`
      : state.parent.from !== from?.name
        ? `from ${state.parent.from === undefined ? 'no task' : `task ${state.parent.from}`} on`
        : undefined
  const same = state.given !== undefined && state.given === digest(inputs)
  const names = Object.keys(inputs).filter((name) => !same && shown(inputs[name]) !== shown(state.inputs[name]))
  if (other === undefined && names.length === 0) return
  const words = other === undefined ? `with other inputs: ${differences(state.inputs, inputs, names)}` : other
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} was made ${words}; use another id`, { runId: state.run })
}

function differences(before: Inputs, now: Inputs, names: readonly string[]): string {
  return names
    .filter((name) => shown(now[name]) !== shown(before[name]))
    .map((name) => `${name} was ${shorten(shown(before[name]))} and is ${shorten(shown(now[name]))}`)
    .join('; ')
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'not given' : canonicalJson(value)
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
