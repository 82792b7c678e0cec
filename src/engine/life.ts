// A life is one process's work on a run: the right to append to it, the crew as the code defines it now, the caller's
// options, and all that is remembered for that long. A piece of work in it is an attempt at a task that is in progress.
import type { Question } from '../journal/entries.ts'
import type { AttemptState, RunState, ToolOutcome } from '../journal/state/state.ts'
import { createNotifier, type Notifier } from '../base/notifier.ts'
import { serially, seriallyByName, type SerialQueue, type SerialQueues } from '../base/serially.ts'
import { earlierCalls, type EarlierCalls } from './calls/earlier-calls.ts'
import type { CrewDefinition, ExecuteOptions, TaskDefinition } from './definition.ts'
import type { Hold } from './lease/hold.ts'
import type { RunTracing } from './tracing.ts'

export interface Life extends Hold {
  readonly crew: CrewDefinition
  readonly options: ExecuteOptions
  readonly tracing: RunTracing | undefined
  /** What the run works for, when it is the run of a task that is a crew. */
  readonly parent: ParentContext | undefined
  /** Executes the run of a task that is a crew. */
  readonly executeRun: ExecuteRun
  /** Of the first task that failed: no other is started, and those in progress end after their current step. */
  failure: { readonly error: unknown } | undefined
  /** Wakes the loop that waits for tasks to become ready. */
  readonly waker: Notifier
  /** Questions that were put to the caller, by id. */
  readonly asked: Map<string, Question>
  /**
   * Idempotency keys that were given out and are not recorded yet, by the path of the call: two calls may be made at
   * once.
   */
  readonly keys: Map<string, { readonly attempt: string; readonly key: string }>
  /** Outcomes of `once` calls that were made here and are not on record yet, by the path of the call. */
  readonly unwritten: Map<string, Promise<ToolOutcome | undefined>>
  /** The runs within, at every depth, by id: as they are executed here, or as they were when they were read. */
  readonly childRuns: Map<string, RunState>
  /** The crews that its functions have kicked off in this life, by address: `chapters/intro`. */
  readonly kickedOff: Map<string, CrewDefinition>
  /** Calls that other code made before. */
  readonly earlier: EarlierCalls
  /** Warnings of models that were already logged. */
  readonly warned: Set<string>
  /** The last step that the caller was told about. After one that threw, no more follow: the run fails. */
  readonly told: { seq: number; failed?: { readonly error: unknown } }
  readonly queue: {
    /** Telling the caller about steps. */
    readonly steps: SerialQueue
    /** Asking for a higher budget: several branches may get there at once, and one question is enough. */
    readonly budget: SerialQueue
    /** Equal calls of tools whose results are kept. */
    readonly equalCalls: SerialQueues
  }
}

/** The run that another one works for, as the other sees it. */
export interface ParentContext {
  /** The crew of the task, and those that it works for. */
  readonly crews: readonly CrewDefinition[]
  readonly within: Life['childRuns']
  readonly earlier: Pick<EarlierCalls, 'load' | 'unclaimed'>
  /** Rejects with LimitReached when that run, or one that it works for, has used up what it may take. */
  checkBudget(): Promise<void>
}

/** The state of the run when it is completed or suspended; rejects when it failed, was cancelled or was lost. */
export type ExecuteRun = (
  hold: Hold,
  crew: CrewDefinition,
  options: ExecuteOptions,
  outer?: ParentContext,
) => Promise<RunState>

/** An attempt at a task that is in progress. */
export interface ActiveAttempt {
  readonly life: Life
  readonly task: TaskDefinition
  readonly attempt: AttemptState
  /** Aborts with the life, or when the time for the attempt is up. */
  readonly signal: AbortSignal
  /** Does what the agent hands to another one. */
  readonly delegate?: Delegate
}

/** The work of another agent within a call of this one; undefined while a question is open there. */
export type Delegate = (work: ActiveAttempt, call: string, tool: string, input: unknown) => Promise<string | undefined>

type LifeOptions = Pick<Life, 'crew' | 'options' | 'tracing' | 'parent' | 'executeRun'>

export function newLife(hold: Hold, given: LifeOptions): Life {
  if (!given.parent) hold.tree.slice.until = given.options.until
  const kickedOff = new Map<string, CrewDefinition>()
  return {
    ...hold,
    ...given,
    failure: undefined,
    waker: createNotifier(),
    asked: new Map(),
    kickedOff,
    earlier: earlierCalls({ engine: hold.engine, state: hold.state, kickedOff, ...given }),
    warned: new Set(),
    keys: new Map(),
    unwritten: new Map(),
    childRuns: given.parent?.within ?? hold.engine.within ?? new Map(),
    told: { seq: hold.state.told ?? 0 },
    queue: { steps: serially(), budget: serially(), equalCalls: seriallyByName() },
  }
}
