// What a run looks like after its entries: the shape that `fold` makes and that engine, command line and page read.
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
  TaskFailure,
  ToolOutcome,
  ToolRequest,
  Usage,
  DispatchedBy,
} from '../entries.ts'
import type { Json } from '../json.ts'
import { isNestedAttempt } from '../paths.ts'
import type { Spending } from './spend.ts'
import type { Tally } from './tally.ts'

export type { ToolOutcome }

export interface RunState {
  run: string
  /** See `run.created`. */
  incarnation: string
  crew: string
  version: string
  status: RunStatus
  inputs: { readonly [name: string]: Json }
  /** The inputs as the caller gave them, where `beforeKickoff` changed them. */
  given?: { readonly [name: string]: Json }
  parent?: Parent
  plan?: readonly PlannedTask[]
  reuse?: { readonly maxAgeSeconds?: number }
  priority: Priority
  /** It was put into the queue, or back into it: workers are expected to execute it. */
  forWorkers?: boolean
  /** Of a run that waits for a worker: not before this time. */
  notBefore?: string
  /** Of a trial of a backtest: how many the backtest was to have. */
  trials?: number
  /** The task after which it stops, as whoever executed it last wanted. */
  through?: string
  /** Where the command line found the crew that made it. */
  module?: CrewModule
  createdAt: string
  updatedAt: string
  /** The process that wrote the newest entries. */
  owner: Owner
  /** By which a process last took it up, if it was told to. */
  via?: DispatchedBy
  /** How many processes have worked on the run: one, and one more for each resume. */
  lives: number
  /** Lives that were cut off in a row, without progress in this run. */
  fruitless: number
  /** What resumes found changed in its tasks, oldest first. */
  readonly taskChanges: (TaskListChanges & { readonly at: string })[]
  /** Why a suspended run is suspended. */
  suspended?: EntryBodies['run.suspended'] | { readonly reason: 'edited' }
  error?: Failure & { readonly task?: string }
  /** Of a failed run: when a worker tries again. */
  retryAt?: string
  /** How often it has failed since a task was completed, its own or one of a run of its tasks. */
  failures: number
  /** When it last failed. */
  failedAt?: string
  /** Something that it waited for was recorded since it was suspended: a worker can continue it. */
  woken?: boolean
  /** It was copied from another store, and nobody has taken it up here. */
  imported?: boolean
  /** What the run has spent so far, and how long it was worked on. */
  readonly spent: MutableUsage
  /** The same in parts that can be priced. */
  readonly spending: Map<string, Spending>
  activeMs: number
  /** `updatedAt` as a number. */
  updatedMs: number
  /** Of the lease that the newest entry was written under. */
  token: number
  /** The budget that a resume or an answer gave it. */
  budget?: Limit
  /** By name, in the order of the crew. */
  tasks: Map<string, TaskState>
  /** By path: `note#1`. */
  attempts: Map<string, AttemptState>
  readonly tally: Tally
  /** The texts of all outputs there ever were, by the entry that holds them: pinned requests refer to them. */
  outputs: Map<number, string>
  questions: Map<string, QuestionState>
  /** Those of them that still need an answer, in the order of asking. */
  readonly unanswered: Set<QuestionState>
  /** The calls that may have changed something, of the runs that this one was made from. */
  inheritedCalls: readonly OnceCall[]
  /** What tools with `cache` returned in this run, by the key of the call. */
  cached: Map<string, { readonly path: string; readonly outcome: ToolOutcome }>
  /** The callbacks for its steps have returned up to this entry. */
  told?: number
  /** What is done about inherited calls, and about calls at all: see `run.created`. */
  effects?: 'ask' | 'again' | 'never'
  /** The last entry. */
  seq: number
  /** The last one that records a step: a model call, or a tool call. */
  lastStep: number
  /**
   * Entries that are missing, and lines that were changed: a person's edit, or damage, not yet recorded by a resume.
   */
  missing: number[]
  changed: number[]
  /** Entries that a resume recorded as missing. */
  lost?: readonly number[]
  /** A resume has recorded such an edit: the journal holds more than what happened. */
  handEdited?: boolean
  /** A type or version that this code does not know: the run can be read, not resumed. */
  unknown?: string
}

