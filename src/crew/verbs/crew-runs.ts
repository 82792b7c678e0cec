// What a crew does with its runs, without the types of the user's tasks: start, resume, make one from another, plan. Everything is
// checked before anything is spent; the engine does the rest.
import type {
  ChangedPolicy,
  CrewDefinition,
  Engine,
  ExecuteOptions,
  Inputs,
  TaskDefinition,
} from '../../engine/definition.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import { callsOfOpenChildren } from '../../engine/task/child-calls.ts'
import { executeRun } from '../../engine/run/execute-run.ts'
import { executorOf } from '../../engine/lease/held-here.ts'
import { createListeners } from '../../engine/follow/listeners.ts'
import { checkReadable, checkResumable, createRun, resumeRun, type Taken } from '../../engine/run/lifecycle.ts'
import { checkOutputFile } from '../../engine/run/write-output-files.ts'
import { onceCalls } from '../../engine/calls/once.ts'
import { inheritedCalls, planFork, type ForkPlan, type ForkRequest } from '../../engine/plan/plan-fork.ts'
import { planKickoff, planResume } from '../../engine/plan/plan-run.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { staleTasks } from '../../engine/plan/stale-tasks.ts'
import { realWorld } from '../../engine/world.ts'
import { RepriseError, reworded } from '../../errors.ts'
import { lostEntries } from '../../journal/state/hand-edits.ts'
import type { Entry, Limit, RunStatus } from '../../journal/entries.ts'
import { noFiles, type Files } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import type { RunState } from '../../journal/state/state.ts'
import { costOf } from '../../models/cost.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { nextWords } from '../../next.ts'
import { nearest } from '../../options.ts'
import { unitOf } from '../../runs/unit.ts'
import { agentsFor, modelsOf } from '../define/crew-models.ts'
import type { CrewOptions } from '../options/crew-options.ts'
import { openCrewStore } from './default-store.ts'
import { settled, type GivenInputs } from './given-inputs.ts'
import { checkInputs } from './inputs.ts'
import { describeEntry } from '../result/log.ts'
import { toPlan, type Plan } from '../result/plan.ts'
import { toResult, type RunResult } from '../result/result.ts'
import { Run } from '../run.ts'
import { checkSameInputs, checkSameOrigin, requestDigest } from './check-same-run.ts'
import { openTracing } from '../telemetry/telemetry.ts'

export interface StartRequest {
  readonly id: string | undefined
  /** Undefined where none were given, which a run that is there already does not mind. */
  readonly inputs: GivenInputs | undefined
  readonly reuse: RunState['reuse']
  readonly choices: ExecuteOptions
}

/** A fork, replay or refresh: its inputs are still to be merged over those of the run that it is made from. */
export interface MakeRequest extends Omit<ForkRequest, 'inputs'> {
  readonly given: GivenInputs
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
  /** INPUT_MISSING, INPUT_INVALID, MODEL_INVALID, MODEL_KEY_MISSING: what a kickoff with these inputs would be refused for. */
  check(given: GivenInputs, id: string | undefined): Promise<void>
  start(request: StartRequest): Promise<Run>
  resume(run: string | undefined, choices: ExecuteOptions): Promise<Run>
  make(request: MakeRequest): Promise<Run>
  plan(request: PlanRequest): Promise<Plan>
}

