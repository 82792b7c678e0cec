// The state of a run: `fold` builds it; engine, command line and page read it.
import type {
  Answer,
  Conversation,
  CrewModule,
  DeclaredTask,
  EntryBodies,
  EntryOf,
  Failure,
  Fingerprint,
  Limit,
  LostEntries,
  OnceCall,
  OutputPlace,
  Owner,
  Parent,
  PinnedRequest,
  PlannedTask,
  Priority,
  Question,
  RunStatus,
  StoredOutput,
  TaskListChanges,
  TaskTexts,
  ToolOutcome,
  ToolRequest,
  Usage,
  DispatchedBy,
} from '../entries.ts'
import type { Json } from '../json.ts'
import type { ReceivedEvent, Settled } from './steps.ts'
import type { Spending, Tally } from './tally.ts'

export type { ToolOutcome }

export interface RunState {
  run: string
  /** See `run.created`. */
  incarnation: string
  crew: string
  version: string
  status: RunStatus
  inputs: { readonly [name: string]: Json }
  /** The inputs before `beforeKickoff` changed them. */
  given?: { readonly [name: string]: Json }
  parent?: Parent
  plan?: readonly PlannedTask[]
  reuse?: { readonly maxAgeSeconds?: number }
  priority: Priority
  /** The run was enqueued or requeued: workers are expected to execute it. */
  forWorkers?: boolean
  /** The earliest start of a queued run. */
  notBefore?: string
  /** For a trial of a backtest: the number of trials planned. */
  trials?: number
  /** The task to stop after, as of the last resume. */
  through?: string
  /** Where the command line found the crew. */
  module?: CrewModule
  createdAt: string
  updatedAt: string
  /** The process that created the run or last resumed it. */
  owner: Owner
  /** The dispatcher's call that last continued the run. */
  via?: DispatchedBy
  /** How often a process began to work on the run: when it was created, unless it was queued, and at every resume. */
  lives: number
  /** Consecutive processes that were cut off without progress. */
  fruitless: number
  /** Task changes that resumes recorded, oldest first. */
  readonly taskChanges: (TaskListChanges & { readonly at: string })[]
  /** Why a suspended run is suspended. */
  suspended?: EntryBodies['run.suspended'] | { readonly reason: 'edited' }
  error?: Failure & { readonly task?: string }
  /** When a worker tries a failed run again. */
  retryAt?: string
  /** Failures since a task was last completed, here or in a child run. */
  failures: number
  /** When the run last failed. */
  failedAt?: string
  /** Something that the suspended run waited for was recorded, so a worker can continue it. */
  woken?: boolean
  /** The run was imported, and not resumed since. */
  imported?: boolean
  /** Usage so far. */
  readonly spent: MutableUsage
  /** The same usage in parts that can be priced. */
  readonly spending: Map<string, Spending>
  /** How long processes have worked on the run. */
  activeMs: number
  /** `updatedAt` as a number. */
  updatedMs: number
  /** The lease token of the newest entry. */
  token: number
  /** The budget from a resume or an answer. */
  budget?: Limit
  /** The crew is a flow. */
  flow?: boolean
  seed?: string
  /** Flows: the run that this one continues, and the run that continues this one. */
  previous?: string
  next?: string
  /** Flows: the run is one of a conversation. */
  chat?: boolean
  /** Flows: what the function returned. */
  value?: Json
  /** Flows: recorded steps that the function no longer requested. */
  left?: readonly string[]
  /** Flows: the ids of all received events. */
  readonly eventIds: Set<string>
  /** Flows: the last event that was received. */
  lastEvent?: number
  /** The last entry that edits a task, invalidates it for a person, or retries failed steps of a flow. */
  touched?: number
  /** Flows: the failed steps that a resume executes again. */
  failedSteps?: readonly string[]
  /** Flows: how many steps were begun in this run. */
  steps: number
  /** Flows: the highest `after` of any step. */
  lastAfter: number
  /** Flows: the received events that no step has taken yet, by entry. */
  readonly events: Map<number, ReceivedEvent>
  /** By name, in the order of the crew. */
  tasks: Map<string, TaskState>
  /** By path: `note#1`. */
  attempts: Map<string, AttemptState>
  readonly tally: Tally
  /** The text of every output, even a replaced one, by the entry that recorded it: pinned requests refer to it. */
  outputs: Map<number, string>
  questions: Map<string, QuestionState>
  /** The same questions by the task in their paths, oldest first: a flow may have thousands of open questions. */
  readonly questionsOf: Map<string, QuestionState[]>
  /** Unanswered questions, in order of asking. */
  readonly unanswered: Set<QuestionState>
  /** Calls that may have changed something, made by the runs that this one was forked from. */
  inheritedCalls: readonly OnceCall[]
  /** Results of tools with `cache`, by the key of the call. */
  cached: Map<string, { readonly path: string; readonly outcome: ToolOutcome }>
  /** The last entry for which step callbacks have returned. */
  told?: number
  /** How `inheritedCalls` are treated: see `run.created`. */
  effects?: 'ask' | 'again' | 'never'
  /** The last entry. */
  seq: number
  /** The last entry that records a step: a model call or a tool call. */
  lastStep: number
  /** Missing entries and changed lines, from a hand edit or damage, that no resume has recorded yet. */
  missing: number[]
  changed: number[]
  /** Missing entries that a resume has recorded. */
  lost?: readonly number[]
  /** A resume has recorded a hand edit, so the journal may contain things that didn't happen. */
  handEdited?: boolean
  /** An entry type or version that this code doesn't know: the run can be read, but not resumed. */
  unknown?: string
}

