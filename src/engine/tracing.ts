// How a run is watched from outside while it is executed: its life in this process, its attempts, its model calls and its tool calls.
// Only what is done is told; what is read back from the journal is not. Whoever implements this gives and throws what the
// work gives and throws, and finds what stands in what by the paths. Without one, an undefined check is all that it costs.
import type { Json } from '../journal/json.ts'
import type { AttemptState, CallState, RunState, ToolOutcome } from '../journal/state/state.ts'
import type { ModelReply, ModelRequest } from '../models/call-model.ts'
import type { Effect } from '../tools/tool.ts'
import type { TaskDefinition } from './definition.ts'
import type { Judged } from './judge/judged.ts'

export interface Tracing {
  /** One life of a run. The work is handed what its steps are traced with; several runs may be under way at once. */
  run(state: RunState, work: (tracing: RunTracing) => Promise<RunState>): Promise<RunState>
}

export interface RunTracing {
  /** What an attempt takes in this life. Undefined is one that waits, or was halted. */
  attempt<Ended extends { readonly judged: Judged } | undefined>(
    attempt: AttemptState,
    task: TaskDefinition,
    work: () => Promise<Ended>,
  ): Promise<Ended>
  /** One model call, with all its tries. */
  model(
    path: string,
    attempt: AttemptState,
    request: ModelRequest,
    work: () => Promise<ModelReply>,
  ): Promise<ModelReply>
  tool<Ended extends ToolOutcome | { readonly abandoned: string }>(
    call: TracedCall,
    work: () => Promise<Ended>,
  ): Promise<Ended>
  /** A call that got its outcome without the tool being called: from the record, from a person, or a refusal. */
  notCalled(call: TracedCall, outcome: ToolOutcome, source: CallState['source']): void
}

export interface TracedCall {
  readonly attempt: AttemptState
  readonly call: CallState
  readonly input: Json
  /** Undefined where there is no such tool. */
  readonly tool?: { readonly effect: Effect }
}