export function crewRuns(
  crew: CrewDefinition,
  { store: place, telemetry }: Pick<CrewOptions, 'store' | 'telemetry'>,
  named: boolean,
): CrewRuns {
  let opening: Promise<Engine> | undefined

  function open(): Promise<Engine> {
    opening ??= openEngine()
    opening.catch(() => (opening = undefined))
    return opening
  }

  async function openEngine(): Promise<Engine> {
    // first: a store that is open would have to be closed again
    const tracing = telemetry && (await openTracing(telemetry))
    return { store: await openCrewStore(place), world: realWorld(), appended: logEntries(crew), tracing }
  }

  async function latest(engine: Engine, status?: RunStatus[]): Promise<string> {
    const found = await latestRun(engine, crew.name, status)
    if (found !== undefined) return found
    const unnamed = named ? '' : ' (it has no name, so it is known by its tasks)'
    const words = status ? 'no unfinished run' : 'no run'
    const over = status && (await latestRun(engine, crew.name))
    const next = over ? ({ act: 'refresh', runId: over } as const) : ({ act: 'kickoff' } as const)
    throw new RepriseError('RUN_NOT_FOUND', `crew ${crew.name}${unnamed} has ${words} in ${engine.store.url}`, { next })
  }

  async function take(engine: Engine, run: string, check?: (state: RunState) => void, budget?: Limit): Promise<Taken> {
    await checkBudgetPrices(crew, budget)
    const inspect = (state: RunState): void => {
      check?.(state)
      const done = state.status === 'completed'
      if (!done) checkBefore(crew, state.inputs, isOpen(state))
      announce(crew, run, done ? 'completed before' : `resume, life ${state.lives + 1}`)
    }
    return resumeRun(engine, crew, run, inspect, budget)
  }

  /** Under way when it is given back, unless it was completed before. */
  function begin(engine: Engine, taken: Taken, choices: ExecuteOptions): Run {
    return new Run(engine, taken.is === 'held' ? taken.hold.state : taken.state, execute(engine, taken, choices))
  }

  async function execute({ store }: Engine, taken: Taken, choices: ExecuteOptions): Promise<RunResult> {
    const last = taken.is === 'held' ? await executeRun(taken.hold, crew, choices) : taken.state
    const { state, questions } = await unitOf(store, last)
    const stale = staleTasks(crew, state)
    const next = { act: 'refresh', runId: state.run } as const
    for (const { task, reasons } of stale) {
      const facts = `run ${state.run}: task ${task} is stale: ${reasons.join('; ')}`
      crew.logger.warn(`${facts}; ${nextWords(next)}`, { facts, next })
    }
    return toResult(state, crew, stale, questions)
  }

  async function planMake(engine: Engine, request: MakeRequest): Promise<Made> {
    const run = request.run ?? (await latestAtRest(engine))
    const { state: parent } = await readRun(engine.store, run)
    checkReadable(parent, crew.name)
    const over = settled(request.given, parent.given ?? parent.inputs)
    const made = await inputsFor(crew, parent, over, request.given.files)
    await checkBudgetPrices(crew)
    const plan = await planFork(crew, parent, { ...request, inputs: made.inputs })
    const executed = new Set(plan.tasks.filter((item) => item.action === 'execute').map((item) => item.task))
    checkBefore(crew, made.inputs, (task) => executed.has(task.name))
    const warnings = warningsOf(crew, parent)
    return { parent, over, ...made, warnings, plan: { ...plan, tasks: await withEstimates(engine, crew, plan.tasks) } }
  }

  async function storedInputs(run: string): Promise<Inputs | undefined> {
    const engine = await open()
    if (!(await engine.store.row(run))) return undefined
    const { state } = await readRun(engine.store, run)
    return state.given ?? state.inputs
  }

  /** One that somebody executes now may yet do what a run made from it would do too. */
  async function latestAtRest(engine: Engine): Promise<string> {
    const run = await latest(engine)
    const owner = await executorOf(engine, run)
    if (!owner) return run
    const words = `the latest run of crew ${crew.name}, ${run}, is being executed by process ${owner.pid} on host ${owner.host}; wait for it, or name a run`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { act: 'show', runId: run } })
  }

  return {
    open,

    async close() {
      const engine = await opening
      opening = undefined
      await engine?.store.close()
    },

    async check(given, id) {
      const inputs = settled(given, given.gone.size > 0 && id !== undefined ? await storedInputs(id) : undefined, true)
      // what the callback will make of them is not known yet
      if (!crew.callbacks?.before) checkTasks(crew.tasks, inputs)
    },

    async start({ id, inputs: given, reuse, choices }) {
      const opened = await open()
      const run = id ?? opened.world.newRunId()
      const engine = withListeners(opened, run)
      const known = id === undefined ? undefined : await engine.store.row(run)
      if (!known) {
        const made = await beforeKickoff(crew, given ? settled(given) : {}, given?.files)
        checkBefore(crew, made.inputs, () => true)
        await checkBudgetPrices(crew)
        announce(crew, run, 'kickoff')
        const hold = await createRun(engine, crew, { run, ...made, ...(reuse ? { origin: { reuse } } : {}) })
        if (hold) return begin(engine, { is: 'held', hold }, choices)
      }
      const taken = await take(engine, run, (state) => given && checkSameInputs(state, given))
      return begin(engine, taken, choices)
    },

    async resume(run, choices) {
      const opened = await open()
      const id = run ?? (await latest(opened, ['running', 'suspended', 'failed']))
      const engine = withListeners(opened, id)
      return begin(engine, await take(engine, id, undefined, choices.budget), choices)
    },

    async make(request) {
      const opened = await open()
      const { id, from, effects, choices } = request
      const run = id ?? opened.world.newRunId()
      const engine = withListeners(opened, run)
      if (id !== undefined && (await engine.store.row(id))) {
        return begin(engine, await take(engine, id, (state) => checkSameOrigin(state, request)), choices)
      }
      const { parent, over, inputs, given, files, plan, warnings } = await planMake(engine, request)
      for (const warning of warnings) crew.logger.warn(warning)
      const calls = [...inheritedCalls(parent), ...(await callsOfOpenChildren(engine, parent))]
      const lost = lostEntries(parent)
      announce(crew, run, `made from run ${parent.run}${from ? `, from task ${from.name} on` : ''}`)
      const origin = {
        parent: { run: parent.run, ...(from ? { from: from.name } : {}), request: requestDigest(request, over) },
        plan: plan.tasks,
        ...(calls.length > 0 ? { calls } : {}),
        ...(lost.length > 0 ? { lost } : {}),
        ...(effects === undefined || effects === 'reuse' ? {} : { effects }),
      }
      const hold = await createRun(engine, crew, { run, inputs, given, files, origin, entries: plan.entries })
      if (hold) return begin(engine, { is: 'held', hold }, choices)
      // a run of that id came into being just now
      return begin(engine, await take(engine, run, (state) => checkSameOrigin(state, request)), choices)
    },

    async plan(request) {
      const engine = await open()
      const { run, changed, reuse, choices } = request
      const forks = run !== undefined || request.from !== undefined || (request.outputs?.size ?? 0) > 0
      const of = request.of ?? (forks || (await latestRun(engine, crew.name)) !== undefined ? 'fork' : 'kickoff')
      const { through } = choices
      if (of === 'kickoff') {
        const { inputs } = await beforeKickoff(crew, settled(request.given))
        checkBefore(crew, inputs, () => true)
        const tasks = await withEstimates(engine, crew, await planKickoff(engine, crew, inputs, reuse))
        return toPlan(crew, { of, run: undefined, inputs, tasks, through, warnings: [] })
      }
      if (of === 'resume') {
        const id = run ?? (await latest(engine, ['running', 'suspended', 'failed']))
        const { state } = await readRun(engine.store, id)
        checkResumable(crew, state)
        if (state.status !== 'completed') checkBefore(crew, state.inputs, isOpen(state))
        const tasks = await withEstimates(engine, crew, await planResume(engine, crew, state, changed))
        return toPlan(crew, { of, run: id, inputs: state.inputs, tasks, through, warnings: [] })
      }
      const { parent, inputs, plan, warnings } = await planMake(engine, request)
      return toPlan(crew, { of, run: parent.run, inputs, tasks: plan.tasks, through, warnings })
    },
  }
}

