// The state of a run, which `fold` makes and engine, command line and page read.
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
import { isNestedAttempt } from '../paths.ts'
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
  /** It was enqueued or requeued: workers are expected to execute it. */
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
  /** The process that wrote the newest entries. */
  owner: Owner
  /** The dispatcher's call that last continued it. */
  via?: DispatchedBy
  /** The number of processes that have worked on the run. */
  lives: number
  /** Consecutive lives that were cut off without progress. */
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
  /** When it last failed. */
  failedAt?: string
  /** Something that the suspended run waited for was recorded: a worker can continue it. */
  woken?: boolean
  /** It was imported, and not resumed since. */
  imported?: boolean
  /** Usage so far, and the time that processes worked on it. */
  readonly spent: MutableUsage
  /** The same usage in parts that can be priced. */
  readonly spending: Map<string, Spending>
  activeMs: number
  /** `updatedAt` as a number. */
  updatedMs: number
  /** The lease token of the newest entry. */
  token: number
  /** The budget from a resume or an answer. */
  budget?: Limit
  /** By name, in the order of the crew. */
  tasks: Map<string, TaskState>
  /** By path: `note#1`. */
  attempts: Map<string, AttemptState>
  readonly tally: Tally
  /** The texts of all outputs, also earlier ones, by the entry that has them: pinned requests refer to them. */
  outputs: Map<number, string>
  questions: Map<string, QuestionState>
  /** Unanswered questions, in order of asking. */
  readonly unanswered: Set<QuestionState>
  /** Calls that may have changed something, from the runs that this one was made from. */
  inheritedCalls: readonly OnceCall[]
  /** Results of tools with `cache`, by the key of the call. */
  cached: Map<string, { readonly path: string; readonly outcome: ToolOutcome }>
  /** Step callbacks have returned up to this entry. */
  told?: number
  /** How inherited calls are treated: see `run.created`. */
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
  /** A type or version that this code doesn't know: the run can be read, not resumed. */
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

export type TaskStatus = 'pending' | 'running' | 'completed' | 'failed' | 'skipped'

export interface TaskState extends DeclaredTask {
  status: TaskStatus
  /** How a completed task got its output. */
  source?: 'executed' | 'inherited' | 'edited'
  output?: StoredOutput
  /** Where an inherited output was made. */
  from?: OutputPlace
  /** The conversation that made an inherited output. */
  conversation?: Conversation
  /** The output that it may inherit when its turn comes. */
  offered?: {
    readonly from: OutputPlace
    readonly output: StoredOutput
    readonly conversation?: Conversation | undefined
  }
  /** The entry that completed the task. */
  seq?: number
  /** `once` calls made by the task's child runs. */
  childCalls?: readonly OnceCall[]
  /** Missing entries that may have recorded calls of the task. */
  lost?: readonly number[]
  /** The same, in a run that this one was made from. */
  lostBefore?: LostEntries
  /** A person started it over: no stored output replaces that. */
  again?: boolean
  /** Its callbacks have returned for the completion at this entry. */
  told?: number
  /** The output file, and the entry that had completed the task. */
  written?: { readonly of: number; readonly file: string }
  /** The fingerprint of what its condition last saw. */
  condition?: Fingerprint
  /** In words: what no longer matched when the output was inherited. */
  stale?: readonly string[]
  /** A resume recorded that the crew no longer has the task. */
  removed?: boolean
  /** Paths of its attempts, oldest first. */
  attempts: string[]
  /** Paths of attempts within its steps. */
  nested: string[]
  /** The newest attempt at each kickoff by its function, by name, until the task is done. */
  kickoffs?: Map<string, string>
  startedAt?: string
  error?: Failure
  /** It failed for good, and the run continued without it. */
  final?: boolean
  /** The failed tasks that it was skipped for. */
  failed?: readonly string[]
}

export interface AttemptState {
  readonly path: string
  /** The current name of its task. The path keeps the name from when the attempt started. */
  task: string
  /** The entry that started it. */
  readonly seq: number
  /** As it is stored. Undefined if no model is called, or the start was removed by hand. */
  readonly pinned: PinnedRequest | undefined
  /** As it is sent. */
  readonly request: SentRequest
  readonly fingerprint: Fingerprint
  readonly agent: string
  /** The task's texts when the attempt started. */
  readonly texts?: TaskTexts
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
  /** The answer, as each accepting guardrail returned it, in order. */
  readonly accepted: { readonly raw?: string }[]
  /** Kickoffs by its tools and guardrails that are not child runs. */
  uncounted?: string[]
  /** The result of a nested attempt. */
  answer?: string
  /** For a nested crew or a kickoff: the child run, and its usage by model. */
  readonly child?: string
  spent?: { readonly [model: string]: Usage }
  /** The newest summary, which replaces the older part of the conversation. */
  summary?: SummaryState
  readonly turns: TurnState[]
  /** Usage of failed tries, as far as their provider reported it, and when it was recorded. */
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
  /** How often it was started. */
  times: number
  /** Aborted or timed out, with unknown outcome. After a crash, calls without an outcome count as such, too. */
  abandoned?: string
  outcome?: ToolOutcome
  source?: EntryBodies['tool.returned']['source']
  /** The stack in the user's code if the tool threw. */
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

/** The text of a reply, without reasoning. A reply with only files names their media types. */
export function replyText({ parts }: Pick<EntryOf<'model.replied'>, 'parts'>): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (text.trim() !== '') return text
  const files = parts.flatMap((part) => (part.type === 'file' && !part.thought ? [`[file ${part.mediaType}]`] : []))
  return files.length > 0 ? files.join('\n') : text
}

/** The usage of all attempts at a task in this run. */
export function spentOn(state: RunState, task: TaskState): Usage {
  const sum = { ...noUsage }
  for (const { usage } of modelCalls(state, task)) addTo(sum, usage)
  return sum
}

/** One model call; for a nested crew, all calls of its run to that model. */
export interface ModelCalls {
  readonly model: string
  readonly usage: Usage
  readonly at: string
  /** Made by the task's own agent, not in a delegation, by a judge or in a child run. */
  readonly own: boolean
}

/** All model calls of the attempts at a task in this run, with delegations, judges and child runs. */
export function modelCalls(state: RunState, { attempts, nested }: TaskState): ModelCalls[] {
  return [...attempts, ...nested].flatMap((path) => {
    const attempt = state.attempts.get(path)
    if (!attempt) return []
    const { request, startedAt, turns, lost, spent = {} } = attempt
    const own = !isNestedAttempt(path)
    // a function's turn isn't a model call, and has no price
    const asked = turns.map(({ reply }) => reply).filter(({ usage }) => usage.calls > 0)
    return [
      ...[...asked, ...lost].map(({ usage, at }) => ({ model: request.model, usage, at, own })),
      ...Object.entries(spent).map(([model, usage]) => ({ model, usage, at: startedAt, own: false })),
    ]
  })
}

/** Usage of runs, by model. */
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

/** Completed or cancelled: such a run takes no messages and, unless its journal was edited by hand, no entries. */
export function isEnded(status: RunStatus | undefined): boolean {
  return status === 'completed' || status === 'cancelled'
}

/** Something that a suspended run may have waited for is recorded. */
export function markWoken(state: RunState): void {
  if (state.status === 'suspended') state.woken = true
}