export interface QuestionState {
  readonly question: Question
  readonly askedAt: string
  answer?: Answer
  /** The one call that the answer allows has been made. */
  used?: boolean
  /** The task was edited or started over, so no answer is needed. */
  withdrawn?: boolean
}

/** left: the function of the flow returned before the step was done. */
export type TaskStatus = 'pending' | 'running' | 'completed' | 'failed' | 'skipped' | 'left'

export interface TaskState extends DeclaredTask {
  status: TaskStatus
  /** How a completed task got its output. */
  source?: 'executed' | 'inherited' | 'edited'
  output?: StoredOutput
  /** Where an inherited output was made. */
  from?: OutputPlace
  /** The conversation that made an inherited output. */
  conversation?: Conversation
  /** The output that the task may inherit when its turn comes. */
  offered?: {
    readonly from: OutputPlace
    readonly output: StoredOutput
    readonly conversation?: Conversation | undefined
  }
  /** The entry that completed the task. */
  seq?: number
  /** Calls of the task's child runs that may have changed something. */
  childCalls?: readonly OnceCall[]
  /** Missing entries that may have recorded calls of the task. */
  lost?: readonly number[]
  /** Missing entries of the run's ancestors that may have recorded calls of the task. */
  lostBefore?: LostEntries
  /** A person started the task over, so no stored output may be used for it. */
  again?: boolean
  /** The completion for which the task's callbacks have returned. */
  told?: number
  /** The output file, and the completion whose output it has. */
  written?: { readonly of: number; readonly file: string }
  /** The fingerprint of what its condition last saw. */
  condition?: Fingerprint
  /** What no longer matched when the output was inherited, in words. */
  stale?: readonly string[]
  /** A resume recorded that the crew no longer has the task. */
  removed?: boolean
  /** Paths of its attempts, oldest first. */
  attempts: string[]
  /** Paths of the attempts within its steps. */
  nested: string[]
  /** The newest attempt at each kickoff by its function, by name, until the task is done. */
  kickoffs?: Map<string, string>
  startedAt?: string
  error?: Failure
  /** The task failed for good, and the run continued without it. */
  final?: boolean
  /** The failed tasks because of which it was skipped. */
  failed?: readonly string[]
  /** With `forEach`: the names of its items, in the order of its list. */
  items?: readonly string[]
  /** An item: the task that lists it, and its value, which is undefined until the item is listed. */
  of?: string
  item?: Json
  /** Steps of flows: see `task.started`. */
  after?: number
  wait?: EntryBodies['task.started']['wait']
  until?: string
  settled?: Settled
  /** Steps of flows: the fingerprint of the attempt whose failure was inherited. */
  fingerprint?: Fingerprint
  /** Steps of flows: its wait ended because its time was up. */
  timedOut?: boolean
  /** Steps of flows: how often it failed and was tried again. */
  failures?: number
  /** Steps of flows: the `task.invalidated` entries that restarted it because its record no longer fit. */
  restarts?: number[]
}

