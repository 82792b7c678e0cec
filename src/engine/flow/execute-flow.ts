// Executes a flow: calls its function, executes the steps that it requests, and gives it their results. Nothing starts
// while a result can be delivered, so that each step is requested after the same results in every process. An edit
// begins a new pass, in which the function is called again.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import { readJson, throughJson, type Json } from '../../journal/json.ts'
import { attemptPath, nextRunId } from '../../journal/paths.ts'
import type { NewEntry } from '../../journal/entries.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { namesWords } from '../../text/words.ts'
import type { FlowDefinition, TaskDefinition } from '../definition.ts'
import { readRun } from '../../read/read-run.ts'
import { lastRun } from '../../read/row-summary.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import { cancelChild, drainInbox, post } from '../inbox/inbox.ts'
import type { Life } from '../life.ts'
import { askToRaise, LimitReached, stepLimitFailure } from '../limits/budget.ts'
import { isTimeUp, unlessAborted } from '../limits/time.ts'
import { queueRun } from '../run/create-run.ts'
import { callAfterKickoff, callOnStep, callTaskCallbacks } from '../run/after-task.ts'
import { withFailedTask } from '../run/end-run.ts'
import { childrenToContinue, suspension } from '../run/suspension.ts'
import { inheritanceEntry } from '../plan/inheritance.ts'
import { failureByPerson } from '../task/fail-task.ts'
import { isSettled } from '../../journal/state/steps.ts'
import { Misfit, oldName, startPass, stepError, type NextInputs, type Pass, type StepCall } from './pass.ts'
import { executeStep } from './execute-step.ts'
import { endOfWait, questionOf } from './wait.ts'

/** After this many executions because of changed inputs, the inputs probably contain the time or a random number. */
const restartLimit = 3

/** How long a process waits for the end of a sleep, instead of suspending the run. */
const lingerMs = 60_000
const workerLingerMs = 5_000

/** Returns the entry with which the run ends or pauses. Rejects if the function throws. */
export async function executeFlow(life: Life, flow: FlowDefinition): Promise<NewEntry> {
  for (;;) {
    const pass = startPass(life, flow)
    life.pass = pass
    try {
      const entry = await executePass(life, pass)
      if (entry) return entry
    } finally {
      pass.drop()
    }
  }
}

/** Returns undefined if a person's edit requires a new pass. */
async function executePass(life: Life, pass: Pass): Promise<NewEntry | undefined> {
  const { state, crew, signal, waker, engine, tree } = life
  const { world } = engine
  const { touched } = state
  /** Steps to begin, oldest first. */
  const pending: StepCall[] = []
  const running = new Map<StepCall, Promise<void>>()
  const waiting = new Set<StepCall>()
  const completed: TaskDefinition[] = []
  let slots = crew.concurrency
  /** How many steps the run has begun: also those whose start is not recorded yet. */
  const fresh = new Set<string>()
  const before = state.steps
  const begun = (): number => before + fresh.size
  /** The budget of steps is used up. */
  let isBlocked = false

  const begin = (call: StepCall): void => {
    const needsSlot = !('wait' in call.work)
    if (needsSlot) slots -= 1
    if (isNew(state, call)) fresh.add(call.name)
    delete call.dueAt
    const stop = (call.stop = new AbortController())
    call.seen = {
      answers: countAnswers(life),
      event: state.lastEvent ?? 0,
      aborted: call.signal?.aborted === true,
    }
    const work = executeStep(life, call, stop.signal)
      .then((outcome) => (outcome === 'suspended' ? void waiting.add(call) : pass.settle(call)))
      .catch((error: unknown) => void (stop.signal.aborted || (life.failure ??= { error })))
      .finally(() => {
        if (needsSlot) slots += 1
        running.delete(call)
        waker.notify()
      })
    running.set(call, work)
  }

  try {
    for (;;) {
      await world.turn()
      signal.throwIfAborted()
      for (const call of pass.requested.splice(0)) await admit(life, pass, call, pending)
      const next = pass.next(running)
      if (next) {
        await deliver(life, pass, next, pending)
        if (!('wait' in next.work)) completed.push(next.work)
        continue
      }
      // from here on, a notification causes another round
      waker.consume()
      await drainInbox(life, { edits: running.size === 0 })
      signal.throwIfAborted()
      if (state.touched !== touched && running.size === 0) return undefined
      if (life.failure && running.size === 0) throw life.failure.error
      await callOnStep(life)
      await unlessAborted(callTaskCallbacks(life, completed.splice(0)), signal)
      if (pass.requested.length > 0) continue
      const { ended } = pass
      if (ended && 'error' in ended) {
        // child runs stop before their next step; in a child run, the flow above may catch the error and go on
        if (!life.parent) tree.slice.over = true
        await Promise.allSettled(running.values())
        signal.throwIfAborted()
        throw flowFailure(life, pass, ended.error)
      }
      if (ended) {
        const entry = await finish(life, pass, 'value' in ended ? ended.value : undefined, running)
        return 'again' in ended ? { ...entry, next: await continueAgain(life, ended.again) } : entry
      }
      const isOver = tree.slice.over || (pending.length > 0 && isTimeUp(tree.slice, world))
      if (isOver && running.size === 0) return { type: 'run.yielded' }
      const isThrough = isReached(pass, state)
      if (isThrough && running.size === 0)
        return { type: 'run.suspended', reason: 'through', ...defined({ through: state.through }) }
      if (!isOver && !isThrough && !life.failure) {
        for (const call of await toContinue(life, waiting)) {
          waiting.delete(call)
          pending.push(call)
        }
        // a place that becomes free meanwhile belongs to the oldest step, which the next round begins
        let isFull = false
        for (const call of pending.splice(0)) {
          const needsSlot = !('wait' in call.work)
          isFull ||= needsSlot && slots <= 0
          const lacksSlot = needsSlot && isFull
          if (!lacksSlot) isBlocked = !(await mayBegin(life, call, begun()))
          if (lacksSlot || isBlocked) pending.push(call)
          else begin(call)
        }
      }
      if (running.size > 0) await wakeBefore(life, earliest(waiting))
      else if (waiting.size > 0 || isBlocked) {
        const dueAt = earliest(waiting)
        if (dueAt === undefined || dueAt - world.now().getTime() > lingerTime(life))
          return await flowSuspension(life, waiting)
        await wakeBefore(life, dueAt)
      } else if (pending.length === 0) await waitOutside(life)
    }
  } catch (error) {
    life.failure ??= { error }
    throw error
  } finally {
    await Promise.allSettled(running.values())
  }
}

