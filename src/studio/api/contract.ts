// What the page and the server of the studio say to one another: every endpoint with its request and its response.
// Types alone, made of those of the read model, so that the page imports them without any code.
//
// - Paths are below `<base>/api`, where base is the path that the studio is mounted under. The server puts it into
//   `<base href="…">` of index.html, so the page finds the API at `new URL('api/', document.baseURI)`.
// - What stands in braces is one segment, encoded by encodeURIComponent: ids of runs contain `/` and `#`.
// - Requests with a body are JSON (`content-type: application/json`). They need an `Origin` that is the page's own, as
//   browsers send it, or else the header `x-reprise-studio: 1` or a token.
// - A field that is `undefined` in a type is left out of the JSON. Times are ISO 8601, money is in dollars.
// - What goes wrong is a `Problem` with a fitting status: 400 what is asked is wrong, 401 no token, 403 a role that may
//   not, or a foreign Origin or Host, 404, 405, 409 the run is not in a state for it, 413, 415, 503 store away.
import type { RestStatus } from '../../engine/follow/follow.ts'
import type { CaughtUpEvent, Delta } from '../../engine/follow/listeners.ts'
import type { DecisionForm } from '../../engine/inbox/questions.ts'
import type { Answer, Entry, Failure } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import type { NextStep } from '../../base/next.ts'
import type { RunDiff } from '../../runs/diff/diff-runs.ts'
import type { Lineage } from '../../runs/lineage.ts'
import type { RunView } from '../../runs/run-view.ts'
import type { RunSummary } from '../../runs/summary.ts'
import type { TaskView } from '../../runs/task-view.ts'
import type { WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type {
  ForkBody,
  KickoffBody,
  NewRunBody,
  PlanBody,
  PlanView,
  ReplayBody,
  ResumeBody,
  StartBody,
  StartedRun,
} from './acts.ts'
import type { BacktestBody, BacktestPlan, BacktestSummary, BacktestView } from './backtests.ts'
import type { CrewView, QueueView, ScheduleView } from './crews-and-queue.ts'
import type { SpendingView, StepView } from './steps.ts'

export type * from './acts.ts'
export type * from './backtests.ts'
export type * from './crews-and-queue.ts'
export type * from './steps.ts'

/**
 * look: see everything. answer: also answer questions. act: also start, continue, cancel and make runs. Each may do
 * what those before it may.
 */
export type Role = 'look' | 'answer' | 'act'

/** Every endpoint: its method and path, and what goes in and comes out. Roles: `GET` look, `POST` as said. */
export interface Endpoints {
  /** Exchanges a token for a cookie, since a browser's EventSource sends no header. Needs no role. */
  'POST /session': { body: { readonly token: string }; response: { readonly role: Role } }
  /** Takes the cookie away. Needs no role. */
  'DELETE /session': { response: { readonly role: Role | undefined } }
  'GET /studio': { response: Studio }
  'GET /openapi.json': { response: Json }

  'GET /questions': { query: { readonly crew?: string }; response: Questions }
  /** Role answer. QUESTION_ANSWERED (409) when somebody was first, ANSWER_INVALID (400). */
  'POST /runs/{run}/questions/{question}': { body: AnswerBody; response: AnswerResult }

  'GET /runs': { query: RunsQuery; response: RunPage }
  'GET /runs/{run}': { response: RunDetail }
  'GET /runs/{run}/timeline': { response: Timeline }
  /** At most 1,000 at a time. For what needs everything that was said; the timeline is smaller. */
  'GET /runs/{run}/entries': {
    query: { readonly after?: number; readonly limit?: number }
    response: { readonly entries: readonly Entry[]; readonly more: boolean }
  }
  /** With its messages. */
  'GET /runs/{run}/tasks/{task}': { response: TaskView }
  /** `path` is that of a step of the timeline. */
  'GET /runs/{run}/steps/{path}': { response: StepView }
  /** The runs that work for it, at whatever depth: those of its tasks that are crews. Oldest first. */
  'GET /runs/{run}/children': { response: { readonly runs: readonly RunSummary[] } }
  'GET /runs/{run}/lineage': { response: Lineage }
  'GET /runs/{run}/spending': { response: SpendingView }
  /** Server-sent events: see `RunStream`. */
  'GET /runs/{run}/events': { query: { readonly after?: number }; response: RunStream }
  'GET /diff': { query: { readonly a: string; readonly b: string }; response: RunDiff }
  /** Server-sent events: see `ChangeStream`. */
  'GET /changes': { response: ChangeStream }

  'GET /backtests': { query: { readonly crew?: string }; response: { readonly backtests: readonly BacktestSummary[] } }
  'GET /backtests/{backtest}': { response: BacktestView }

  'GET /crews': { response: { readonly crews: readonly CrewView[] } }
  'GET /crews/{crew}': { response: CrewView }
  'GET /queue': { response: QueueView }
  /** Those that the code at hand declares; the next to come first. */
  'GET /schedules': { query: { readonly crew?: string }; response: { readonly schedules: readonly ScheduleView[] } }

  /** Plans spend nothing and write nothing. Role act; 409 NO_CODE where the crew's code is not at hand. */
  'POST /crews/{crew}/plan': { body: KickoffBody; response: PlanView }
  'POST /runs/{run}/plan': { body: PlanBody; response: PlanView }

  /** Role act. Each answers as soon as the run is on disk; how it goes is in its events. */
  'POST /crews/{crew}/runs': { body: StartBody; response: StartedRun }
  /** With the crew's code, continues the run here; else has a worker do it. */
  'POST /runs/{run}/resume': { body: ResumeBody; response: StartedRun }
  'POST /runs/{run}/replay': { body: ReplayBody; response: StartedRun }
  'POST /runs/{run}/fork': { body: ForkBody; response: StartedRun }
  'POST /runs/{run}/refresh': { body: NewRunBody; response: StartedRun }
  /** Role act; 409 NO_CODE. Executed here; it answers when it is about to begin, and its cases grow in its view. */
  'POST /crews/{crew}/backtests/plan': { body: BacktestBody; response: BacktestPlan }
  'POST /crews/{crew}/backtests': { body: BacktestBody; response: { readonly id: string; readonly total: number } }
  /** Of one that this studio executes. What is done stays; 404 where it executes none of that id. */
  'POST /backtests/{backtest}/stop': { body: object; response: { readonly id: string } }
  /** Ends it for good, wherever it is executed. */
  'POST /runs/{run}/cancel': { body: { readonly by?: string }; response: { readonly runId: string } }
}

export type Endpoint = keyof Endpoints

/** The body of every response that is not a success. */
export interface Problem {
  /** Of the table of errors of Reprise, or one of the studio's own. */
  readonly code: string
  readonly message: string
  /** What can be done about it. */
  readonly next?: NextStep
}

/** What this studio is, and what the caller may do. */
export interface Studio {
  readonly version: string
  readonly role: Role
  /** Without credentials. */
  readonly store: { readonly url: string; readonly caution?: string }
  /** The crews whose code is at hand: only of these can runs be started, planned, replayed and forked. */
  readonly crews: readonly string[]
  /** Whether a token is asked for: then the page can log out. */
  readonly tokens: boolean
  /** What is written as `by` where nothing else is said: the user who started the studio, if known. */
  readonly by?: string
}

export interface Questions {
  /** Those that have waited longest come first. */
  readonly questions: readonly QuestionView[]
  /** Runs that have some and cannot be read. */
  readonly unreadable: readonly string[]
}

/** All that is needed to decide: the asking tasks with inputs and earlier outputs are in `asking`. */
export type QuestionView = WaitingQuestion & {
  /** By decision: the fields that it must and may have. Every one may have `note`. */
  readonly decisions: { readonly [decision: string]: DecisionForm }
  /** JSON Schema of the task's output (`replace`) or of the call's input (`approve`), where it is known. */
  readonly schema?: Json
}

/** The decision with its fields, `note` and `by`: see `Answers` of the journal. */
export type AnswerBody = Answer

export interface AnswerResult {
  readonly runId: string
  readonly question: string
  /** Those of the run that are still open. */
  readonly questions: readonly OpenQuestion[]
  /**
   * Of the run that it works for, if it works for one. here: this studio executes it, since it has before. worker:
   * another process executes it, or it is ready for one; a resume is as good. Undefined: not before more answers, or
   * a resume, or never since it has ended.
   */
  readonly continues: 'here' | 'worker' | undefined
}

export interface RunsQuery {
  readonly crew?: string
  /** `RunViewStatus`; several are separated by commas. */
  readonly status?: string
  readonly since?: string
  readonly until?: string
  /** The beginning of an id, or a text within the inputs, whatever the case. */
  readonly search?: string
  /** Only those that were made from this run. */
  readonly parent?: string
  /** `true`: the trials of backtests, too. */
  readonly backtests?: 'true'
  /** `true`: the runs of tasks that are crews, too. */
  readonly children?: 'true'
  /** 1 to 200; 50 where nothing is said. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly cursor?: string
}

export interface RunPage {
  /** Newest first. There may be fewer than `limit`, even none, and still a `next`: a search looks at some thousand. */
  readonly runs: readonly RunSummary[]
  readonly next?: string
}

export interface RunDetail extends RunSummary, Omit<RunView, keyof RunSummary | 'tasks'> {
  /** Without what was said: that is at `/runs/{run}/tasks/{task}` and at the steps. */
  readonly tasks: readonly TaskDetail[]
  /** The task after which it stops, as asked when it was started or last continued. */
  readonly through: string | undefined
  /** The last entry that this shows: events after it are news. */
  readonly seq: number
  /** Whether the crew's code is at hand: only then are `stale`, `context` and `schema` known. */
  readonly code: boolean
  /** Whether this studio executes it: then its events have what models say. */
  readonly here: boolean
  /** What the caller may do to it now: nothing that this leaves out would be taken. */
  readonly can: readonly RunAction[]
}

/** resume: here. requeue: by a worker; both are `POST …/resume`. */
export type RunAction = 'answer' | 'resume' | 'requeue' | 'cancel' | 'replay' | 'fork' | 'refresh'

export interface TaskDetail extends Omit<TaskView, 'messages'> {
  /** Names of the tasks whose outputs it is given; undefined where the code is not at hand. */
  readonly context: readonly string[] | undefined
  /** JSON Schema of its output, for a form; undefined without one, or where the code is not at hand. */
  readonly schema: Json | undefined
  /** In dollars, in this run; undefined when the price of a model is not known. */
  readonly cost: number | undefined
}

/**
 * Server-sent events of a run. The name of each is its `type`, its data is the JSON of it. An entry has its number as
 * the event's id: whoever comes back says it (`Last-Event-ID`, or `after`) and misses nothing. Deltas, in between,
 * come only while this studio executes the run. `caught-up` comes once, where history ends, of a run that is under way.
 * When the run rests, `end` is the last: nothing comes before somebody continues it, which `changes` hints at. 204
 * when there is nothing after `after` and never will be.
 */
export type RunStream = Entry | Delta | CaughtUpEvent | EndEvent | ({ readonly type: 'error' } & Failure)

/** The data of `end`. */
export interface EndEvent {
  readonly type: 'end'
  readonly status: RestStatus
}

/**
 * Server-sent events: `change` (data `{}`) when any run may have changed, at most four times a second, and once at the
 * beginning. Read again what is in sight.
 */
export type ChangeStream = { readonly type: 'change' }