export interface AttemptState {
  readonly path: string
  /** The current name of its task. The path keeps the name from when the attempt started. */
  task: string
  /** The entry that started it. */
  readonly seq: number
  /** The request as it is stored. Undefined if no model is called or the start was removed by hand. */
  readonly pinned: PinnedRequest | undefined
  /** The request as it is sent. */
  readonly request: SentRequest
  readonly fingerprint: Fingerprint
  readonly agent: string
  /** The task's texts when the attempt started. */
  readonly texts?: TaskTexts
  readonly startedAt: string
  readonly carries?: { readonly path: string; readonly message: string }
  /**
   * open: continues after its last recorded step. refused: the next attempt continues its conversation. void: given up;
   * the next attempt starts fresh.
   */
  status: 'open' | 'completed' | 'refused' | 'failed' | 'void'
  refusal?: string
  /** Who refused the answer: the schema, a guardrail, or a person. */
  refusedBy?: string
  /** The answer after each guardrail that accepted it, in order. */
  readonly accepted: { readonly raw?: string }[]
  /** Runs that its tools and guardrails kicked off, but not as child runs. */
  uncounted?: string[]
  /** The result of a nested attempt. */
  answer?: string
  /** Steps of flows: the declared input. */
  readonly input?: Json
  /** For a nested crew or a kickoff: the child run, and its usage by model. */
  readonly child?: string
  spent?: { readonly [model: string]: Usage }
  /** The newest summary, which replaces the older part of the conversation. */
  summary?: SummaryState
  readonly turns: TurnState[]
  /** The usage of failed tries, as far as the provider reported it, and when it was recorded. */
  readonly lost: { readonly usage: Usage; readonly at: string }[]
}

export type SentRequest = Omit<PinnedRequest, 'message'> & { readonly message: string }

export interface SummaryState {
  /** The last turn that it covers, in this attempt or an earlier part of its conversation. */
  readonly through: string
  readonly text: string
  readonly seq: number
}

export interface TurnState {
  readonly path: string
  readonly reply: EntryOf<'model.replied'>
  readonly calls: CallState[]
}

export interface CallState {
  readonly path: string
  readonly request: ToolRequest
  effect?: EntryBodies['tool.called']['effect']
  key?: string
  /** The input, if a person changed it. */
  input?: Json
  calledAt?: string
  calledBy?: Owner
  idempotencyKey?: string
  /** The question whose answer allowed the newest call. */
  allowedBy?: string
  cacheKey?: string
  /** How often the call was started. */
  times: number
  /** Why the call was given up with unknown outcome. After a crash, a call without an outcome counts as given up. */
  abandoned?: string
  outcome?: ToolOutcome
  source?: EntryBodies['tool.returned']['source']
  /** The stack in the user's code if the tool threw. */
  stack?: string
  /** The name and members of the error that a function task or a step of a flow threw. */
  thrown?: Pick<Failure, 'name' | 'data'>
  /** Ids of questions about this call, oldest first. */
  readonly questions: string[]
}

export const noUsage: Usage = { calls: 0, input: 0, output: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = { ...a }
  addTo(sum, b)
  return sum
}

export type MutableUsage = { -readonly [K in keyof Usage]: Usage[K] }

/** Adds in place, since a run may have ten thousand steps. */
export function addTo(sum: MutableUsage, usage: Usage): void {
  sum.calls += usage.calls
  sum.input += usage.input
  sum.output += usage.output
  for (const detail of ['cacheRead', 'cacheWrite', 'reasoning'] as const) {
    const more = usage[detail]
    if (more !== undefined) sum[detail] = (sum[detail] ?? 0) + more
  }
}

/** The text of a reply, without reasoning. A reply with only files names their media types. */
export function replyText({ parts }: Pick<EntryOf<'model.replied'>, 'parts'>): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (text.trim() !== '') return text
  const files = parts.flatMap((part) => (part.type === 'file' && !part.thought ? [`[file ${part.mediaType}]`] : []))
  return files.length > 0 ? files.join('\n') : text
}

/** Whether a run has ended. It accepts neither messages nor entries any more, unless its journal was edited by hand. */
export function isEnded(status: RunStatus | undefined): boolean {
  return status === 'completed' || status === 'cancelled'
}

/** Notes that something was recorded that a suspended run may have waited for. */
export function markWoken(state: RunState): void {
  if (state.status === 'suspended') state.woken = true
}