/** Whether the run stops here: the step that it goes through, or each key of it that was requested, is settled. */
function isReached({ calls }: Pass, { tasks, through }: RunState): boolean {
  if (through === undefined) return false
  const last = [...calls.keys()].filter((name) => name === through || name.startsWith(`${through}[`))
  const steps = last.flatMap((name) => tasks.get(name) ?? [])
  return last.length > 0 && steps.length === last.length && steps.every(isSettled)
}

/** A loop that never ends would pay for ever. */
const defaultSteps = 10_000

/** Whether the budget allows another step. If it is used up, asks a person to raise it. */
async function mayBegin(life: Life, call: StepCall, begun: number): Promise<boolean> {
  const { state, crew } = life
  for (;;) {
    const limit = { ...(state.budget ?? crew.budget) }
    const steps = limit.steps ?? defaultSteps
    if (begun < steps || !isNew(state, call)) return true
    const failing = stepLimitFailure(state)
    if (failing !== undefined) throw failureByPerson(state.run, failing)
    const words = `${begun.toLocaleString('en')} of ${steps.toLocaleString('en')} steps`
    const reached = new LimitReached(state.run, { ...limit, steps }, state.spent, words)
    if (!(await askToRaise(life, attemptPath(call.name, 1), reached))) return false
  }
}

function isNew({ tasks }: RunState, { name }: StepCall): boolean {
  return (tasks.get(name)?.attempts.length ?? 0) === 0
}

/** Decides what to do about a requested step: deliver what is recorded, continue it, or execute it. */
async function admit(life: Life, pass: Pass, call: StepCall, pending: StepCall[]): Promise<void> {
  const { state } = life
  const { name } = call
  const old = oldName(state, pass, call)
  if (old !== undefined) await life.append([{ type: 'task.renamed', path: old, to: name }])
  const entry = 'wait' in call.work ? undefined : await inheritanceEntry(life, call.work)
  if (entry) await life.append([{ ...entry, after: call.after }])
  const step = state.tasks.get(name)
  const reasons = step ? pass.whyStale(call, step, 'inputs') : []
  if (step && reasons.length > 0) await restart(life, step, reasons)
  else if (step && isSettled(step)) return pass.settle(call)
  if (step?.settled) pass.hold(call)
  pending.push(call)
}

