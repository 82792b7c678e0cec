// A pass is one call of the function of a flow. The function requests steps, and receives their results in the order in
// which the journal recorded them, one per turn of the event loop. So it sees the same results in the same order in
// every process, whether a step is executed there or its record is read. When a process stops, its pass is dropped: the
// promises of its open requests never settle.
import { RepriseError, errorCodes, type ErrorCode } from '../../base/errors.ts'
import type { Failure, Fingerprint } from '../../journal/entries.ts'
import { explainChange } from '../../journal/describe.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import { questionsAt } from '../../journal/state/questions.ts'
import { isOutOfDate } from '../../journal/state/steps.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import type { CrewDefinition, FlowDefinition, TaskDefinition } from '../definition.ts'
import type { NewRun } from '../run/create-run.ts'
import type { Life } from '../life.ts'
import { runCode, runningCode } from '../task/function-call.ts'
import { runOutputs } from '../run/task-context.ts'

/** A step that the function of a flow requests. */
export interface StepRequest {
  /** `pay`, or `pay[c7]`. */
  readonly name: string
  /** Names that the step had in earlier versions of the code. */
  readonly was: readonly string[]
  readonly work: TaskDefinition | Wait
  /** A recorded result is used, whatever the code and the inputs of the step are now. */
  readonly isFinal?: boolean
  /** Stops the step when it aborts: the step fails with the reason, unless it is settled already. */
  readonly signal?: AbortSignal | undefined
  /** Returns the value that the function receives for an output. Rejects if the output does not fit its schema. */
  read(raw: string, structured: boolean, step: TaskState): Promise<unknown>
}

/** What a step waits for. */
export type Wait =
  | { readonly wait: 'sleep'; until(now: number): number }
  | {
      readonly wait: 'question'
      readonly text: string
      readonly about: Json | undefined
      readonly schema: Json
      check(value: Json): Promise<Checked>
      until?(now: number): number
    }
  | {
      readonly wait: 'event'
      readonly event: string
      check(value: Json): Promise<Checked>
      until?(now: number): number
    }

