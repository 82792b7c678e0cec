// Executes a flow: calls its function, executes the steps that it requests, and gives it their results. No step starts
// while a result can still be delivered, so that in every process, each step is requested after the same results. An
// edit begins a new pass, in which the function is called again.
import { defined } from '../../base/options.ts'
import { attemptPath } from '../../journal/paths.ts'
import type { NewEntry } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import { isSettled } from '../../journal/state/steps.ts'
import type { FlowDefinition, TaskDefinition } from '../definition.ts'
import { drainInbox } from '../inbox/inbox.ts'
import type { Life } from '../life.ts'
import { askToRaise, LimitReached, stepLimitFailure } from '../limits/budget.ts'
import { isTimeUp, unlessAborted } from '../limits/time.ts'
import { callOnStep, callTaskCallbacks } from '../run/after-task.ts'
import { childrenToContinue } from '../run/suspension.ts'
import { failureByPerson } from '../task/fail-task.ts'
import { admit, deliver } from './admit-step.ts'
import { continueAgain, finish, flowFailure, flowSuspension } from './end-flow.ts'
import { executeStep } from './execute-step.ts'
import { startPass, type Pass, type StepCall } from './pass.ts'
import { questionOf } from './wait.ts'

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
  /** Steps that this pass has begun for the first time, even if their start is not recorded yet. */
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
        // stops child runs before their next step; not within a child run, since the flow above may catch the error
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
        // once a step found no free slot, later ones get none in this round: a slot that becomes free is for the oldest
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

/** Whether the run has reached `through`: that step is settled, or every requested key of it is. */
function isReached({ calls }: Pass, { tasks, through }: RunState): boolean {
  if (through === undefined) return false
  const last = [...calls.keys()].filter((name) => name === through || name.startsWith(`${through}[`))
  const steps = last.flatMap((name) => tasks.get(name) ?? [])
  return last.length > 0 && steps.length === last.length && steps.every(isSettled)
}

/** Default of `budget.steps`: without a limit, an endless loop would never stop spending. */
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

/** How long the function may wait for something other than a step before a warning. */
const outsideMs = 200

/** Waits while the function awaits something that isn't a step. Warns after `outsideMs`. */
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
