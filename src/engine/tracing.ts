// How a run is traced from outside while it is executed: its life in this process, its attempts, its model calls and
// its tool calls. Only work that is done is traced, not what is read back from the journal. An implementation returns
// and throws what the work returns and throws, and sees from the paths what belongs to what. Without one, the only cost
// is an undefined check.
import type { Json } from '../journal/json.ts'
import type { AttemptState, CallState, RunState, ToolOutcome } from '../journal/state/state.ts'
import type { ModelReply, ModelRequest } from '../models/call-model.ts'
import type { Effect } from '../tools/tool.ts'
import type { TaskDefinition } from './definition.ts'
import type { Verdict } from './guardrails/verdict.ts'

export interface Tracing {
  /** One life of a run. The work is given what its steps are traced with; several runs may be in progress at once. */
  run(state: RunState, work: (tracing: RunTracing) => Promise<RunState>): Promise<RunState>
}

export interface RunTracing {
  /** The part of an attempt in this life. Undefined for one that waits, or was stopped. */
  attempt<Ended extends { readonly judged: Verdict } | undefined>(
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
