// The public exports of `reprise`: what users write in their own code, and what methods return. Types that are only
// members of these are reached by indexing, as in `Plan['estimate']`, and have no name here.
import './base/node-version.ts'

export { Agent } from './crew/agent.ts'
export { chat, type Chat, type ChatOptions } from './crew/chat/chat.ts'
export type {
  Conversation,
  ConversationMessage,
  ForkConversationOptions,
  Reply,
  SendMessageOptions,
} from './crew/chat/conversation.ts'
export { Crew } from './crew/crew.ts'
export { Flow } from './crew/flow/flow.ts'
export { file, type InputFile } from './crew/file.ts'
export { Run, type RunPromise } from './crew/run.ts'
export { Task } from './crew/task.ts'
export { errorCodes, RepriseError, type ErrorCode } from './base/errors.ts'
export { defaultModel, type LanguageModel } from './models/resolve/resolve-model.ts'
export { tool, type Effect, type Settlement, type Tool, type ToolContext, type Tools } from './tools/tool.ts'

export type { AgentKickoffOptions } from './crew/agent-crew.ts'
export type { ChildResult, FlowRun, StepOptions } from './crew/flow/flow-types.ts'
export type { Duration } from './crew/flow/step-options.ts'
export type { FlowOptions } from './crew/options/flow-options.ts'
export type { AgentOptions } from './crew/options/agent-options.ts'
export type { CrewOptions } from './crew/options/crew-options.ts'
export type { CodeTaskOptions, CrewTaskOptions, TaskOptions } from './crew/options/task-options.ts'
export type { EnqueueOptions } from './crew/verbs/enqueue.ts'
export type { ForkOptions } from './crew/verbs/fork.ts'
export type { KickoffOptions } from './crew/verbs/kickoff.ts'
export type { ResumeOptions } from './crew/verbs/resume.ts'
export type { SendOptions } from './crew/verbs/send.ts'
export type { RunList, RunsOptions } from './crew/verbs/runs.ts'
export type { ModelSettings } from './models/resolve/resolve-model.ts'
export type { Prices } from './models/cost.ts'
export type { ToolOptions } from './tools/tool-options.ts'

export type { AdvanceOutcome } from './crew/verbs/advance.ts'
export type { Backtest } from './crew/result/backtest.ts'
export type { BacktestPlan } from './crew/verbs/plan-backtest.ts'
export type { CrewDescription } from './crew/define/describe.ts'
export type { ForEachResult } from './crew/verbs/for-each.ts'
export type { ImportedRun } from './engine/history/import-run.ts'
export type { Lineage } from './runs/lineage.ts'
export type { OpenQuestion } from './journal/state/open-questions.ts'
export type { Plan } from './crew/result/plan.ts'
export type { PruneResult } from './runs/prune.ts'
export type { RunCheck } from './crew/verbs/check.ts'
export type { RunEvent } from './read/listeners.ts'
export type { RunEvents } from './crew/result/event-stream.ts'
export type { RunResult } from './crew/result/result.ts'
export type { RunSummary } from './runs/summary.ts'
export type { RunView } from './crew/result/result.ts'
export type { Schedule } from './crew/queue/schedule.ts'
export type { TaskResult, TaskView } from './runs/task-view.ts'
export type { Answer, Question } from './journal/entries.ts'

export type { CodeContext, ConditionContext, Logger, OnQuestion } from './engine/definition.ts'
export type { Guardrail } from './crew/guardrails.ts'
