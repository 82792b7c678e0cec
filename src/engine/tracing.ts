// The tracing interface: an implementation wraps the life of a run in this process, its attempts, model calls and tool
// calls. Only executed work is traced, not results from the journal. An implementation returns and throws what the work
// returns and throws; paths show how the work nests. Without tracing, the only cost is an undefined check.
import type { Json } from '../journal/json.ts'
import type { AttemptState, CallState, RunState, ToolOutcome } from '../journal/state/state.ts'
import type { ModelReply, ModelRequest } from '../models/call-model.ts'
import type { Effect } from '../tools/tool.ts'
import type { TaskDefinition } from './definition.ts'
import type { Verdict } from './task/judge-output.ts'

export interface Tracing {
  /** One life of a run; `work` receives the tracing of its steps. Several runs may be in progress at once. */
  run(state: RunState, work: (tracing: RunTracing) => Promise<RunState>): Promise<RunState>
}

export interface RunTracing {
  /** The part of an attempt in this life. `work` returns undefined if the attempt waits or was stopped. */
  attempt<Ended extends { readonly judged: Verdict } | undefined>(
    attempt: AttemptState,
    task: TaskDefinition,
    work: () => Promise<Ended>,
  ): Promise<Ended>
  /** One model call, including retries. */
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
  /** A tool call answered without calling the tool: from the record, by a person, or with a refusal. */
  notCalled(call: TracedCall, outcome: ToolOutcome, source: CallState['source']): void
}

export interface TracedCall {
  readonly attempt: AttemptState
  readonly call: CallState
  readonly input: Json
  /** Undefined if the tool doesn't exist. */
  readonly tool?: { readonly effect: Effect }
}
