// The public exports of `reprise`.
import './base/node-version.ts'

export type { AdvanceOutcome, AdvanceOptions } from './crew/verbs/advance.ts'
export type { ResumeAllOptions, ResumeAllResult } from './crew/verbs/resume-all.ts'
export { Agent } from './crew/agent.ts'
export type { Backtest, BacktestCase, BacktestOptions, BacktestOutput } from './crew/verbs/backtest.ts'
export type { CallbackContext, CrewCallbacks, CrewStep } from './crew/callbacks.ts'
export { Crew } from './crew/crew.ts'
export type { AgentOptions } from './crew/options/agent-options.ts'
export type { CrewOptions } from './crew/options/crew-options.ts'
export type { CodeTaskOptions, CrewTaskOptions, TaskOptions } from './crew/options/task-options.ts'
export type { EnqueueOptions, PriorityName } from './crew/verbs/enqueue.ts'
export type { ForkOptions, NewRunOptions, ReplayOptions } from './crew/verbs/fork.ts'
export type { KickoffOptions } from './crew/verbs/kickoff.ts'
export type { PlanOptions } from './crew/verbs/plan.ts'
export type { ResumeOptions } from './crew/verbs/resume.ts'
export type { RunList, RunsOptions } from './crew/verbs/runs.ts'
export type { Decision, SignedBy, TaskDecisionOptions } from './crew/verbs/shared-options.ts'
export { file, type FileOptions, type InputFile } from './crew/file.ts'
export type { Schedule, ScheduleOptions } from './crew/queue/read-schedule.ts'
export type { Guardrail, Verdict } from './crew/guardrails.ts'
export type { EventsOptions, EventsRequest, ResponseOptions, RunEvents } from './crew/result/event-stream.ts'
export type { CheckOutcome, RunCheck } from './crew/verbs/check.ts'
export type { ForEachOptions, ForEachResult } from './crew/verbs/for-each.ts'
export type { OnPlan, Plan, PlanEstimate } from './crew/result/plan.ts'
export type { CompletedResult, RunResult, SuspendedResult, TaskOutput } from './crew/result/result.ts'
export type { TaskReference } from './crew/result/task-reference.ts'
export { Run, type RunPromise } from './crew/run.ts'
export type { RunView } from './crew/result/view-run.ts'
export { Task } from './crew/task.ts'
export type { TelemetryOptions } from './crew/telemetry/telemetry.ts'
export type { Span, SpanAttributes, Tracer } from './crew/telemetry/tracer.ts'
export type { ImportedRun, ImportOptions } from './engine/history/import-run.ts'
export type { PruneResult, PrunedRun, PruneLimits } from './runs/prune.ts'
export type {
  CodeContext,
  Condition,
  GuardrailInput,
  Logger,
  OnQuestion,
  ConditionContext,
} from './engine/definition.ts'
export type { CaughtUpEvent, Delta, RunEvent } from './engine/follow/listeners.ts'
export type { EffectsPolicy, StalePolicy } from './engine/plan/plan-fork.ts'
export type { StaleTask } from './engine/plan/stale-tasks.ts'
export { errorCodes, RepriseError, type ErrorCode } from './base/errors.ts'
export type { NextAction, NextStep } from './base/next.ts'
export type {
  Answer,
  Entry,
  PlannedTask,
  Limit,
  OrphanedTask,
  Question,
  RunStatus,
  TaskListChanges,
  Usage,
} from './journal/entries.ts'
export type { RunDiff } from './runs/diff/diff-runs.ts'
export type { DeletedRun, Descendant, Lineage, RelatedRun } from './runs/lineage.ts'
export type { PlannedOutcome } from './runs/plan-outcomes.ts'
export type { RunViewStatus, TaskViewStatus } from './runs/status.ts'
export type { RunSummary } from './runs/summary.ts'
export type { TaskView } from './runs/task-view.ts'
export type { Json } from './journal/json.ts'
export type { AskedQuestion, AskingTask, OpenQuestion } from './journal/state/open-questions.ts'
export type { Price, Prices } from './models/prices.ts'
export { defaultModel, type LanguageModel } from './models/resolve/resolve-model.ts'
export type { ModelSettings } from './models/resolve/settings.ts'
export {
  tool,
  type Effect,
  type ReadFile,
  type Settlement,
  type Tool,
  type ToolContext,
  type Tools,
} from './tools/tool.ts'
export type { ToolOptions } from './tools/tool-options.ts'