/** Gives up the record of a step whose inputs have changed, so that it is executed again. */
async function restart(life: Life, step: TaskState, because: readonly string[]): Promise<void> {
  const { state, crew, engine, tree, options } = life
  const details = { runId: state.run, task: step.name }
  const why = because.join('; ')
  if (options.changed === 'refuse')
    throw new RepriseError('DEFINITION_CHANGED', `step ${step.name} has changed since it was recorded: ${why}`, details)
  const { restarts = [] } = step
  if (restarts.filter((seq) => seq > (state.touched ?? 0)).length >= restartLimit) {
    const words = `step ${step.name} was executed ${restartLimit + 1} times, because each time ${why}; does its input contain the time, or a random number? use flow.now(), flow.random() or flow.uuid()`
    throw new RepriseError('DEFINITION_CHANGED', words, details)
  }
  for (const child of activeChildren(state, step.name)) await cancelChild(engine, tree, child.run)
  crew.logger.warn(`run ${state.run}: step ${step.name} is executed again: ${why}`)
  await life.append([{ type: 'task.invalidated', path: step.name, because }])
}

/** Gives the function the result of a settled step, once that is on disk. */
async function deliver(life: Life, pass: Pass, call: StepCall, pending: StepCall[]): Promise<void> {
  const { state } = life
  await life.ready()
  const step = state.tasks.get(call.name) as TaskState
  if (step.status === 'failed' && step.error) {
    pass.deliver(step)
    return call.reject(stepError(state.run, call.name, step.error))
  }
  const { raw = '', structured = false } = step.output ?? {}
  let value: unknown
  try {
    value = step.timedOut ? undefined : await call.read(raw, structured, step)
  } catch (error) {
    if (!(error instanceof Misfit)) throw error
    if (step.source === 'edited') {
      const words = `the value that a person gave does not fit its schema: ${error.message}; edit it again`
      throw new RepriseError('INPUT_INVALID', words, { runId: state.run, task: step.name })
    }
    await restart(life, step, [`its result no longer fits its schema: ${error.message}`])
    pass.hold(call)
    pending.push(call)
    return
  }
  pass.deliver(step)
  call.resolve(value)
}

/** Returns the waiting steps that can go on. */
async function toContinue(life: Life, waiting: ReadonlySet<StepCall>): Promise<StepCall[]> {
  const { state, engine } = life
  const now = engine.world.now().getTime()
  const answers = countAnswers(life)
  const withChildren = [...waiting].filter(({ work }) => !('wait' in work)).map(({ name }) => name)
  const woken = new Set(await childrenToContinue(life, withChildren))
  return [...waiting].filter((call) => {
    const { name, work, signal, dueAt, seen } = call
    if (dueAt !== undefined && dueAt <= now) return true
    if (signal?.aborted && !seen?.aborted) return true
    if (!('wait' in work)) return woken.has(name) || answers !== seen?.answers
    if (work.wait === 'event') return state.lastEvent !== undefined && state.lastEvent !== seen?.event
    const path = state.tasks.get(name)?.attempts.at(-1) ?? ''
    return work.wait === 'question' && answers !== seen?.answers && questionOf(state, path)?.answer !== undefined
  })
}

function countAnswers({ state: { questions, unanswered } }: Life): number {
  return questions.size - unanswered.size
}

function earliest(waiting: ReadonlySet<StepCall>): number | undefined {
  const times = [...waiting].flatMap(({ dueAt }) => dueAt ?? [])
  return times.length === 0 ? undefined : times.reduce((first, time) => Math.min(first, time))
}

/** Waits for a notification, at most until a time in ms since 1970. */
async function wakeBefore({ waker, signal, engine: { world } }: Life, time: number | undefined): Promise<void> {
  // timers take at most 24 days
  const ms = time === undefined ? undefined : Math.min(Math.max(0, time - world.now().getTime()), 2 ** 31 - 1)
  using _ = ms === undefined ? undefined : world.timer(ms, () => waker.notify(), true)
  await waker.wait(signal)
}

function lingerTime({ options, tree, engine: { world } }: Life): number {
  const { until } = tree.slice
  const most = options.handsBack ? workerLingerMs : lingerMs
  return typeof until === 'number' ? Math.min(most, until - world.now().getTime()) : most
}

/** How long the function may wait for something else than a step before a warning. */
const outsideMs = 200

/** Waits for the function, which waits for something that isn't a step. */
async function waitOutside(life: Life): Promise<void> {
  const { crew, state, engine, waker, signal, warned } = life
  const words = `run ${state.run}: flow ${crew.name} waits for something that is not a step; what it does outside of steps is done again whenever the run is resumed`
  using _ = engine.world.timer(
    outsideMs,
    () => {
      if (!warned.has(words)) crew.logger.warn(words)
      warned.add(words)
    },
    true,
  )
  await waker.wait(signal)
}