export interface QuestionState {
  readonly question: Question
  readonly askedAt: string
  answer?: Answer
  /** The answer has allowed its one call. */
  used?: boolean
  /** The task was edited or is executed again, so the answer is no longer needed. */
  withdrawn?: boolean
}

export type TaskStatus = 'pending' | 'running' | 'completed' | 'failed' | 'skipped'

export interface TaskState extends DeclaredTask {
  status: TaskStatus
  /** How a completed task got its output. */
  source?: 'executed' | 'inherited' | 'edited'
  output?: StoredOutput
  /** Where an inherited output was made. */
  from?: OutputPlace
  /** What was said to make an inherited output. */
  conversation?: Conversation
  /** What it may inherit when its turn comes. */
  offered?: {
    readonly from: OutputPlace
    readonly output: StoredOutput
    readonly conversation?: Conversation | undefined
  }
  /** The entry that completed the task. */
  seq?: number
  /** `once` calls made by the task's child runs. */
  childCalls?: readonly OnceCall[]
  /** Entries that are missing and may have been of this task: it may have made calls that are not on record. */
  lost?: readonly number[]
  /** The same, in a run that this one was made from. */
  lostBefore?: LostEntries
  /** A person wants it executed: no stored output replaces that. */
  again?: boolean
  /** The entry that completed the task when its callbacks returned. */
  told?: number
  /** The file that holds its output, and the entry that had completed the task by then. */
  written?: { readonly of: number; readonly file: string }
  /** What its condition saw when it was last asked. */
  condition?: Fingerprint
  /** In words: what no longer matched when the output was inherited. */
  stale?: readonly string[]
  /** No longer a task of the crew, as a resume has recorded. */
  removed?: boolean
  /** Paths of its attempts, oldest first. */
  attempts: string[]
  /** Paths of attempts within its steps. */
  nested: string[]
  /** The newest attempt at each kickoff of a function, by its name, until the task is done. */
  kickoffs?: Map<string, string>
  startedAt?: string
  error?: Failure
  /** It failed, and the run continues without it. */
  final?: boolean
  /** It was skipped because these tasks failed. */
  failed?: readonly string[]
  /** Of a nested crew that is done: the failures that it went on without. */
  failures?: readonly TaskFailure[]
}

export interface AttemptState {
  readonly path: string
  /** The name that its task has now. The path has the name that it had when the attempt was started. */
  task: string
  /** The entry that started it. */
  readonly seq: number
  /** As it is stored; undefined for an attempt that asks no model, or whose start was removed by hand. */
  readonly pinned: PinnedRequest | undefined
  /** As it is sent. */
  readonly request: SentRequest
  readonly fingerprint: Fingerprint
  readonly agent: string
  readonly startedAt: string
  readonly carries?: { readonly path: string; readonly message: string }
  /**
   * open: continues after its last recorded step. refused: a new attempt continues it. void: given up, the next one
   * starts fresh.
   */
  status: 'open' | 'completed' | 'refused' | 'failed' | 'void'
  refusal?: string
  /** Who refused it: the schema, a guardrail, or a person. */
  refusedBy?: string
  /** Its answer as each guardrail that accepted it returned it, in their order. */
  readonly accepted: { readonly raw?: string }[]
  /** Kickoffs of its tools and guardrails that are not child runs. */
  uncounted?: string[]
  /** Of a nested attempt: its result. */
  answer?: string
  /** For a task that is a crew, or a kickoff of a function: the run of this attempt, and what it spent, by model. */
  readonly child?: string
  spent?: { readonly [model: string]: Usage }
  /** The newest summary, which replaces the older part of its conversation. */
  summary?: SummaryState
  readonly turns: TurnState[]
  /** What failed tries of its model calls took, as far as their provider said, and when that was recorded. */
  readonly lost: { readonly usage: Usage; readonly at: string }[]
}

