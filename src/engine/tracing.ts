// The tracing interface. An implementation wraps a run's life in this process, its attempts, model calls and tool
// calls, and passes on what the wrapped work returns or throws. Only executed work is traced, not results read from the
// journal. Paths show how work nests. Without tracing, the only cost is an undefined check.
import type { Json } from '../journal/json.ts'
import type { AttemptState, CallState, RunState, ToolOutcome } from '../journal/state/state.ts'
import type { ModelReply, ModelRequest } from '../models/call-model.ts'
import type { Effect } from '../tools/tool.ts'
import type { TaskDefinition } from './definition.ts'
import type { Verdict } from './task/judge-output.ts'

export interface Tracing {
  /** Wraps one life of a run; `work` receives the tracing of its steps. Several runs may be in progress at once. */
  run(state: RunState, work: (tracing: RunTracing) => Promise<RunState>): Promise<RunState>
}

export interface RunTracing {
  /** Wraps the part of an attempt in this life. `work` returns undefined if the attempt waits or was stopped. */
  attempt<Ended extends { readonly judged: Verdict } | undefined>(
    attempt: AttemptState,
    task: TaskDefinition,
    work: () => Promise<Ended>,
  ): Promise<Ended>
  /** Wraps one model call, including its retries. */
  model(
    path: string,
    attempt: AttemptState,
    request: ModelRequest,
    work: () => Promise<ModelReply>,
  ): Promise<ModelReply>
  /** Wraps one tool call. */
  tool<Ended extends ToolOutcome | { readonly abandoned: string }>(
    call: TracedCall,
    work: () => Promise<Ended>,
  ): Promise<Ended>
  /** Reports a tool call answered without calling the tool: from the journal, by a person, or with a refusal. */
  notCalled(call: TracedCall, outcome: ToolOutcome, source: CallState['source']): void
}

export interface TracedCall {
  readonly attempt: AttemptState
  readonly call: CallState
  readonly input: Json
  /** Undefined if the tool doesn't exist. */
  readonly tool?: { readonly effect: Effect }
}