type Checked = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** A request of the present pass. */
export interface StepCall extends StepRequest {
  /** The place of the last result that the function received before it requested the step. */
  readonly after: number
  /** Set while the step is executed. */
  stop?: AbortController
  /** When a waiting step is looked at again, in ms since 1970 by the clock of this process. */
  dueAt?: number
  /** What the step knew when it began to wait: how many answers, the last event, whether its signal had aborted. */
  seen?: { readonly answers: number; readonly event: number; readonly aborted: boolean }
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** `again`: the function ended the run, and another run continues it with these inputs. */
export type PassEnd = { readonly value: unknown } | { readonly error: unknown } | { readonly again: NextInputs }

export type NextInputs = Pick<NewRun, 'inputs' | 'given' | 'files'>

/**
 * What is compared with the record of a step. A resume compares only its inputs: a change of its code is no reason to
 * execute it again. A backtest takes results as they were.
 */
export type Compared = 'kind' | 'inputs' | 'all'

export interface Pass {
  /** Requested steps that have not been handled yet, oldest first. */
  readonly requested: StepCall[]
  /** All steps of this pass, by name. */
  readonly calls: Map<string, StepCall>
  /** Set when the function has returned or thrown. */
  readonly ended: PassEnd | undefined
  /** Adds a settled step, whose result is delivered when its turn comes. */
  settle(call: StepCall): void
  /** Notes that a settled step is executed again. Results with a later place wait for it. */
  hold(call: StepCall): void
  /**
   * Removes and returns the step whose result is delivered next. Undefined if there is none, or if an earlier place
   * belongs to a held step, or to a step in `running`, whose result is recorded but not settled yet.
   */
  next(running: ReadonlyMap<StepCall, unknown>): StepCall | undefined
  /** Notes that the function receives the result of a step. */
  deliver(step: TaskState): void
  /** Recorded steps that the function should have requested by now, but has not. */
  missing(): string[]
  /** Recorded steps that the function has not requested. */
  unrequested(): string[]
  /** Notes that a requested step has no record. */
  addNew(call: StepCall): void
  /**
   * The new steps whose results the function had when it requested this step, which was recorded before they were
   * there. Names each new step once.
   */
  takeInserted(call: StepCall, step: TaskState): string[]
  /** Why the recorded result of the step can't be used, in words; empty if it can. */
  whyStale(call: StepCall, step: TaskState, compared: Compared): readonly string[]
  /** The failed steps that a resume executes again, after the function has thrown this error. */
  openFailures(error: unknown): string[]
  /** The name of the step that failed with this error. Undefined if it isn't the error of a step. */
  stepOf(error: unknown): string | undefined
  /** Ends the pass: the function receives nothing more. */
  drop(): void
}

/** What the function of a flow can use of its pass. */
export interface FlowContext {
  readonly state: RunState
  /** Aborts when this process stops working on the run. */
  readonly signal: AbortSignal
  readonly crew: CrewDefinition
  request(step: StepRequest): Promise<unknown>
  /** Ends the run. Another run continues it with these inputs. */
  again(inputs: NextInputs): void
  /** The time at which the last received result was recorded. */
  now(): Date
}

/** Calls the function of the flow. */
export function startPass(life: Pick<Life, 'state' | 'crew' | 'signal' | 'waker'>, flow: FlowDefinition): Pass {
  const { state, crew, signal } = life
  const calls = new Map<string, StepCall>()
  const requested: StepCall[] = []
  /** Settled steps by place, from `head` on. */
  const settled: { readonly place: number; readonly call: StepCall }[] = []
  let head = 0
  const held = new Set<StepCall>()
  /** Delivered steps that were given another value after they were first settled. */
  const changed: TaskState[] = []
  const newSteps = new Set<string>()
  /** Delivered new steps. */
  const inserted: TaskState[] = []
  const failures = new WeakMap<object, string>()
  const unrequested = new Map(recordedSteps(state))
  let delivered = 0
  let now = state.createdAt
  let ended: PassEnd | undefined
  let isDropped = false

  const placeOf = ({ name }: StepCall): number => state.tasks.get(name)?.settled?.place ?? Infinity
  const end = (how: PassEnd): void => {
    if (ended || isDropped) return
    ended = how
    life.waker.notify()
  }

  /** Throws if the function of a step makes the call: the step would wait for the flow, which waits for the step. */
  const refuseInStep = (what: string): void => {
    // of any run: in a backtest, the function of a step is called by another run
    const outer = runningCode()?.call
    if (!outer) return
    const { name } = outer.task
    const words = `${what} by the function of step ${name}; do this in the function of the flow`
    throw new RepriseError('CREW_INVALID', words, { runId: state.run, task: name })
  }

  const request = (step: StepRequest): Promise<unknown> => {
    refuseInStep(`step ${step.name} is requested`)
    if (ended || isDropped) return new Promise(() => {})
    if (calls.has(step.name)) {
      const words = `step ${step.name} is requested twice; give each its own name, or a key: { key: item.id }`
      end({ error: new RepriseError('CREW_INVALID', words, { runId: state.run, task: step.name }) })
      return new Promise(() => {})
    }
    const { promise, resolve, reject } = Promise.withResolvers()
    const call: StepCall = {
      ...step,
      after: delivered,
      resolve,
      reject(error) {
        if (typeof error === 'object' && error !== null) failures.set(error, step.name)
        reject(error)
      },
    }
    calls.set(step.name, call)
    unrequested.delete(step.name)
    requested.push(call)
    life.waker.notify()
    return handled(promise)
  }

  const again = (inputs: NextInputs): void => {
    refuseInStep('flow.again is called')
    end({ again: inputs })
  }
  const context: FlowContext = { state, crew, signal, request, again, now: () => new Date(now) }
  const code = { life: life as Life, what: `flow ${crew.name}`, uncounted: new Set<string>(), isFlow: true }
  runCode(code, () => Promise.try(() => flow.run(context))).then(
    (value) => end({ value }),
    (error: unknown) => end({ error }),
  )

  return {
    requested,
    calls,
    get ended() {
      return ended
    },
    settle(call) {
      held.delete(call)
      const place = placeOf(call)
      let [low, high] = [head, settled.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if ((settled[middle]?.place as number) < place) low = middle + 1
        else high = middle
      }
      settled.splice(low, 0, { place, call })
    },
    hold: (call) => void held.add(call),
    next(running) {
      const first = settled[head]
      const isEarlier = (other: StepCall): boolean => placeOf(other) < (first?.place ?? 0)
      if (!first || held.values().some(isEarlier) || running.keys().some(isEarlier)) return undefined
      head += 1
      return first.call
    },
    deliver(step) {
      const { place, at, changed: changedAt } = step.settled as NonNullable<TaskState['settled']>
      delivered = place
      now = at
      if (changedAt > place) changed.push(step)
      if (newSteps.has(step.name)) inserted.push(step)
    },
    missing: () => [...unrequested].flatMap(([name, after]) => (after <= delivered ? [name] : [])),
    unrequested: () => [...unrequested.keys()].filter((name) => state.tasks.has(name)),
    addNew: ({ name }) => void newSteps.add(name),
    takeInserted(call, step) {
      const isEarlier = step.source === 'executed' && isBefore(state, step, call.after)
      return isEarlier ? inserted.splice(0).map(({ name }) => name) : []
    },
    whyStale(call, step, compared) {
      const { work, isFinal } = call
      // its record has been given up already, and it is executed in any case
      if (step.status === 'pending' || (isFinal && step.settled)) return []
      const last = state.attempts.get(step.attempts.at(-1) ?? '')
      const kinds = last && [
        kindOf(step.wait, last.child),
        kindOf('wait' in work ? work.wait : undefined, 'wait' in work ? undefined : work.child),
      ]
      if (kinds && kinds[0] !== kinds[1]) return [`it was ${kinds[0]}, and is ${kinds[1]} now`]
      if (compared === 'kind' || step.source === 'edited') return []
      const began = step.status === 'running' ? last?.seq : step.settled?.began
      const outOfDate = (): string[] =>
        changed.filter((other) => isOutOfDate(began, other)).map(({ name }) => `step ${name} has another result`)
      if ('wait' in work) return work.wait === 'question' ? whyAskedAgain(state, last?.path, work, outOfDate) : []
      const before = step.output ?? last ?? step
      if (!before?.fingerprint) return []
      const today = work.fingerprint(state.inputs, runOutputs(state))
      const fields = compared === 'all' ? (all: Fingerprint) => all : inputFields
      const reasons = explainChange(fields(before.fingerprint), fields(today))
      if (reasons.length > 0 || work.started?.input !== undefined || work.child) return reasons
      if (compared === 'all' && isBefore(state, step, call.after))
        return [`it was made before step ${stepAt(state, call.after)} was there`]
      return outOfDate()
    },
    openFailures(error) {
      const named = new Set(stepsIn(error, failures))
      return [...state.tasks.values()].flatMap(({ name, status, settled: known }) =>
        status === 'failed' && (named.has(name) || (known && known.place > state.lastAfter)) ? [name] : [],
      )
    },
    stepOf: (error) => (typeof error === 'object' && error !== null ? failures.get(error) : undefined),
    drop() {
      isDropped = true
    },
  }
}

/** Whether a step began before another one had its result. */
function isBefore(state: RunState, { status, settled, attempts }: TaskState, place: number): boolean {
  const began = status === 'running' ? state.attempts.get(attempts.at(-1) ?? '')?.seq : settled?.began
  return began !== undefined && began < place
}

function stepAt({ tasks }: RunState, place: number): string | undefined {
  return tasks.values().find(({ settled }) => settled?.place === place)?.name
}

/** Recorded steps, each with the place of the last result that the function had received when it requested the step. */
function recordedSteps({ tasks, inheritedCalls }: RunState): [name: string, after: number][] {
  const steps = [...tasks.values()].map(({ name, after = 0 }): [string, number] => [name, after])
  const called = inheritedCalls.map(({ task }): [string, number] => [task.split('/')[0] ?? '', 0])
  return [...called, ...steps]
}

export function kindOf(wait: TaskState['wait'], child: unknown): string {
  if (wait !== undefined) return wait === 'event' ? 'a wait for an event' : `a ${wait}`
  return child === undefined ? 'a function' : 'a crew'
}

/**
 * Why a recorded answer doesn't answer this question: `about` differs, or the text differs and an earlier result has
 * changed. Another wording alone is no reason to ask again.
 */
function whyAskedAgain(
  state: RunState,
  path: string | undefined,
  { text, about = null }: Extract<Wait, { wait: 'question' }>,
  outOfDate: () => string[],
): string[] {
  const asked = questionsAt(state, path ?? '').find(({ question }) => question.kind === 'value')
  // an inherited answer: the question is in another run
  if (asked?.question.kind !== 'value') return outOfDate()
  const { question } = asked
  if (digest(question.about ?? null) !== digest(about)) return ['what it asks about has changed']
  return question.text === text ? [] : outOfDate()
}

/** The fields of a fingerprint that are about inputs. */
export function inputFields(fingerprint: Fingerprint): Fingerprint {
  const isInput = (field: string): boolean => /^(input|input:.*|crew inputs)$/s.test(field)
  return Object.fromEntries(Object.entries(fingerprint).filter(([field]) => isInput(field)))
}

/** The steps that failed with this error, with its causes or with its `errors`. An error may refer to itself. */
function stepsIn(error: unknown, failures: WeakMap<object, string>): string[] {
  const parts = new Set([error])
  // a set that grows while it is iterated
  for (const part of parts) {
    if (typeof part !== 'object' || part === null) continue
    const { cause, errors } = part as { readonly cause?: unknown; readonly errors?: unknown }
    for (const next of [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])]) parts.add(next)
  }
  return [...parts].flatMap((part) => (typeof part === 'object' && part !== null && failures.get(part)) || [])
}

/** The old name under which a renamed step is recorded. Undefined if it isn't, or has a record of its own. */
export function oldName({ tasks }: RunState, { calls }: Pass, { name, was }: StepCall): string | undefined {
  return tasks.has(name) ? undefined : was.find((old) => tasks.has(old) && !calls.has(old))
}

/** Marks a promise as handled: a rejection that the flow doesn't await must not end the process. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** The error that the function of a flow receives for a failed step. Rebuilt from the journal, in every process. */
export function stepError(run: string, step: string, { code, message, name, data }: Failure): RepriseError {
  const known = Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'TASK_FAILED'
  const error = new RepriseError(known, message, { runId: run, task: step })
  if (name !== undefined) error.name = name
  const own = Object.entries(data ?? {}).filter(([member]) => !(member in error))
  return Object.assign(error, Object.fromEntries(own))
}

/** Thrown by `read` if a recorded result does not fit today's schema. */
export class Misfit extends Error {}
