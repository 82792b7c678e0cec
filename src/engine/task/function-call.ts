// The call in progress of a function task. A kickoff inside the function finds the call by its asynchronous context,
// and becomes a child run (kickoff-child.ts).
//
// If the child is suspended, waiting for a person or for a worker with more time, the promise of its kickoff stays
// pending. Once no other kickoff of the function is in progress, the call is interrupted, and the parent is suspended
// too. When the child can continue, the function is called again, and its completed kickoffs are read back.
import { AsyncLocalStorage } from 'node:async_hooks'
import { RepriseError } from '../../base/errors.ts'
import { functionCallPath } from '../../journal/paths.ts'
import type { TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'

/** A function, tool or guardrail of a run that is being called. */
export interface RunningCode {
  readonly life: Life
  /** `function chapters`, `tool search of task note`. */
  readonly what: string
  /** Ids of the runs that it kicked off and that are not child runs. */
  readonly uncounted: Set<string>
  /** The function of a flow, outside of steps: it is called again in every process that continues the run. */
  readonly isFlow?: boolean
  /** Function tasks only: their kickoffs become child runs. */
  readonly call?: FunctionCall
}

export interface FunctionCall {
  readonly life: Life
  readonly task: TaskDefinition
  /** The path of the call: `chapters#1/1.0`. */
  readonly path: string
  /** Aborts with the run, and when the function's time is up. */
  readonly signal: AbortSignal
  /** Aborts with `signal`, and when the call is interrupted. */
  readonly interruptible: AbortSignal
  /** The function has returned or thrown, and its kickoffs have ended. */
  readonly isOver: boolean
  /** How many kickoffs without an id have each name. */
  readonly names: Map<string, number>
  /** The kickoffs whose runs are being executed, by name. Each promise resolves when the run ends or is suspended. */
  readonly inProgress: Map<string, Promise<void>>
  /** Attempts whose outcome the function has received. */
  readonly delivered: Set<string>
  /** See `RunningCode`. */
  readonly uncounted: Set<string>
  /** Call it when a kickoff starts. Returns a function to call when the kickoff has its outcome. */
  enter(): () => void
  /** Call it when a started kickoff gets no outcome, since its run is suspended. */
  wait(): void
  /** Interrupts the call with an error that fails the task or stops the run, even if the function catches errors. */
  fail(error: unknown): void
  /** Call it when the function has returned or thrown. Resolves when no kickoff is in progress. */
  end(): Promise<void>
}

/** The reason with which `interruptible` aborts: a child is suspended, or the call fails. */
export class Interruption {
  readonly failure: { readonly error: unknown } | undefined
  constructor(failure?: { readonly error: unknown }) {
    this.failure = failure
  }
}

const running = new AsyncLocalStorage<RunningCode | undefined>()

/** Returns the code of a run, if any, in whose asynchronous context the caller is. */
export function runningCode(): RunningCode | undefined {
  return running.getStore()
}

/** Returns the call of a function task, if any, in whose asynchronous context the caller is. */
export function functionCall(): FunctionCall | undefined {
  return runningCode()?.call
}

/** Calls user code in the asynchronous context of `code`. */
export function runCode<T>(code: RunningCode | undefined, work: () => T): T {
  return running.run(code, work)
}

/** Throws OPTION_INVALID in the function of a flow, outside of its steps: what it starts there, it starts again. */
export function refuseOutsideSteps(what: string): void {
  const code = runningCode()
  if (!code?.isFlow) return
  const words = `${code.what} starts ${what} outside of its steps, and would start it again whenever its run continues; use flow.run(crew, inputs)`
  throw new RepriseError('OPTION_INVALID', words, { runId: code.life.state.run })
}

/** Records a run that user code starts as one whose usage is not counted. Does nothing outside of a run's code. */
export function noteUncountedRun(run: string, crew: string, why: string): void {
  const code = runningCode()
  code?.uncounted.add(run)
  if (code) warnOfUncountedRun(code, { crew, run, why })
}

/** Warns, once per caller and crew, that a run started by user code is not a child run. */
export function warnOfUncountedRun(
  { life, what }: RunningCode,
  { crew, run, why }: { readonly crew: string; readonly run: string | undefined; readonly why: string },
): void {
  const warned = `${what} starts ${crew} outside its run`
  if (life.warned.has(warned)) return
  life.warned.add(warned)
  const named = run === undefined ? `a run of crew ${crew}` : `run ${run}`
  const words = `${named}, started by ${what}, is not a child run of run ${life.state.run}, since ${why}`
  life.crew.logger.warn(`${words}: its usage, budget, questions and cancellation are its own`)
}

export function uncountedField({ uncounted }: Pick<RunningCode, 'uncounted'>): {
  readonly uncounted?: readonly string[]
} {
  return uncounted.size > 0 ? { uncounted: [...uncounted] } : {}
}

export function openFunctionCall(life: Life, task: TaskDefinition, attempt: string, signal: AbortSignal): FunctionCall {
  const interrupted = new AbortController()
  let entered = 0
  let waiting = 0
  /** Set when the function has returned or thrown; resolved when no kickoff is in progress. */
  let ending: PromiseWithResolvers<void> | undefined
  let isOver = false
  const check = (): void => {
    if (entered > 0) return
    if (ending) ending.resolve()
    // in the next turn of the event loop, since the function may start another kickoff as soon as it has a result
    else if (waiting > 0)
      void life.engine.world.turn().then(() => entered === 0 && !ending && interrupted.abort(new Interruption()))
  }
  return {
    life,
    task,
    path: functionCallPath(attempt),
    signal,
    interruptible: AbortSignal.any([signal, interrupted.signal]),
    get isOver() {
      return isOver
    },
    names: new Map(),
    inProgress: new Map(),
    delivered: new Set(),
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