/** Returns the entry that suspends a run whose steps all wait. */
async function flowSuspension(life: Life, waiting: ReadonlySet<StepCall>): Promise<NewEntry> {
  const { state } = life
  const calls = [...waiting]
  const times = calls.flatMap(({ name }) => endOfWait(state, name) ?? [])
  const entry = await suspension(
    life,
    calls.map(({ name }) => name),
    times,
  )
  if (entry.type !== 'run.suspended' || entry.reason !== 'parent') return entry
  if (calls.some(({ work }) => 'wait' in work && work.wait === 'event')) return { ...entry, reason: 'events' }
  // also until a failed step is tried again
  return times.length > 0 ? { ...entry, reason: 'sleeping' } : entry
}

/** Ends what is in progress after the function has returned, and returns the entry that completes the run. */
async function finish(
  life: Life,
  pass: Pass,
  value: unknown,
  running: ReadonlyMap<StepCall, Promise<void>>,
): Promise<NewEntry & { readonly type: 'run.completed' }> {
  const { state, crew, signal, engine, tree } = life
  const json = value === undefined ? undefined : throughJson(value, crew.name)
  if (json?.ok === false) {
    const words = `flow ${crew.name} returned something that is not JSON: ${json.path} is ${json.found}`
    throw new RepriseError('TASK_FAILED', words, { runId: state.run })
  }
  const schema = crew.flow?.schema
  const read = schema ? await unlessAborted(parseValue(schema, json?.value ?? null), signal) : undefined
  if (read?.ok === false) {
    const words = `flow ${crew.name} returned something that does not fit its output: ${read.reason}`
    throw new RepriseError('OUTPUT_REFUSED', words, { runId: state.run })
  }
  // a `once` call is not stopped: whether it happened would be unknown
  for (const { work, stop } of running.keys())
    if ('wait' in work || work.code?.effect !== 'once') stop?.abort(new Error('the function of the flow has returned'))
  await Promise.allSettled(running.values())
  signal.throwIfAborted()
  if (life.failure) throw life.failure.error
  for (const name of pass.calls.keys())
    for (const child of activeChildren(state, name)) await cancelChild(engine, tree, child.run)
  await unlessAborted(callAfterKickoff(life, json?.value), signal)
  const left = pass.unrequested()
  if (left.length > 0) {
    const words = `run ${state.run}: recorded and no longer requested by flow ${crew.name}: ${namesWords(left)}`
    crew.logger.warn(words)
  }
  return { type: 'run.completed', ...defined({ value: json?.value }), ...(left.length > 0 ? { left } : {}) }
}

/**
 * Creates the run that continues this one, unless an earlier process has, with the events that this run has not
 * received. Returns its id.
 */
async function continueAgain(life: Life, inputs: NextInputs): Promise<string> {
  const { state, crew, engine } = life
  const run = nextRunId(state.run)
  const origin = { previous: state.run, ...defined({ module: state.module }) }
  const events = [...state.events.values()].map(({ seq, name, raw, id = `${state.run} ${seq}`, by }) => {
    return { name, value: readJson(raw) as Json, id, ...defined({ by }) }
  })
  const entries = events.map((event): NewEntry => ({ type: 'event.received', ...event }))
  await life.ready()
  if (await queueRun(engine, crew, { run, ...inputs, priority: state.priority, origin, entries })) return run
  const { state: next } = await readRun(engine.store, run)
  if (next.previous !== state.run) {
    const words = `flow.again continues as run ${run}, but another run has that id; delete it, or resume this run elsewhere`
    throw new RepriseError('RUN_EXISTS', words, { runId: run })
  }
  // events that came after an earlier process had created it; it may be over by now
  for (const event of events.filter(({ id }) => !next.eventIds.has(id))) {
    try {
      await post(engine, await lastRun(engine.store, run), { type: 'event', ...event })
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'RUN_ENDED') throw error
      crew.logger.warn(`run ${state.run}: event ${event.name} is not received: ${error.facts}`)
    }
  }
  return run
}

/** Returns the error with which the run fails, and notes which steps a resume executes again. */
function flowFailure(life: Life, pass: Pass, error: unknown): unknown {
  life.failedSteps = pass.openFailures(error)
  const step = pass.stepOf(error)
  return step === undefined ? error : withFailedTask(error, step)
}