interface Made extends MadeInputs {
  readonly parent: RunState
  /** What the caller gives over the inputs of the parent. */
  readonly over: Inputs
  readonly plan: ForkPlan
  readonly warnings: readonly string[]
}

async function latestRun(engine: Engine, crew: string, status?: RunStatus[]): Promise<string | undefined> {
  const { rows } = await engine.store.list({ crew, roots: true, ...(status ? { status } : {}) }, { limit: 1 })
  return rows[0]?.run
}

/** Everything that can be known to be wrong before a model is asked. */
function checkBefore(crew: CrewDefinition, inputs: Inputs, executed: (task: TaskDefinition) => boolean): void {
  checkTasks(crew.tasks.filter(executed), inputs)
  const used = namesIn(crew)
  // code may use any of them, so that there only one that looks like a slip of the pen is worth a word
  const anyMayBeUsed = crew.tasks.some((task) => task.when ?? task.code ?? task.child)
  for (const name of Object.keys(inputs).filter((input) => !used.includes(input))) {
    const near = nearest(name, used)
    if (near === undefined && anyMayBeUsed) continue
    const meant = near === undefined ? '' : `; did you mean ${near}?`
    crew.logger.warn(`input ${name} is used by no text of crew ${crew.name}${meant}`)
  }
}

