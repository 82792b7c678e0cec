// The HTTP API: every endpoint with its request and response, as types. The page imports them without any code, and the
// OpenAPI description is generated from them.
//
// - Paths are relative to `<base>/api`, where base is the path that the studio is mounted at. The server writes it to
//   `<base href="…">` in index.html, so the page finds the API at `new URL('api/', document.baseURI)`.
// - A name in braces is one path segment, encoded with encodeURIComponent: run ids may contain `/` and `#`.
// - Bodies are JSON (`content-type: application/json`). Requests other than GET need one of: the studio's own `Origin`
//   (browsers send it), the header `x-reprise-studio: 1`, a token.
// - A field whose value is undefined is absent from the JSON. Times are ISO 8601; costs are in US dollars.
// - Errors are a `Problem`. 400: invalid request. 401: no valid token. 403: the role, Origin or Host is refused. 409:
//   not possible now, because of the state of the run or because code isn't loaded. 503: the store or a dispatcher is
//   unavailable. 404, 405, 413, 415 and 500 have their usual meaning.
import type { Plan } from '../../crew/result/plan.ts'
import type { RestStatus } from '../../read/follow.ts'
import type { CaughtUpEvent, Delta } from '../../read/listeners.ts'
import type { DecisionForm } from '../../read/questions.ts'
import type { CrewModule, Entry, Failure } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import type { NextStep } from '../../base/next.ts'
import type { RunDiff } from '../../runs/diff/diff-runs.ts'
import type { Lineage } from '../../runs/lineage.ts'
import type { FlowFacts, OpenWait, StepGroup, UntakenEvent } from '../../runs/flow-view.ts'
import type { RunView } from '../../runs/run-view.ts'
import type { RunSummary } from '../../runs/summary.ts'
import type { TaskView } from '../../runs/task-view.ts'
import type { WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { Transcript } from '../../runs/transcript.ts'
import type { Timeline } from '../../runs/timeline.ts'
import type {
  AddedScheduleView,
  BacktestPlan,
  BacktestSummary,
  BacktestView,
  CrewView,
  QueueView,
  ScheduleView,
  SpendingView,
  StepView,
} from './views.ts'
import type * as Requests from './requests.ts'
import type { FieldValues } from './schema.ts'

export type {
  AnswerBody,
  BacktestBody,
  CancelBody,
  EventBody,
  ForkBody,
  KickoffBody,
  NewRunBody,
  PlanBody,
  ReplayBody,
  ResumeBody,
  RunsQuery,
  StartBody,
} from './requests.ts'
export type * from './views.ts'

/**
 * `look`: read everything. `answer`: also answer questions. `act`: also start, resume, cancel, replay and fork runs.
 * Each role includes those before it.
 */
export type Role = 'look' | 'answer' | 'act'

/**
 * Every endpoint with its response. `GET` needs the role `look`, answering a question `answer`, everything else `act`.
 * The session endpoints need none.
 */
export interface Responses {
  /** Exchanges a token for a cookie, which the browser sends with every request. */
  'POST /session': { readonly role: Role }
  /** Removes the cookie. */
  'DELETE /session': { readonly role: Role | undefined }
  'GET /studio': Studio
  'GET /openapi.json': Json

  'GET /questions': Questions
  /** QUESTION_ANSWERED (409) if the question is already answered, ANSWER_INVALID (400). */
  'POST /runs/{run}/questions/{question}': AnswerResult

  'GET /runs': RunPage
  'GET /runs/{run}': RunDetail
  /** The timeline of a flow has only its lives. */
  'GET /runs/{run}/timeline': Timeline
  /** Long values are left out: the task has them. */
  'GET /runs/{run}/tasks': TaskPage
  /** At most 1,000 entries at a time, with all messages. The timeline is smaller. */
  'GET /runs/{run}/entries': { readonly entries: readonly Entry[]; readonly more: boolean }
  /** The last turns of the whole conversation that the run is part of. Long texts are cut off: the steps have them. */
  'GET /runs/{run}/transcript': Transcript
  /** Includes the messages of the task. */
  'GET /runs/{run}/tasks/{task}': WholeTask
  /** `path` is the path of a step in the timeline. */
  'GET /runs/{run}/steps/{path}': StepView
  /** All child runs, nested ones included, oldest first. */
  'GET /runs/{run}/children': { readonly runs: readonly RunSummary[] }
  'GET /runs/{run}/lineage': Lineage
  'GET /runs/{run}/spending': SpendingView
  /** Server-sent events: see `RunStream`. */
  'GET /runs/{run}/events': RunStream
  'GET /diff': RunDiff
  /** Server-sent events: see `ChangeStream`. */
  'GET /changes': ChangeStream

  'GET /backtests': { readonly backtests: readonly BacktestSummary[] }
  'GET /backtests/{backtest}': BacktestView

  'GET /crews': { readonly crews: readonly CrewView[] }
  'GET /crews/{crew}': CrewView
  'GET /queue': QueueView
  /** Schedules declared in the loaded code, and those that were added to the store, both soonest first. */
  'GET /schedules': { readonly schedules: readonly ScheduleView[]; readonly added: readonly AddedScheduleView[] }
  /** Ends a schedule that was added to the store. Runs that it has queued stay. 404 if there is none of this name. */
  'POST /schedules/{schedule}/remove': { readonly name: string }

  /** Spends and writes nothing. NO_CODE (409) if the code of the crew isn't loaded. */
  'POST /crews/{crew}/plan': PlanView
  /** Spends and writes nothing. NO_CODE (409) if the code of the crew isn't loaded. */
  'POST /runs/{run}/plan': PlanView

  /** Responds as soon as the run is stored. The events of the run report its progress. */
  'POST /crews/{crew}/runs': StartedRun
  /** Adds a schedule to the store. NO_CODE (409) if the code of the crew isn't loaded, OPTION_INVALID (400). */
  'POST /crews/{crew}/schedules': AddedScheduleView
  /** Without the code of the crew, or with `how: 'queue'`, a worker executes the run, otherwise the studio does. */
  'POST /runs/{run}/resume': StartedRun
  'POST /runs/{run}/replay': StartedRun
  'POST /runs/{run}/fork': StartedRun
  'POST /runs/{run}/refresh': StartedRun
  'POST /crews/{crew}/backtests/plan': BacktestPlan
  /** Responds as soon as the backtest has started; `GET /backtests/{backtest}` reports its progress. NO_CODE (409). */
  'POST /crews/{crew}/backtests': { readonly id: string; readonly total: number }
  /** Stops a backtest that this studio executes. Finished trials stay. 404 for any other backtest. */
  'POST /backtests/{backtest}/stop': { readonly id: string }
  /**
   * Sends an event to a flow, or a message to a conversation. OPTION_INVALID (400) if the run is not that of a flow,
   * INPUT_INVALID (400) if the conversation takes no such event, RUN_ENDED (409).
   */
  'POST /runs/{run}/events': { readonly runId: string }
  /** Cancels the run for good, wherever it is executed. */
  'POST /runs/{run}/cancel': { readonly runId: string }
}

export type Endpoint = keyof Responses

interface Queries {
  'GET /questions': FieldValues<typeof Requests.crewFilter>
  'GET /runs': Requests.RunsQuery
  'GET /runs/{run}': FieldValues<typeof Requests.groupStart>
  'GET /runs/{run}/tasks': Requests.TasksQuery
  'GET /runs/{run}/entries': Requests.EntriesQuery
  'GET /runs/{run}/transcript': FieldValues<typeof Requests.turnRange>
  'GET /runs/{run}/events': FieldValues<typeof Requests.streamStart>
  'GET /diff': FieldValues<typeof Requests.diffSides>
  'GET /backtests': FieldValues<typeof Requests.crewFilter>
  'GET /schedules': FieldValues<typeof Requests.crewFilter>
}

interface Bodies {
  'POST /session': FieldValues<typeof Requests.sessionFields>
  'POST /runs/{run}/questions/{question}': Requests.AnswerBody
  'POST /schedules/{schedule}/remove': Requests.CancelBody
  'POST /crews/{crew}/plan': Requests.KickoffBody
  'POST /runs/{run}/plan': Requests.PlanBody
  'POST /crews/{crew}/runs': Requests.StartBody
  'POST /crews/{crew}/schedules': Requests.ScheduleBody
  'POST /runs/{run}/resume': Requests.ResumeBody
  'POST /runs/{run}/replay': Requests.ReplayBody
  'POST /runs/{run}/fork': Requests.ForkBody
  'POST /runs/{run}/refresh': Requests.NewRunBody
  'POST /crews/{crew}/backtests/plan': Requests.BacktestBody
  'POST /crews/{crew}/backtests': Requests.BacktestBody
  'POST /backtests/{backtest}/stop': object
  'POST /runs/{run}/events': Requests.EventBody
  'POST /runs/{run}/cancel': Requests.CancelBody
}

/** Every endpoint with its query, body and response. */
export type Endpoints = {
  readonly [E in Endpoint]: { readonly response: Responses[E] } & (E extends keyof Queries
    ? { readonly query: Queries[E] }
    : unknown) &
    (E extends keyof Bodies ? { readonly body: Bodies[E] } : unknown)
}

/** The body of every response that isn't a success. */
export interface Problem {
  /** An error code of Reprise, or one of the studio's own. */
  readonly code: string
  readonly message: string
  /** What to do about it. */
  readonly next?: NextStep
}

/** This studio, and what the caller may do. */
export interface Studio {
  readonly version: string
  readonly role: Role
  /** Without credentials. */
  readonly store: { readonly url: string; readonly caution?: string }
  /** Crews whose code is loaded. Only their runs can be started, planned, replayed and forked. */
  readonly crews: readonly string[]
  /** Whether the studio has tokens, so that the page can log out. */
  readonly tokens: boolean
  /** Who signs answers and actions: the name from `authorize`, else the user who started the studio, if known. */
  readonly by?: string
}

export interface Questions {
  /** Longest waiting first. */
  readonly questions: readonly QuestionView[]
  /** Runs that have open questions but can't be read. */
  readonly unreadable: readonly string[]
}

/**
 * An open question with everything needed to decide it. The last task of `asking` is the one that asks; the tasks
 * before it, outermost first, are those whose child runs lead to it. Each comes with the inputs and outputs of its run.
 */
export type QuestionView = WaitingQuestion & {
  /** The required and optional fields of each decision. Every decision also accepts `note`. */
  readonly decisions: { readonly [decision: string]: DecisionForm }
  /** JSON Schema of the task's output (`replace`) or of the call's input (`approve`), if known. */
  readonly schema?: Json
}

export interface AnswerResult {
  readonly runId: string
  readonly question: string
  /** The questions of the run that are still open. */
  readonly questions: readonly OpenQuestion[]
  /**
   * What continues the run (for a child run: its root run). `here`: this studio, which executed the run last.
   * `worker`: another process holds the run, or a worker will execute it. Undefined: the run needs more answers or a
   * resume, or has ended.
   */
  readonly continues: 'here' | 'worker' | undefined
}

export interface StartedRun {
  /** The run that was created or continued. A refresh with nothing to do returns the run itself. */
  readonly runId: string
  readonly how: 'here' | 'queue'
}

/** A plan. `text` is the plan as a readable table. */
export interface PlanView extends Omit<Plan, 'toString'> {
  readonly text: string
}

export interface RunPage {
  /**
   * Newest first. A page reads at most 2,000 rows, so with a filter it may be short or empty and still have `next`.
   */
  readonly runs: readonly RunSummary[]
  readonly next?: string
}

/** A part of a list, from its item `from` on. */
export interface ListPart {
  readonly from: number
  /** The length of the list. */
  readonly total: number
}

/** Tasks in the order of the crew; steps of a flow in the order of their results. */
export interface TaskPage extends ListPart {
  readonly items: readonly TaskDetail[]
}

/** What the detail of a flow has of its steps: the first of each list. */
export interface FlowView {
  readonly groups: ListPart & { readonly items: readonly StepGroup[] }
  readonly waits: ListPart & { readonly items: readonly OpenWait[] }
  readonly events: ListPart & { readonly items: readonly UntakenEvent[] }
  /** Recorded steps that the function no longer requested before it returned. */
  readonly left: ListPart & { readonly items: readonly string[] }
}

type InParts = 'tasks' | keyof FlowFacts

export interface RunDetail extends RunSummary, Omit<RunView, keyof RunSummary | InParts> {
  /** Without messages: `/runs/{run}/tasks/{task}` and the steps have them. Empty for a flow: `/runs/{run}/tasks`. */
  readonly tasks: readonly TaskDetail[]
  /** Undefined for a crew. The `questions` of a flow are the first ten. */
  readonly steps: FlowView | undefined
  /** The task after which the run stops, if requested at the start or the last resume. */
  readonly through: string | undefined
  /** The last entry that is reflected here. */
  readonly seq: number
  /** Whether the code of the crew is loaded. Without it, `stale`, `context` and `schema` are unknown. */
  readonly code: boolean
  /** The crew's module, for `reprise resume --file`. Known if a command loaded the crew or created the run. */
  readonly module: CrewModule | undefined
  /** Whether this studio executes the run, so that its events include model output as it streams. */
  readonly here: boolean
  /** The actions that the caller may take now. Any other is refused. */
  readonly can: readonly RunAction[]
}

/** `resume`: the studio resumes the run. `requeue`: a worker does. Both are `POST …/resume`. */
export type RunAction = 'answer' | 'send' | 'resume' | 'requeue' | 'cancel' | 'replay' | 'fork' | 'refresh'

export interface TaskDetail extends Omit<TaskView, 'messages'> {
  /**
   * The tasks whose outputs it receives. Undefined without the code of the crew. For a step of a flow, the step whose
   * result came last before this one was requested.
   */
  readonly context: readonly string[] | undefined
  /** JSON Schema of its output. Undefined without one, or without the code of the crew. */
  readonly schema: Json | undefined
  /** Cost in this run, in dollars. Undefined if the price of a model is unknown. */
  readonly cost: number | undefined
}

/** A task with its messages. */
export type WholeTask = TaskDetail & Pick<TaskView, 'messages'>

/**
 * Server-sent events of a run. The name of an event is its `type`, its data is JSON. The id of an entry's event is the
 * entry's sequence number; to continue after a disconnect, send it as `Last-Event-ID` or `after`. Deltas come between
 * entries, but only while this studio executes the run. `caught-up` comes once, after the history of a run in progress.
 * When the run is suspended or has ended, `end` is the last event; `GET /changes` announces when to connect again. The
 * response is 204 if nothing will ever follow `after`.
 */
export type RunStream = Entry | Delta | CaughtUpEvent | EndEvent | ({ readonly type: 'error' } & Failure)

/** The data of the `end` event. */
export interface EndEvent {
  readonly type: 'end'
  readonly status: RestStatus
}

/**
 * Server-sent events: `change` (data `{}`) once at the start, then when any run may have changed, at most four times a
 * second. Clients reload what they show.
 */
export type ChangeStream = { readonly type: 'change' }
