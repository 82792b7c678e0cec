// A life is one process's work on a run: the hold, the crew as today's code defines it, the caller's options, and the
// in-memory state of the execution.
import type { Question } from '../journal/entries.ts'
import type { AttemptState, RunState, ToolOutcome } from '../journal/state/state.ts'
import type { Notifier, SerialQueue, SerialQueues } from '../base/notifier.ts'
import type { EarlierCalls } from './calls/earlier-calls.ts'
import type { CrewDefinition, ExecuteOptions, TaskDefinition } from './definition.ts'
import type { Pass } from './flow/pass.ts'
import type { Hold } from './lease/hold.ts'
import type { RunTracing } from './tracing.ts'

export interface Life extends Hold {
  readonly crew: CrewDefinition
  readonly options: ExecuteOptions
  readonly tracing: RunTracing | undefined
  /** Child runs: the parent. */
  readonly parent: ParentContext | undefined
  /** Executes the child run of a nested crew. */
  readonly executeRun: ExecuteRun
  /** Set by the first failure that ends the run: no other task starts, and tasks in progress end after their step. */
  failure: { readonly error: unknown } | undefined
  /** Flows: the call of its function. */
  pass: Pass | undefined
  /** Flows: the failed steps that a resume executes again, once the function has thrown. */
  failedSteps: readonly string[] | undefined
  /** Wakes the loop that waits for tasks to become ready. */
  readonly waker: Notifier
  /** Questions already passed to `onQuestion`, by id. */
  readonly asked: Map<string, Question>
  /** Idempotency keys in use but not recorded yet, by call path: parallel calls must not share a key. */
  readonly keys: Map<string, { readonly attempt: string; readonly key: string }>
  /** Outcomes of `once` calls not recorded yet, by call path. */
  readonly unwritten: Map<string, Promise<ToolOutcome | undefined>>
  /** Child runs at every depth, by id: the live state if executed here, otherwise the state as read. */
  readonly childRuns: Map<string, RunState>
  /** Crews kicked off by functions in this life, by address: `chapters/intro`. */
  readonly kickedOff: Map<string, CrewDefinition>
  /** The `once` calls made before this life. */
  readonly earlier: EarlierCalls
  /** Model warnings already logged. */
  readonly warned: Set<string>
  /** The steps up to `seq` were passed to the step callback. Once the callback has thrown, it is not called again. */
  readonly reported: { seq: number; failed?: { readonly error: unknown } }
  readonly queue: {
    /** Calls of the step callback. */
    readonly steps: SerialQueue
    /** Requests for a higher budget: several branches may hit the limit at once, and one question is enough. */
    readonly budget: SerialQueue
    /** Steps of a flow that look for an event: each event is received once, by the step that has waited longest. */
    readonly events: SerialQueue
    /** Equal calls of tools with a cache. */
    readonly equalCalls: SerialQueues
  }
}

/** A parent run, as its child runs see it. */
export interface ParentContext {
  /** The parent's crew, and the crews above it. */
  readonly crews: readonly CrewDefinition[]
  readonly within: Life['childRuns']
  /** The address of the child run in its parent: `research`, or `chapters/intro` for a kickoff by a function. */
  readonly address: string
  readonly earlier: Pick<EarlierCalls, 'load' | 'unclaimed'>
  /** Rejects with LimitReached if the budget of the parent, or of a run above it, is used up. */
  checkBudget(): Promise<void>
}

/** Resolves with the state of a completed or suspended run; rejects if it failed, was cancelled or lost its lease. */
export type ExecuteRun = (
  hold: Hold,
  crew: CrewDefinition,
  options: ExecuteOptions,
  outer?: ParentContext,
) => Promise<RunState>

/** An attempt in progress. */
export interface ActiveAttempt {
  readonly life: Life
  readonly task: TaskDefinition
  readonly attempt: AttemptState
  /** Aborts with the life, or when the attempt times out. */
  readonly signal: AbortSignal
  /** Executes the delegations of the agent. */
  readonly delegate?: Delegate
}

/** Executes a coworker's work within a tool call of the agent. Resolves with undefined while the coworker waits. */
export type Delegate = (work: ActiveAttempt, call: string, tool: string, input: unknown) => Promise<string | undefined>