/** The inputs that texts use, also those of crews that are tasks. */
function namesIn({ tasks }: CrewDefinition): string[] {
  return [...new Set(tasks.flatMap((task) => [...task.inputs, ...(task.child ? namesIn(task.child.crew) : [])]))]
}

/** OPTION_INVALID when money is limited and nobody knows what a model costs. */
async function checkBudgetPrices(crew: CrewDefinition, budget = crew.budget): Promise<void> {
  if (budget?.cost === undefined) return
  for (const { model: asked, task } of modelsOf(crew)) {
    const model = modelName(asked)
    if ((await costOf(model, { calls: 1, input: 1, output: 1 }, { prices: crew.prices })) !== undefined) continue
    const words = `the budget has a cost, but the price of model ${model} of task ${task} is not known; give it: prices: { '${model}': { input: …, output: … } }`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

/** Without inputs, as for the tasks of a crew that gets them only when its turn comes, what needs none. */
function checkTasks(tasks: readonly TaskDefinition[], inputs: Inputs | undefined): void {
  for (const task of tasks) {
    if (inputs !== undefined || task.inputs.length === 0) {
      checkOutputFile(task, inputs ?? {})
      checkInputs(task, inputs ?? {})
    }
    if (task.child) checkTasks(task.child.crew.tasks, inputs && task.child.known(inputs))
    if (task.code || task.child) continue
    for (const agent of agentsFor(task)) checkModelOf(agent, task.name)
  }
}

/** MODEL_INVALID, MODEL_KEY_MISSING, with whose model it is. */
function checkModelOf({ model, role }: TaskDefinition['agent'], task: string): void {
  try {
    checkModel(model)
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `${error.facts} (agent ${role}, task ${task})`, { task, cause: error.cause })
  }
}

/** Logged before the first append, so that a run can be traced to wherever it stopped. */
function announce(crew: CrewDefinition, run: string, what: string): void {
  const tasks = crew.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  crew.logger.info(`[${run}] crew ${crew.name}: ${what}; tasks: ${tasks}`)
}

/** An engine for one run, which can be listened to while it is executed. */
function withListeners(engine: Engine, run: string): Engine {
  const listeners = createListeners()
  const appended = (of: string, entries: readonly Entry[]): void => {
    // others are of runs that work for it
    if (of === run) listeners.appended(entries)
    engine.appended?.(of, entries)
  }
  return { ...engine, listeners, appended }
}

function logEntries(crew: CrewDefinition): Engine['appended'] {
  return (run: string, entries: readonly Entry[]) => {
    for (const entry of entries) {
      const line = describeEntry(entry)
      if (line !== undefined) crew.logger.info(`[${run}] ${line}`)
    }
  }
}

interface MadeInputs {
  readonly inputs: Inputs
  /** What the caller gave, where the crew's callback made others of it. */
  readonly given?: Inputs
  /** The bytes of the files among them that were read just now. */
  readonly files: Files
}

async function beforeKickoff({ callbacks }: CrewDefinition, given: Inputs, read: Files = noFiles): Promise<MadeInputs> {
  if (!callbacks?.before) return { inputs: given, files: read }
  const { inputs, files: more } = await callbacks.before(given)
  const files = new Map([...read, ...more])
  return digest(inputs) === digest(given) ? { inputs, files } : { inputs, given, files }
}

/** Those of the parent where nothing is given over them; else the callback gets what it got then, with the new ones merged over that. */
async function inputsFor(crew: CrewDefinition, parent: RunState, over: Inputs, files: Files): Promise<MadeInputs> {
  const { inputs, given } = parent
  if (Object.keys(over).length === 0) return { inputs, files, ...(given ? { given } : {}) }
  return beforeKickoff(crew, { ...(given ?? inputs), ...over }, files)
}

/** What a plan cannot see: a task that was renamed is another task, also to its calls. */
function warningsOf(crew: CrewDefinition, parent: RunState): string[] {
  const there = new Set(crew.tasks.map((task) => task.name))
  const gone = new Set(onceCalls(parent).flatMap(({ task }) => (there.has(task) ? [] : [task])))
  return [...gone].map(
    (task) =>
      `run ${parent.run} made calls that must not be repeated for task ${task}, which the crew does not have; if it goes by another name now, it may make them again`,
  )
}

function isOpen(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => state.tasks.get(task.name)?.status !== 'completed'
}