export type SentRequest = Omit<PinnedRequest, 'message'> & { readonly message: string }

export interface SummaryState {
  /** The last turn that it covers, in this attempt or in one that it continues. */
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
  /** What the tool was called with, where a person changed it. */
  input?: Json
  calledAt?: string
  calledBy?: Owner
  idempotencyKey?: string
  /** The question whose answer allowed the newest call. */
  allowedBy?: string
  cacheKey?: string
  /** How often it was started. */
  times: number
  /** Called, and it is unknown how it ended: aborted or timed out. So is a call without an outcome after a crash. */
  abandoned?: string
  outcome?: ToolOutcome
  source?: EntryBodies['tool.returned']['source']
  /** Where the tool threw, in the user's own code. */
  stack?: string
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

/** In place: a run may have ten thousand steps to add up. */
export function addTo(sum: MutableUsage, usage: Usage): void {
  sum.calls += usage.calls
  sum.input += usage.input
  sum.output += usage.output
  for (const detail of ['cacheRead', 'cacheWrite', 'reasoning'] as const) {
    const more = usage[detail]
    if (more !== undefined) sum[detail] = (sum[detail] ?? 0) + more
  }
}

/** The text of a reply, without its reasoning. One that is only a picture isn't empty: its text says what it is. */
export function replyText({ parts }: Pick<EntryOf<'model.replied'>, 'parts'>): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (text.trim() !== '') return text
  const files = parts.flatMap((part) => (part.type === 'file' && !part.thought ? [`[file ${part.mediaType}]`] : []))
  return files.length > 0 ? files.join('\n') : text
}

/** What the attempts at a task have spent in this run. */
export function spentOn(state: RunState, task: TaskState): Usage {
  const sum = { ...noUsage }
  for (const { usage } of modelCalls(state, task)) addTo(sum, usage)
  return sum
}

/** Calls of a model: one, or for a task that is a crew, all that its run has made of that model. */
export interface ModelCalls {
  readonly model: string
  readonly usage: Usage
  readonly at: string
  /** By the task's own agent, and not by one that it handed work to, a judge or a crew. */
  readonly own: boolean
}

/**
 * All model calls of the attempts at a task in this run, including those made for it: delegations, judges, the run of a
 * crew.
 */
export function modelCalls(state: RunState, { attempts, nested }: TaskState): ModelCalls[] {
  return [...attempts, ...nested].flatMap((path) => {
    const attempt = state.attempts.get(path)
    if (!attempt) return []
    const { request, startedAt, turns, lost, spent = {} } = attempt
    const own = !isNestedAttempt(path)
    // what a function did isn't a call of a model: nobody would know its price
    const asked = turns.map(({ reply }) => reply).filter(({ usage }) => usage.calls > 0)
    return [
      ...[...asked, ...lost].map(({ usage, at }) => ({ model: request.model, usage, at, own })),
      ...Object.entries(spent).map(([model, usage]) => ({ model, usage, at: startedAt, own: false })),
    ]
  })
}

/** What runs have spent, by model. */
export function spentByModel(...states: readonly RunState[]): { [model: string]: Usage } {
  const sums = new Map<string, MutableUsage>()
  const calls = states.flatMap((state) => [...state.tasks.values()].flatMap((task) => modelCalls(state, task)))
  for (const { model, usage } of calls) {
    const sum = sums.get(model) ?? { ...noUsage }
    sums.set(model, sum)
    addTo(sum, usage)
  }
  return Object.fromEntries(sums)
}

/** Completed or cancelled: such a run takes no messages and, unless a person edited its journal, no entries. */
export function isEnded(status: RunStatus | undefined): boolean {
  return status === 'completed' || status === 'cancelled'
}

/** Something that a suspended run may have waited for is recorded. */
export function markWoken(state: RunState): void {
  if (state.status === 'suspended') state.woken = true
}
