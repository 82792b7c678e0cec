// A call of a function task, while it is in progress. A kickoff finds the call here by asynchronous context, and
// becomes a child run (kickoff-within.ts).
//
// A child may wait: for a person, or for a worker with more time. Its kickoff then has no result, and the promise stays
// pending. When no other kickoff of the function is in progress, the call is interrupted, and the run waits too. The
// function is called again when the child can continue, and its completed kickoffs are read back.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { AttemptState } from '../../journal/state/state.ts'
import { callPath, turnPath } from '../../journal/paths.ts'
import type { TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'

/** A function, tool or guardrail of a run, while it is called. */
export interface RunningCode {
  readonly life: Life
  /** `function chapters`, `tool search of task note`. */
  readonly what: string
  /** Its kickoffs that are not child runs. */
  readonly uncounted: Set<string>
  /** For a function task, whose kickoffs are child runs. */
  readonly call?: FunctionCall
}

export interface FunctionCall {
  readonly life: Life
  readonly task: TaskDefinition
  /** `chapters#1/1.0`. */
  readonly path: string
  /** Aborts with the life, and when the function's time is up. */
  readonly signal: AbortSignal
  /** Aborts with `signal`, and when the call is interrupted. */
  readonly interruptible: AbortSignal
  /** The function has returned or thrown, and its kickoffs have ended. */
  readonly isOver: boolean
  /** How many kickoffs without an id have a name. */
  readonly names: Map<string, number>
  /** The kickoffs whose runs are executed now, by name: resolved when they are at rest. */
  readonly inProgress: Map<string, Promise<void>>
  /** Attempts whose outcome the function has. */
  readonly handed: Set<string>
  /** As of `RunningCode`. */
  readonly uncounted: Set<string>
  /** A kickoff begins. Call the result when the function has its outcome. */
  enter(): () => void
  /** A kickoff that has begun will have no outcome, since its run waits. */
  wait(): void
  /** Interrupts the call with an error that fails the task, or stops the run, whatever the function catches. */
  fail(error: unknown): void
  /** The function has returned or thrown. Resolves when no kickoff is in progress. */
  end(): Promise<void>
}

/** The reason of a signal: a child waits, or the call fails. */
export class Interruption {
  readonly failure: { readonly error: unknown } | undefined
  constructor(failure?: { readonly error: unknown }) {
    this.failure = failure
  }
}

const running = new AsyncLocalStorage<RunningCode | undefined>()

/** The code that this is called by, directly or not. */
export function runningCode(): RunningCode | undefined {
  return running.getStore()
}

export function functionCall(): FunctionCall | undefined {
  return runningCode()?.call
}

export function runCode<T>(code: RunningCode | undefined, work: () => T): T {
  return running.run(code, work)
}

/** Warns of a run that code of another run executes beside it: once for the code and the crew, naming the first run. */
export function warnOfRunBeside(
  { life, what }: RunningCode,
  { crew, run, why }: { readonly crew: string; readonly run: string | undefined; readonly why: string },
): void {
  const warned = `${what} executes ${crew} beside its run`
  if (life.warned.has(warned)) return
  life.warned.add(warned)
  const named = run === undefined ? `a run of crew ${crew}` : `run ${run}`
  const words = `${named}, executed by ${what}, does not work for run ${life.state.run}, since ${why}`
  life.crew.logger.warn(`${words}: its usage, budget, questions and cancellation are its own`)
}

/** For an entry. */
export function uncountedField({ uncounted }: Pick<RunningCode, 'uncounted'>): {
  readonly uncounted?: readonly string[]
} {
  return uncounted.size > 0 ? { uncounted: [...uncounted] } : {}
}

export function openFunctionCall(
  life: Life,
  task: TaskDefinition,
  attempt: AttemptState,
  signal: AbortSignal,
): FunctionCall {
  const interrupted = new AbortController()
  let entered = 0
  let waiting = 0
  /** Set when the function has returned or thrown; resolved when no kickoff is in progress. */
  let ending: PromiseWithResolvers<void> | undefined
  let isOver = false
  const check = (): void => {
    if (entered > 0) return
    if (ending) ending.resolve()
    // a turn later: what the function does next with what it was just given may be another kickoff
    else if (waiting > 0) setImmediate(() => entered === 0 && !ending && interrupted.abort(new Interruption()))
  }
  return {
    life,
    task,
    path: callPath(turnPath(attempt.path, 1), 0),
    signal,
    interruptible: AbortSignal.any([signal, interrupted.signal]),
    get isOver() {
      return isOver
    },
    names: new Map(),
    inProgress: new Map(),
    handed: new Set(),
    uncounted: new Set(),
    enter() {
      entered += 1
      let left = false
      return () => {
        if (left) return
        left = true
        entered -= 1
        check()
      }
    },
    wait() {
      entered -= 1
      waiting += 1
      check()
    },
    fail: (error) => interrupted.abort(new Interruption({ error })),
    async end() {
      ending = Promise.withResolvers()
      check()
      await ending.promise
      isOver = true
    },
  }
}
