// One task of a run in full, as plain JSON: its description, and every attempt with its model calls and tool calls.
import type { FailedTry, ReplyPart, Usage } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type {
  AttemptState,
  CallState,
  RunState,
  SentRequest,
  TaskState,
  ToolOutcome,
  TurnState,
} from '../../journal/state/state.ts'
import type { TaskView } from '../../runs/task-view.ts'

export interface WholeTask extends TaskView {
  readonly runId: string
  readonly history: readonly AttemptRecord[]
}

export interface AttemptRecord {
  readonly path: string
  readonly status: AttemptState['status']
  readonly agent: string | undefined
  readonly startedAt: string
  /** The attempt whose conversation is continued, and the message that was added. */
  readonly carries: AttemptState['carries']
  readonly refusal: string | undefined
  readonly refusedBy: string | undefined
  /** The child run that executed a nested crew. */
  readonly child: string | undefined
  /** Absent for a function task. */
  readonly request: SentRequest | undefined
  readonly turns: readonly TurnRecord[]
}

export interface TurnRecord {
  readonly path: string
  /**
   * When the model was called, and when its reply was recorded. Function tasks have none of the fields about a model.
   */
  readonly startedAt: string | undefined
  readonly repliedAt: string | undefined
  readonly model: string | undefined
  readonly usage: Usage | undefined
  readonly finish: string | undefined
  readonly tries: readonly FailedTry[] | undefined
  readonly parts: readonly ReplyPart[] | undefined
  readonly calls: readonly CallRecord[]
}

export interface CallRecord {
  readonly path: string
  readonly tool: string
  readonly input: Json
  readonly effect: CallState['effect']
  readonly calledAt: string | undefined
  /** How often it was started. */
  readonly times: number
  readonly outcome: ToolOutcome | undefined
  readonly source: CallState['source']
  readonly abandoned: string | undefined
  /** Where the tool threw in the user's own code. */
  readonly stack: string | undefined
}

export function wholeTask(state: RunState, task: TaskState, view: TaskView): WholeTask {
  const attempts = [...task.attempts, ...task.nested].flatMap((path) => state.attempts.get(path) ?? [])
  // in the order of their starts: attempts within a step come after the attempt that has the step
  const history = attempts.toSorted((a, b) => a.seq - b.seq).map(attemptRecord)
  return { runId: state.run, ...view, history }
}

function attemptRecord(attempt: AttemptState): AttemptRecord {
  const { path, status, startedAt, carries, refusal, refusedBy, child } = attempt
  const asked = attempt.request.model !== ''
  return {
    path,
    status,
    agent: attempt.agent === '' ? undefined : attempt.agent,
    startedAt,
    carries,
    refusal,
    refusedBy,
    child,
    request: asked ? attempt.request : undefined,
    turns: attempt.turns.map((turn) => turnRecord(turn, asked)),
  }
}

function turnRecord({ path, reply, calls }: TurnState, asked: boolean): TurnRecord {
  const records = calls.map(callRecord)
  const none = { startedAt: undefined, repliedAt: undefined, model: undefined, usage: undefined }
  if (!asked) return { path, ...none, finish: undefined, tries: undefined, parts: undefined, calls: records }
  const { startedAt, at: repliedAt, model, usage, finish, tries, parts } = reply
  return { path, startedAt, repliedAt, model, usage, finish, tries, parts, calls: records }
}

function callRecord(call: CallState): CallRecord {
  const { path, request, input = request.input, effect, calledAt, times, outcome, source, abandoned, stack } = call
  return { path, tool: request.tool, input, effect, calledAt, times, outcome, source, abandoned, stack }
}
